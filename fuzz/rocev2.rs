//! The part of the fuzz target `pcap` that makes packets of RoCEv2, and reads their frames back.

use incastle_capture::QueuePair;
use incastle_congestion::HopTelemetry;
use incastle_rdma::{Opcode, Packet, Place};
use incastle_units::{Bytes, Rate, Time};

use super::{Input, be, be32, long};

/// A packet that was put in.
pub(crate) struct RocePacket {
    pub(crate) pairs: [QueuePair; 2],
    pub(crate) packet: Packet,
    pub(crate) hops: Option<Vec<HopTelemetry>>,
}

/// A packet with any fields.
pub(crate) fn packet(input: &mut Input<'_>) -> Option<RocePacket> {
    let [first, second] = QueuePair::of_flow(long(input)?);
    let bits = input.byte()?;
    let opcode = opcode(input.byte()?);
    let hops = usize::from(bits >> 4) % 9;
    let hops: Option<Vec<HopTelemetry>> = (0..hops).map(|_| hop(input)).collect();
    let packet = Packet {
        timestamp: Time::ZERO,
        psn: long(input)? & 0xFF_FFFF,
        length: long(input)?,
        msn: long(input)? & 0xFF_FFFF,
        payload: input.word()?.min(65_000),
        opcode,
        ack_req: bits & 1 == 1,
        echo: bits & 2 == 2,
        retransmission: false,
    };
    Some(RocePacket {
        pairs: if bits & 4 == 4 {
            [second, first]
        } else {
            [first, second]
        },
        packet,
        hops: hops.filter(|_| bits & 8 == 8),
    })
}

fn opcode(byte: u8) -> Opcode {
    let place = [Place::First, Place::Middle, Place::Last, Place::Only][usize::from(byte >> 6)];
    match byte % 7 {
        0 => Opcode::Send(place),
        1 => Opcode::Write(place),
        2 => Opcode::ReadRequest,
        3 => Opcode::ReadResponse(place),
        4 => Opcode::Ack,
        5 => Opcode::Nak,
        _ => Opcode::Cnp,
    }
}

fn hop(input: &mut Input<'_>) -> Option<HopTelemetry> {
    Some(HopTelemetry {
        rate: Rate::from_bits_per_second(u64::from(input.byte()?) * 5_000_000_000),
        at: Time::from_ps(u64::from(long(input)?) << 10),
        sent: Bytes::new(u64::from(long(input)?) << 4),
        queue: Bytes::new(u64::from(long(input)?)),
    })
}

/// Reads an IPv4 packet back.
pub(crate) fn read(ip: &[u8], expected: &RocePacket) {
    let RocePacket {
        pairs: [from, to],
        packet,
        hops,
    } = expected;
    let udp = &ip[20..];
    // A queue pair's port, RoCEv2's, the length, and no checksum.
    let port = 49_152 + (from.number() % 16_384) as u16;
    let head = [0, 2, 4, 6].map(|at| be(udp, at));
    assert_eq!(head, [port, 4791, udp.len() as u16, 0]);
    let (bth, rest) = udp[8..].split_at(12);
    let code = packet.opcode.bth();
    let becn = packet.echo || code == 0x81;
    assert_eq!((bth[0], be(bth, 2)), (code, 0xFFFF));
    assert_eq!(be32(bth, 4), u32::from(becn) << 30 | to.number());
    assert_eq!(be32(bth, 8), u32::from(packet.ack_req) << 31 | packet.psn);
    // Table 38 of IB 1.3: a WRITE begins with 6 and 10, a READ's request is 12, its responses are 13 to 16.
    let extended = match code {
        // A17.9.3: a CNP has reserved bytes.
        6 | 10 | 12 | 0x81 => 16,
        13 | 15 | 16 | 17 => 4,
        _ => 0,
    };
    let (extended, rest) = rest.split_at(extended);
    match extended.len() {
        16 if code == 0x81 => assert_eq!(extended, [0; 16]),
        16 => assert_eq!(
            (&extended[..12], be32(extended, 12)),
            (&[0; 12][..], packet.length)
        ),
        4 => {
            let nak = matches!(packet.opcode, Opcode::Nak);
            let syndrome = if nak { 0x60 } else { 0x1F };
            assert_eq!(be32(extended, 0), syndrome << 24 | packet.msn);
        }
        _ => {}
    }
    let (payload, crc) = rest.split_at(rest.len() - 4);
    assert!(payload.len().is_multiple_of(4));
    let padding = usize::from(bth[1]) / 16;
    assert_eq!((bth[1] % 16, padding / 4), (0, 0));
    let hops = hops.as_ref().filter(|_| code != 0x81);
    let int = hops.map_or(0, |hops| 2 + 8 * hops.len().max(5));
    assert_eq!(payload.len(), int + usize::from(packet.payload) + padding);
    if let Some(hops) = hops {
        read_hops(&payload[..int], hops);
    }
    assert!(payload[int..].iter().all(|byte| *byte == 0));
    assert_eq!(crc, invariant_crc(&ip[..ip.len() - 4]).to_le_bytes());
}

fn read_hops(int: &[u8], hops: &[HopTelemetry]) {
    assert_eq!(usize::from(be(int, 0)), hops.len());
    for (word, hop) in int[2..].chunks(8).zip(hops) {
        let word = u64::from(be32(word, 0)) << 32 | u64::from(be32(word, 4));
        let read = [
            word >> 37 & 0xFF_FFFF,
            word >> 17 & 0xF_FFFF,
            word & 0x1_FFFF,
        ];
        let ns = hop.at.as_ps() / 1_000;
        let (sent, queue) = (hop.sent.count() / 128, hop.queue.count() / 80);
        assert_eq!(read, [ns & 0xFF_FFFF, sent & 0xF_FFFF, queue & 0x1_FFFF]);
    }
    assert!(int[2 + 8 * hops.len()..].iter().all(|byte| *byte == 0));
}

/// IB 7.8.1 and annex A17, with the bits in the order of the line: the lowest of each byte first, the polynomial as it is
/// written.
fn invariant_crc(ip: &[u8]) -> u32 {
    let variant = |at| matches!(at, 1 | 8 | 10 | 11 | 26 | 27 | 32);
    let bytes = ip.iter().enumerate();
    let masked = bytes.map(|(at, byte)| if variant(at) { 0xFF } else { *byte });
    let mut register = u32::MAX;
    for byte in std::iter::repeat_n(0xFF, 8).chain(masked) {
        for bit in 0..8 {
            let ahead = register >> 31 != u32::from(byte >> bit & 1);
            register = register << 1 ^ if ahead { 0x04C1_1DB7 } else { 0 };
        }
    }
    (!register).reverse_bits()
}
