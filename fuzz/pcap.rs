//! The fuzz target `pcap`: a capture of any frames of any links is written, then read back block by block
//! and header by header. The same function runs under libFuzzer and in the ordinary tests of
//! `incastle-capture`.

use incastle_capture::{Envelope, Frame, Host, Pcapng, SwitchPort, TcpTerms};
use incastle_queueing::{PauseFrame, PrioritySet};
use incastle_transport::tcp::{Flags, SackBlock, Segment};
use incastle_transport::udt::wire::{Content, Dialect, parse};
use incastle_units::{Ecn, Rate, Time};

#[path = "input.rs"]
mod input;
#[path = "rocev2.rs"]
mod rocev2;

use input::Input;
use rocev2::RocePacket;

/// An entry of the file, with the fields that are compared.
enum Put {
    Interface(String),
    Name([u8; 4], String),
    Frame(Expected),
}

/// A frame that was put in.
struct Expected {
    interface: u32,
    ns: u64,
    length: usize,
    envelope: Envelope,
    transport: Transport,
}

/// The transport's headers.
enum Transport {
    Tcp(TcpTerms, Segment, Vec<SackBlock>),
    Datagram(u64, u16),
    Udt(Content, Dialect),
    Notification(u32, u8),
    RoceV2(RocePacket),
    Pause(SwitchPort, PauseFrame),
}

/// An input is the snap length (2 bytes), then operations of one byte with their operands.
pub(crate) fn pcap(input: &[u8]) {
    let mut input = Input(input);
    let Some(snap) = input.word() else {
        return;
    };
    let snap = u32::from(snap).max(1);
    let mut capture = Capture {
        file: Pcapng::new("fuzz", snap),
        interfaces: 0,
    };
    let mut put = Vec::new();
    while let Some(operation) = input.byte() {
        match capture.step(operation, &mut input) {
            Some(one) => put.push(one),
            None => break,
        }
    }
    let bytes = capture.file.into_bytes();
    let mut blocks = Blocks(&bytes);
    let head = blocks.next().expect("a section header");
    assert_eq!((head.kind, word(head.body, 0)), (0x0A0D_0D0A, 0x1A2B_3C4D));
    for one in &put {
        let block = blocks.next().expect("as many blocks as were put in");
        match one {
            Put::Interface(name) => interface(block, name, snap),
            Put::Name(ip, name) => host(block, *ip, name),
            Put::Frame(expected) => frame(block, expected, snap),
        }
    }
    assert!(blocks.next().is_none(), "nothing else is in the file");
}

/// A name ends with its first zero, and has a length that fits.
fn shown(name: &str) -> &str {
    let name = name.split('\0').next().unwrap_or_default();
    assert!(name.len() < 1_000);
    name
}

fn name(input: &mut Input<'_>) -> Option<String> {
    let length = usize::from(input.byte()?);
    Some(String::from_utf8_lossy(input.take(length)).into_owned())
}

/// The file under test, and the number of its interfaces.
struct Capture {
    file: Pcapng,
    interfaces: u32,
}

impl Capture {
    /// One operation; nothing where the input ends.
    fn step(&mut self, operation: u8, input: &mut Input<'_>) -> Option<Put> {
        if operation.is_multiple_of(8) || self.interfaces == 0 {
            let name = name(input)?;
            let rate = Rate::from_bits_per_second(u64::from(input.word()?));
            assert_eq!(self.file.interface(&name, rate), self.interfaces);
            self.interfaces += 1;
            return Some(Put::Interface(name));
        }
        if operation % 8 == 1 {
            let host = Host(long(input)?);
            let name = name(input)?;
            self.file.host(host, &name);
            return Some(Put::Name(host.ip(), name));
        }
        let envelope = envelope(input)?;
        let (frame, transport) = packet(operation, input, &envelope)?;
        let interface = u32::from(input.byte()?) % self.interfaces;
        let ps = u64::from(long(input)?) << (operation >> 3);
        self.file.frame(interface, Time::from_ps(ps), &frame);
        Some(Put::Frame(Expected {
            interface,
            ns: ps / 1_000,
            length: frame.length(),
            envelope,
            transport,
        }))
    }
}

fn long(input: &mut Input<'_>) -> Option<u32> {
    Some(u32::from(input.word()?) << 16 | u32::from(input.word()?))
}

fn envelope(input: &mut Input<'_>) -> Option<Envelope> {
    let bits = input.byte()?;
    Some(Envelope {
        from: Host(long(input)?),
        to: Host(long(input)?),
        ports: [input.word()?, input.word()?],
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ce, Ecn::Ect1][usize::from(bits) % 4],
        class: bits >> 5,
    })
}

fn packet(operation: u8, input: &mut Input<'_>, envelope: &Envelope) -> Option<(Frame, Transport)> {
    Some(match operation % 8 {
        2 => {
            let (terms, segment, sacks) = segment(input)?;
            let frame = envelope.tcp(&terms, &segment, &sacks);
            (frame, Transport::Tcp(terms, segment, sacks))
        }
        3 => {
            let roce = rocev2::packet(input)?;
            let frame = envelope.rocev2(roce.pairs, &roce.packet, roce.hops.as_deref());
            (frame, Transport::RoceV2(roce))
        }
        4 => {
            let port = SwitchPort(long(input)?);
            let pause = PauseFrame {
                priorities: PrioritySet::from_bits(input.byte()?),
                quanta: input.word()?,
            };
            (
                Frame::pause(port.mac(), pause),
                Transport::Pause(port, pause),
            )
        }
        5 => {
            let number = u64::from(long(input)?) << 32 | u64::from(long(input)?);
            let payload = input.word()?.min(65_000);
            (
                envelope.datagram(number, payload),
                Transport::Datagram(number, payload),
            )
        }
        6 => {
            let dialect = [Dialect::Udt, Dialect::Dcudp][usize::from(input.byte()? % 2)];
            let length = usize::from(input.byte()?);
            let view = parse(input.take(length), dialect).ok()?;
            let frame = envelope.udt(&view.packet, view.body(), dialect);
            (frame, Transport::Udt(view.packet.content, dialect))
        }
        _ => {
            let (flow, feedback) = (long(input)?, input.byte()? % 64);
            let frame = envelope.notification(flow, feedback);
            (frame, Transport::Notification(flow, feedback))
        }
    })
}

fn segment(input: &mut Input<'_>) -> Option<(TcpTerms, Segment, Vec<SackBlock>)> {
    let (bits, chosen) = (input.byte()?, input.byte()?);
    let flags = [Flags::FIN, Flags::SYN, Flags::ACK, Flags::ECE, Flags::CWR];
    let set = flags
        .into_iter()
        .enumerate()
        .filter(|(place, _)| bits >> place & 1 == 1);
    let flags = set.fold(Flags::NONE, |flags, (_, flag)| flags.with(flag));
    let syn = flags.contains(Flags::SYN);
    let sacks = 0..if syn { 0 } else { chosen % 4 };
    let sacks: Option<Vec<SackBlock>> = sacks
        .map(|_| {
            Some(SackBlock {
                start: long(input)?,
                end: long(input)?,
            })
        })
        .collect();
    let terms = TcpTerms {
        mss: input.word()?,
        window_scale: chosen >> 4 & 15,
        timestamps: chosen & 4 != 0,
        sack: chosen & 8 != 0,
    };
    let terms = TcpTerms {
        window_scale: terms.window_scale.min(14),
        ..terms
    };
    let sacks = sacks?;
    let segment = Segment {
        timestamp: Time::from_ps(u64::from(long(input)?)),
        echo: if bits & 64 == 0 {
            Time::NEVER
        } else {
            Time::from_ps(u64::from(long(input)?) << 20)
        },
        seq: long(input)?,
        ack: long(input)?,
        window: long(input)?,
        payload: input.word()?.min(65_000),
        flags,
        sacks: sacks.len() as u8,
    };
    Some((terms, segment, sacks))
}

/// A block of a file.
struct Block<'a> {
    kind: u32,
    body: &'a [u8],
}

/// The blocks of a file.
struct Blocks<'a>(&'a [u8]);

impl<'a> Iterator for Blocks<'a> {
    type Item = Block<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let length = word(self.0, 1) as usize;
        assert!(length >= 12 && length.is_multiple_of(4), "whole words");
        let (block, rest) = self.0.split_at(length);
        assert_eq!(
            word(block, length / 4 - 1) as usize,
            length,
            "the length stands twice"
        );
        self.0 = rest;
        Some(Block {
            kind: word(block, 0),
            body: &block[8..length - 4],
        })
    }
}

/// Word `index` in the order of bytes of the file.
fn word(bytes: &[u8], index: usize) -> u32 {
    u32::from_le_bytes(
        bytes[4 * index..4 * index + 4]
            .try_into()
            .expect("four bytes"),
    )
}

fn interface(Block { kind, body }: Block<'_>, name: &str, snap: u32) {
    assert_eq!((kind, word(body, 0), word(body, 1)), (1, 1, snap));
    let name = shown(name).as_bytes();
    assert_eq!(word(body, 2), 2 | (name.len() as u32) << 16);
    assert_eq!(&body[12..12 + name.len()], name);
    // The name's padding, then speed and resolution, and the end.
    let rest = &body[12 + name.len().next_multiple_of(4)..];
    assert_eq!(
        (word(rest, 0), word(rest, 3), word(rest, 4)),
        (8 | 8 << 16, 9 | 1 << 16, 9)
    );
    assert_eq!((word(rest, 5), rest.len()), (0, 24));
}

fn host(Block { kind, body }: Block<'_>, ip: [u8; 4], name: &str) {
    assert_eq!(kind, 4);
    let name = shown(name).as_bytes();
    assert_eq!(word(body, 0), 1 | (name.len() as u32 + 5) << 16);
    assert_eq!(body[4..8], ip);
    assert_eq!((&body[8..8 + name.len()], body[8 + name.len()]), (name, 0));
    assert_eq!(body[body.len() - 4..], [0; 4]);
}

fn frame(Block { kind, body }: Block<'_>, expected: &Expected, snap: u32) {
    let ns = u64::from(word(body, 1)) << 32 | u64::from(word(body, 2));
    assert_eq!(
        (kind, word(body, 0), ns),
        (6, expected.interface, expected.ns)
    );
    let (kept, length) = (word(body, 3), word(body, 4) as usize);
    assert_eq!((length, kept), (expected.length, snap.min(length as u32)));
    assert_eq!(body.len(), 20 + (kept as usize).next_multiple_of(4));
    let bytes = &body[20..20 + kept as usize];
    if bytes.len() == length {
        ethernet(bytes, &expected.envelope, &expected.transport);
    }
}

fn be(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be(bytes, at)) << 16 | u32::from(be(bytes, at + 2))
}

/// The sum of RFC 1071, which is 0xFFFF over what contains its own checksum.
fn sum(words: &[u8], start: u32) -> u32 {
    let pairs = words.chunks(2);
    let total = pairs.fold(u64::from(start), |total, pair| {
        let low = pair.get(1).copied().unwrap_or(0);
        total + u64::from(u16::from_be_bytes([pair[0], low]))
    });
    let mut folded = total;
    while folded > 0xFFFF {
        folded = (folded & 0xFFFF) + (folded >> 16);
    }
    folded as u32
}

fn ethernet(bytes: &[u8], envelope: &Envelope, transport: &Transport) {
    if let Transport::Pause(port, frame) = transport {
        return pause(bytes, *port, *frame);
    }
    assert_eq!(bytes[..6], envelope.to.mac());
    let (mut kind, mut rest) = (be(bytes, 12), &bytes[14..]);
    assert_eq!(kind == 0x8100, envelope.class > 0);
    if kind == 0x8100 {
        assert_eq!(be(rest, 0), u16::from(envelope.class) << 13);
        (kind, rest) = (be(rest, 2), &rest[4..]);
    }
    if let Transport::Notification(flow, feedback) = transport {
        assert_eq!(
            (kind, be(rest, 0), be(rest, 2)),
            (0x22E9, *flow as u16, 0x22E7)
        );
        assert_eq!(be(rest, 4), u16::from(*feedback));
        assert_eq!(rest[20..26], envelope.from.mac());
        assert_eq!(bytes.len(), 60);
        return;
    }
    assert_eq!(
        (kind, bytes[6..12].to_vec()),
        (0x0800, envelope.from.mac().to_vec())
    );
    assert_eq!((rest[0], usize::from(be(rest, 2))), (0x45, rest.len()));
    assert_eq!(sum(&rest[..20], 0), 0xFFFF, "the header's checksum");
    let ecn = match envelope.ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    assert_eq!(rest[1], ecn);
    assert_eq!(rest[12..16], envelope.from.ip());
    assert_eq!(rest[16..20], envelope.to.ip());
    if let Transport::RoceV2(roce) = transport {
        assert_eq!(rest[9], 17);
        return rocev2::read(rest, roce);
    }
    let (ip, rest) = rest.split_at(20);
    // The pseudo header: addresses, protocol, length.
    let pseudo = sum(&ip[12..], u32::from(ip[9]) + rest.len() as u32);
    assert_eq!(sum(rest, pseudo), 0xFFFF, "the transport's checksum");
    assert_eq!([be(rest, 0), be(rest, 2)], envelope.ports);
    if let Transport::Tcp(terms, segment, sacks) = transport {
        return tcp(rest, *terms, segment, sacks);
    }
    assert_eq!((ip[9], usize::from(be(rest, 4))), (17, rest.len()));
    udp(&rest[8..], transport);
}

/// A MAC control frame: opcode, priorities, eight times, and padding.
fn pause(bytes: &[u8], port: SwitchPort, frame: PauseFrame) {
    assert_eq!(bytes[..6], [1, 0x80, 0xC2, 0, 0, 1]);
    assert_eq!(bytes[6..12], port.mac());
    let words: Vec<u16> = (12..60).step_by(2).map(|at| be(bytes, at)).collect();
    let enabled = frame.priorities.bits();
    assert_eq!(words[..3], [0x8808, 0x0101, u16::from(enabled)]);
    let times = (0..8).map(|bit| {
        if enabled >> bit & 1 == 1 {
            frame.quanta
        } else {
            0
        }
    });
    assert!(times.eq(words[3..11].iter().copied()));
    assert!(bytes.len() == 60 && bytes[34..].iter().all(|byte| *byte == 0));
}

fn udp(payload: &[u8], transport: &Transport) {
    match transport {
        Transport::Datagram(number, length) => {
            assert_eq!(payload.len(), usize::from(*length));
            let number = number.to_be_bytes();
            assert!(
                payload
                    .iter()
                    .zip(number)
                    .all(|(byte, of_number)| *byte == of_number)
            );
        }
        Transport::Udt(content, dialect) => {
            let view = parse(payload, *dialect).expect("a written packet parses");
            assert_eq!(view.packet.content, *content);
        }
        _ => unreachable!("the caller compares all others"),
    }
}

fn tcp(bytes: &[u8], terms: TcpTerms, segment: &Segment, sacks: &[SackBlock]) {
    assert_eq!(be32(bytes, 4), segment.seq);
    let acks = segment.flags.contains(Flags::ACK);
    assert_eq!(be32(bytes, 8), if acks { segment.ack } else { 0 });
    assert_eq!(bytes[13], segment.flags.bits());
    let syn = segment.flags.contains(Flags::SYN);
    let window = segment.window >> if syn { 0 } else { terms.window_scale };
    assert_eq!(u32::from(be(bytes, 14)), window.min(65_535));
    let headers = usize::from(bytes[12] >> 4) * 4;
    assert_eq!(bytes.len() - headers, usize::from(segment.payload));
    let mut options = &bytes[20..headers];
    let (mut blocks, mut stamped, mut of_syn) = (Vec::new(), false, 0);
    while let [kind, rest @ ..] = options {
        if *kind < 2 {
            options = rest;
            continue;
        }
        let (option, rest) = options.split_at(usize::from(rest[0]));
        match (kind, option.len()) {
            (2, 4) => assert_eq!(be(option, 2), terms.mss),
            (3, 3) => assert_eq!(option[2], terms.window_scale),
            (4, 2) => assert!(terms.sack),
            (5, _) => blocks.extend(option[2..].chunks(8).map(|ends| SackBlock {
                start: be32(ends, 0),
                end: be32(ends, 4),
            })),
            (8, 10) => {
                stamped = true;
                assert_eq!(
                    be32(option, 2),
                    (segment.timestamp.as_ps() / 1_000_000) as u32
                );
            }
            other => panic!("option {other:?}"),
        }
        of_syn += u32::from(matches!(kind, 2..=4));
        options = rest;
    }
    assert_eq!((blocks.as_slice(), stamped), (sacks, terms.timestamps));
    assert_eq!(of_syn, if syn { 2 + u32::from(terms.sack) } else { 0 });
}
