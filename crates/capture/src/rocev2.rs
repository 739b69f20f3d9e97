//! The frame of a RoCEv2 packet: Ethernet, IPv4, UDP, the headers of InfiniBand's transport, and its CRC.
//!
//! Sources: InfiniBand Architecture Specification, volume 1, 9.2 (base transport header, BTH), 9.3 (extended headers: RETH,
//! AETH), 9.7 (NAKs and end-to-end credits), 7.8.1 (invariant CRC); annex A17 (RoCEv2: UDP port 4791, CNPs in A17.9.3).
//! Leaves out: addresses and keys of memory, which are zero, and migration. Telemetry is payload here
//! ([`telemetry`]).

use etherparse::IpNumber;
use incastle_congestion::HopTelemetry;
use incastle_rdma::{Opcode, Packet};

use crate::frame::Envelope;
use crate::icrc::invariant_crc;
use crate::telemetry::telemetry;
use crate::{Frame, QueuePair};

/// Annex A17: the UDP destination port.
const PORT: u16 = 4791;
const IPV4_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const CRC: usize = 4;
/// 9.2: the default partition key, with full membership.
const PARTITION_KEY: u32 = 0xFFFF;
/// 9.2 and annex A17: bits of words of the BTH, which ask for an ACK and report congestion backwards.
const ACK_REQUEST: u32 = 1 << 31;
const BECN: u32 = 1 << 30;
/// 9.3, syndrome of an AETH: an ACK without end-to-end credits (9.7: the count 31 is invalid), and a NAK with code 0, PSN
/// sequence error.
const ACK: u32 = 0x1F;
const NAK_SEQUENCE_ERROR: u32 = 0x60;
/// A17.9.3: bytes of a CNP that are reserved.
const CNP_RESERVED: usize = 16;

impl Envelope {
    /// The frame of a packet from one queue pair to its peer. `hops` is the telemetry that it carries; absent without
    /// INT. The UDP ports are those of the queue pair and of RoCEv2, not those of the envelope.
    pub fn rocev2(
        &self,
        [from, to]: [QueuePair; 2],
        packet: &Packet,
        hops: Option<&[HopTelemetry]>,
    ) -> Frame {
        // The sizes of all packets but CNPs include telemetry.
        let hops = hops.filter(|_| packet.opcode != Opcode::Cnp);
        let int = hops.map(telemetry).unwrap_or_default();
        let payload = int.len() + usize::from(packet.payload);
        // 9.2: payload is padded to four bytes.
        let padding = payload.next_multiple_of(4) - payload;
        let mut transport = base_header(to, packet, padding);
        extend(packet, &mut transport);
        transport.extend(int);
        let zeros = usize::from(packet.payload) + padding;
        let length = UDP_HEADER + transport.len() + zeros + CRC;
        let mut head = self.lower(IpNumber::UDP, length);
        let ip = head.len() - IPV4_HEADER;
        // RFC 768: a checksum of zero is none; the CRC protects the packet.
        for word in [from.port(), PORT, length as u16, 0] {
            head.extend(word.to_be_bytes());
        }
        head.extend(transport);
        let tail = invariant_crc(&head[ip..], zeros).to_vec();
        Frame { head, zeros, tail }
    }
}

/// 9.2, three words: opcode, solicited event, migration, pad count, version, partition key; FECN, BECN, destination queue
/// pair; AckReq, PSN.
fn base_header(to: QueuePair, packet: &Packet, padding: usize) -> Vec<u8> {
    let set = |flag: bool, bit: u32| if flag { bit } else { 0 };
    // A17.9.3: a CNP has BECN; so has an ACK that echoes a mark (9.2).
    let becn = packet.echo || packet.opcode == Opcode::Cnp;
    let words = [
        u32::from(packet.opcode.bth()) << 24 | (padding as u32) << 20 | PARTITION_KEY,
        set(becn, BECN) | to.number(),
        set(packet.ack_req, ACK_REQUEST) | packet.psn,
    ];
    words.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// 9.3: RETH (address, key, length) or AETH (syndrome, MSN); A17.9.3: the reserved bytes of a CNP.
fn extend(packet: &Packet, transport: &mut Vec<u8>) {
    if packet.opcode.has_reth() {
        transport.extend([0; 8 + 4]);
        transport.extend(packet.length.to_be_bytes());
    }
    if packet.opcode.has_aeth() {
        let syndrome = match packet.opcode {
            Opcode::Nak => NAK_SEQUENCE_ERROR,
            _ => ACK,
        };
        let word = syndrome << 24 | packet.msn;
        transport.extend(word.to_be_bytes());
    }
    if packet.opcode == Opcode::Cnp {
        transport.extend([0; CNP_RESERVED]);
    }
}

#[cfg(test)]
mod tests {
    use incastle_rdma::Place;
    use incastle_units::{Bytes, Ecn, Rate, Time};

    use super::*;
    use crate::Host;

    /// Those of flow 100: 202 and 203.
    const PAIRS: [QueuePair; 2] = QueuePair::of_flow(100);

    fn envelope(class: u8, ecn: Ecn) -> Envelope {
        Envelope {
            from: Host(0),
            to: Host(1),
            ports: [0, 0],
            ecn,
            class,
        }
    }

    fn packet(opcode: Opcode) -> Packet {
        Packet {
            timestamp: Time::ZERO,
            psn: 0x12_3456,
            length: 0x0102_0304,
            msn: 0x0A_0B0C,
            payload: 0,
            opcode,
            ack_req: false,
            echo: false,
            retransmission: false,
        }
    }

    /// A frame without tag, from the BTH on, and without its CRC.
    fn transport(packet: &Packet) -> Vec<u8> {
        let frame = envelope(0, Ecn::NotEct).rocev2(PAIRS, packet, None);
        let all = frame.to_bytes();
        // Ethernet 14, IPv4 20, UDP 8.
        all[42..all.len() - 4].to_vec()
    }

    #[test]
    fn a_write_has_all_headers() {
        let write = Packet {
            payload: 5,
            ack_req: true,
            ..packet(Opcode::Write(Place::Only))
        };
        let frame = envelope(3, Ecn::Ce).rocev2(PAIRS, &write, None);
        let bytes = frame.to_bytes();
        let expected = [
            // Hosts 1 and 0 of the scenario; priority 3; IPv4.
            &[
                2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0x00, 0x60, 0x00, 0x08, 0x00,
            ][..],
            // CE; 20 + 8 + 12 + 16 + 5 + 3 + 4 = 68 bytes; DF; time to live 64; UDP. The checksum:
            // 4503 + 44 + 4000 + 4011 + A00 + 1 + A00 + 2 = D95B, and FFFF - D95B = 26A4.
            &[
                0x45, 0x03, 0, 68, 0, 0, 0x40, 0, 64, 17, 0x26, 0xA4, 10, 0, 0, 1, 10, 0, 0, 2,
            ],
            // Port 49152 + 202 = 0xC0CA to 4791 = 0x12B7, 48 bytes, no checksum.
            &[0xC0, 0xCA, 0x12, 0xB7, 0, 48, 0, 0],
            // WRITE only, three bytes of padding, the default partition, queue pair 203, AckReq.
            &[0x0A, 0x30, 0xFF, 0xFF, 0, 0, 0, 203, 0x80, 0x12, 0x34, 0x56],
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
            &[0; 8],
        ];
        assert_eq!(bytes[..bytes.len() - 4], expected.concat());
        assert_eq!(frame.length(), 18 + 68);
    }

    #[test]
    fn answers_have_a_syndrome_and_an_msn() {
        let ack = transport(&packet(Opcode::Ack));
        let base = [0x11, 0, 0xFF, 0xFF, 0, 0, 0, 203, 0, 0x12, 0x34, 0x56];
        assert_eq!(ack, [&base[..], &[0x1F, 0x0A, 0x0B, 0x0C]].concat());
        let nak = transport(&packet(Opcode::Nak));
        assert_eq!(nak, [&base[..], &[0x60, 0x0A, 0x0B, 0x0C]].concat());
        let echo = transport(&Packet {
            echo: true,
            ..packet(Opcode::Ack)
        });
        assert_eq!((echo[4], echo.len()), (0x40, 16));
    }

    #[test]
    fn a_cnp_has_reserved_bytes() {
        let cnp = transport(&Packet {
            psn: 0,
            ..packet(Opcode::Cnp)
        });
        let base = [0x81, 0, 0xFF, 0xFF, 0x40, 0, 0, 203, 0, 0, 0, 0];
        assert_eq!(cnp, [&base[..], &[0; 16]].concat());
    }

    #[test]
    fn each_opcode_has_its_extended_headers() {
        use Opcode::{ReadRequest, ReadResponse, Send, Write};
        use Place::{First, Last, Middle, Only};
        for (opcode, code, extended) in [
            (Send(First), 0x00, 0),
            (Send(Middle), 0x01, 0),
            (Send(Last), 0x02, 0),
            (Send(Only), 0x04, 0),
            (Write(First), 0x06, 16),
            (Write(Middle), 0x07, 0),
            (Write(Last), 0x08, 0),
            (ReadRequest, 0x0C, 16),
            (ReadResponse(First), 0x0D, 4),
            (ReadResponse(Middle), 0x0E, 0),
            (ReadResponse(Last), 0x0F, 4),
            (ReadResponse(Only), 0x10, 4),
        ] {
            let bytes = transport(&packet(opcode));
            assert_eq!((bytes[0], bytes.len()), (code, 12 + extended), "{opcode:?}");
            match extended {
                16 => assert_eq!(bytes[24..], [1, 2, 3, 4]),
                4 => assert_eq!(bytes[12..], [0x1F, 0x0A, 0x0B, 0x0C]),
                _ => {}
            }
        }
    }

    #[test]
    fn telemetry_is_payload_behind_the_headers() {
        let hop = HopTelemetry {
            rate: Rate::from_bits_per_second(25_000_000_000),
            at: Time::ZERO,
            sent: Bytes::ZERO,
            queue: Bytes::new(80),
        };
        let write = Packet {
            payload: 1000,
            ..packet(Opcode::Write(Place::First))
        };
        let frame = envelope(0, Ecn::Ect0).rocev2(PAIRS, &write, Some(&[hop]));
        let bytes = frame.to_bytes();
        // BTH and RETH take 28 bytes; the number of hops and one word follow.
        assert_eq!(bytes[42 + 28..][..10], [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        // 42 + 1000 bytes have two of padding.
        assert_eq!(bytes[43], 0x20);
        assert_eq!(frame.length(), 42 + 28 + 42 + 1000 + 2 + 4);
    }
}
