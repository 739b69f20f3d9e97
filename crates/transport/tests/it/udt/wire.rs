//! The wire format: the specification's examples, every field there and back, and arbitrary bytes.

use incastle_transport::udt::wire::{
    AckRate, AckReport, Content, Control, ControlBody, ControlHeader, DataHeader, Dialect,
    Extension, Handshake, HandshakeKind, Losses, NumberRange, Packet, Place, SocketKind, View,
    WIRE_ERRORS, WireError, destination, max_message, parse, write,
};
use incastle_transport::udt::{MAX_SEQUENCE, Number};
use proptest::prelude::*;

const DIALECTS: [Dialect; 3] = [Dialect::Udt, Dialect::Dcudp, Dialect::Accurate];

pub(crate) fn number(word: u32) -> Number {
    Number::from_word(word)
}

pub(crate) fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

pub(crate) fn control(control: Control) -> Packet {
    packet(Content::Control(ControlHeader {
        observe: false,
        number: number(0),
        control,
    }))
}

fn packet(content: Content) -> Packet {
    Packet {
        timestamp: 0x0102_0304,
        destination: 0x0506_0708,
        content,
    }
}

pub(crate) fn written(packet: &Packet, body: ControlBody<'_>, dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    write(packet, body, &[], dialect, &mut out);
    assert_eq!(out.len(), packet.wire_bytes(body, dialect));
    out
}

/// The 32-bit words of a control packet without a body under UDT.
fn words(of: Control) -> Vec<u32> {
    let out = written(&control(of), ControlBody::Empty, Dialect::Udt);
    let word = |four: &[u8]| u32::from_be_bytes(four.try_into().expect("four bytes"));
    out.chunks(4).map(word).collect()
}

#[test]
fn the_loss_list_of_the_specification() {
    let ranges = [(2, 2), (6, 11), (14, 14)].map(|(first, last)| NumberRange {
        first: number(first),
        last: number(last),
    });
    let body = ControlBody::Losses(Losses::typed(&ranges));
    let out = written(&control(Control::Nak), body, Dialect::Udt);
    let body = bytes(&[0x0000_0002, 0x8000_0006, 0x0000_000B, 0x0000_000E]);
    assert_eq!(out[..4], [0x80, 0x03, 0, 0]);
    assert_eq!(out[16..], body);
    let view = parse(&out, Dialect::Udt).expect("a NAK");
    assert!(view.losses.expect("losses").ranges().eq(ranges));
}

#[test]
fn every_control_packet_has_the_type_of_the_table() {
    let tail = [0x0102_0304, 0x0506_0708];
    let expect = |of, head: [u32; 2], body: &[u32]| {
        assert_eq!(words(of), [&head[..], &tail, body].concat(), "{of:?}");
    };
    expect(Control::KeepAlive, [0x8001_0000, 0], &[]);
    expect(Control::Warning, [0x8004_0000, 0], &[]);
    // UDT's has no flags.
    let (answers, gone) = (true, true);
    let shutdown = Control::Shutdown { answers, gone };
    expect(shutdown, [0x8005_0000, 0], &[]);
    let ack2 = Control::Ack2 { number: number(9) };
    expect(ack2, [0x8006_0000, 9], &[]);
    let drop = Control::Drop {
        message: 3,
        first: number(MAX_SEQUENCE),
        last: number(4),
    };
    expect(drop, [0x8007_0000, 3], &[MAX_SEQUENCE, 4]);
    let light = Control::LightAck { next: number(77) };
    expect(light, [0x8002_0000, 0], &[77]);
    let ack = Control::Ack {
        number: number(5),
        next: number(77),
        ece: true,
        not_ect: true,
        report: AckReport {
            rtt_us: 1,
            variance_us: 2,
            free_packets: 3,
            receiving_packets_per_s: 4,
            capacity_packets_per_s: 5,
        },
    };
    // UDT has no ECE.
    expect(ack, [0x8002_0000, 5], &[77, 1, 2, 3, 4, 5]);
}

#[test]
fn dcudps_control_packets_have_their_number_and_bits() {
    let header = |control| {
        packet(Content::Control(ControlHeader {
            observe: true,
            number: number(0x1234),
            control,
        }))
    };
    let out = written(
        &header(Control::ObserveChange { change: 7 }),
        ControlBody::Empty,
        Dialect::Dcudp,
    );
    let expected = [0xFFFF_0001, 7, 0x0102_0304, 0x0506_0708, 0x8000_1234];
    assert_eq!(out, bytes(&expected));
    let changed = header(Control::ObserveChanged { change: 7 });
    let out = written(&changed, ControlBody::Empty, Dialect::Dcudp);
    assert_eq!(out[..4], [0xFF, 0xFF, 0, 2]);
    // ECE is the top bit of an ACK's reserved field, NECT the next.
    for (ece, not_ect, bits) in [(true, false, 0x80), (false, true, 0x40), (true, true, 0xC0)] {
        let ack = header(Control::Ack {
            number: number(1),
            next: number(2),
            ece,
            not_ect,
            report: AckReport::default(),
        });
        let out = written(&ack, ControlBody::Empty, Dialect::Dcudp);
        assert_eq!(out[..4], [0x80, 0x02, bits, 0]);
        assert_eq!(parse(&out, Dialect::Dcudp).map(|view| view.packet), Ok(ack));
    }
}

/// The examples of docs/models/dcudp-wire.md.
#[test]
fn the_page_has_right_examples() {
    let header = |timestamp, destination, own, control| Packet {
        timestamp,
        destination,
        content: Content::Control(ControlHeader {
            observe: true,
            number: number(own),
            control,
        }),
    };
    let ack = Control::Ack {
        number: number(3),
        next: number(0x123),
        ece: true,
        not_ect: false,
        report: AckReport {
            rtt_us: 105,
            variance_us: 20,
            free_packets: 8000,
            ..AckReport::default()
        },
    };
    let change = Control::ObserveChange { change: 1 };
    let page = include_str!("../../../../../docs/models/dcudp-wire.md");
    for packet in [
        header(100_000, 42, 102, ack),
        header(100_052, 7, 109, change),
    ] {
        let out = written(&packet, ControlBody::Empty, Dialect::Dcudp);
        for line in [&out[..16], &out[16..20]]
            .into_iter()
            .chain(out[20..].chunks(16))
        {
            let word = |four: &[u8]| u32::from_be_bytes(four.try_into().expect("four bytes"));
            let hex = |four: &[u8]| format!("{:08X}", word(four));
            let words: Vec<String> = line.chunks(4).map(hex).collect();
            assert!(page.contains(&words.join(" ")), "{words:?}");
        }
    }
}

#[test]
fn data_headers_have_the_bits_of_the_specification() {
    let header = |place, in_order, dcudp| DataHeader {
        sequence: number(0x7ABB_CCDD),
        message: 0x0123,
        place,
        in_order,
        observe: dcudp,
        cwr: dcudp,
        length: 1,
    };
    let second = |header, dialect| {
        let mut out = Vec::new();
        write(
            &packet(Content::Data(header)),
            ControlBody::Empty,
            b"x",
            dialect,
            &mut out,
        );
        assert_eq!(out.len(), 17);
        assert_eq!(out[..4], [0x7A, 0xBB, 0xCC, 0xDD]);
        u32::from_be_bytes(out[4..8].try_into().expect("four bytes"))
    };
    let udt = |place, in_order| second(header(place, in_order, true), Dialect::Udt);
    // 10 first, 01 last, 11 only, 00 middle; O below them. UDT has no OBS and no CWR.
    assert_eq!(udt(Place::First, false), 0x8000_0123);
    assert_eq!(udt(Place::Last, false), 0x4000_0123);
    assert_eq!(udt(Place::Only, true), 0xE000_0123);
    assert_eq!(udt(Place::Middle, true), 0x2000_0123);
    let dcudp = second(header(Place::Only, true, true), Dialect::Dcudp);
    assert_eq!(dcudp, 0xF800_0123);
    assert_eq!(max_message(Dialect::Udt), (1 << 29) - 1);
    assert_eq!(max_message(Dialect::Dcudp), (1 << 27) - 1);
}

fn handshake() -> Handshake {
    Handshake {
        version: 4,
        socket_kind: SocketKind::Stream,
        first: number(11),
        packet_size: 1500,
        flow_window: 25600,
        kind: HandshakeKind::Request,
        socket: 0xAABB_CCDD,
        cookie: 0x1122_3344,
        peer: [1, 2, 3, 4],
        extension: None,
    }
}

#[test]
fn a_handshake_has_the_librarys_twelve_words() {
    let out = written(
        &control(Control::Handshake),
        ControlBody::Handshake(&handshake()),
        Dialect::Udt,
    );
    let head = [0x8000_0000, 0, 0x0102_0304, 0x0506_0708];
    let body = [4, 1, 11, 1500, 25600, 1, 0xAABB_CCDD, 0x1122_3344];
    assert_eq!(out, bytes(&[&head[..], &body, &[1, 2, 3, 4]].concat()));
    let codes = [
        (HandshakeKind::Response, -1),
        (HandshakeKind::Rendezvous, 0),
        (HandshakeKind::RendezvousDone, -2),
        (HandshakeKind::Refused, 1002),
    ];
    for (kind, code) in codes {
        let handshake = Handshake {
            kind,
            ..handshake()
        };
        let body = ControlBody::Handshake(&handshake);
        let out = written(&control(Control::Handshake), body, Dialect::Udt);
        assert_eq!(out[36..40], i32::to_be_bytes(code));
    }
    let messages = Handshake {
        socket_kind: SocketKind::Message,
        ..handshake()
    };
    let body = ControlBody::Handshake(&messages);
    let out = written(&control(Control::Handshake), body, Dialect::Udt);
    assert_eq!(out[20..24], [0, 0, 0, 2]);
}

#[test]
fn an_extension_takes_three_words_of_the_address_and_no_room() {
    let offer = Extension::Offer { socket: 9 };
    let with = Handshake {
        peer: [1, 0, 0, 0],
        extension: Some(offer),
        ..handshake()
    };
    let body = ControlBody::Handshake(&with);
    let mut out = written(&control(Control::Handshake), body, Dialect::Udt);
    // The library takes a body of 48 bytes and no other.
    assert_eq!(out.len(), 16 + 48);
    assert_eq!(out[48..], bytes(&[1, 0x4443_5544, 0x0001_0001, 9]));
    let read = |out: &[u8]| parse(out, Dialect::Udt).map(|view| view.handshake);
    assert_eq!(read(&out), Ok(Some(with)));
    // Handshakes look alike in both dialects.
    let dcudp = parse(&out, Dialect::Dcudp).map(|view| view.handshake);
    assert_eq!(dcudp, Ok(Some(with)));
    out[59] = 2;
    let answer = Some(Extension::Answer { socket: 9 });
    let extension = |out: &[u8]| read(out).map(|body| body.and_then(|body| body.extension));
    assert_eq!(extension(&out), Ok(answer));
    for (at, value) in [(52, 0), (57, 7), (59, 3)] {
        let mut other = out.clone();
        other[at] = value;
        assert_eq!(extension(&other), Ok(None));
    }
    // Longer or shorter is no handshake.
    let wrong = |bytes| Err(WireError::Body { kind: 0, bytes });
    assert_eq!(extension(&out[..63]), wrong(47));
    out.extend([0; 4]);
    assert_eq!(extension(&out), wrong(52));
}

#[test]
fn what_the_library_pads_and_shortens_is_understood() {
    let mut padded = bytes(&[0x8001_0000, 0, 0, 7, 0]);
    assert!(parse(&padded, Dialect::Udt).is_ok());
    padded.extend([0; 4]);
    let body = Err(WireError::Body { kind: 1, bytes: 8 });
    assert_eq!(parse(&padded, Dialect::Udt).map(|view| view.packet), body);
    // An ACK without rates.
    let short = bytes(&[0x8002_0000, 3, 0, 7, 100, 1, 2, 3]);
    let view = parse(&short, Dialect::Udt).expect("an ACK");
    let Content::Control(ControlHeader {
        control: Control::Ack { report, next, .. },
        ..
    }) = view.packet.content
    else {
        panic!("an ACK");
    };
    assert_eq!(next, number(100));
    assert_eq!((report.free_packets, report.capacity_packets_per_s), (3, 0));
}

#[test]
fn every_mistake_has_its_error() {
    let error = |words: &[u32], dialect| parse(&bytes(words), dialect).map(|view| view.packet);
    let udt = |words: &[u32]| error(words, Dialect::Udt).expect_err("a mistake");
    assert_eq!(udt(&[]), WireError::Short(0));
    assert_eq!(udt(&[0, 0, 0]), WireError::Short(12));
    assert_eq!(udt(&[0, 0, 0, 0]), WireError::NoData);
    let long = vec![0_u8; 16 + 65_536];
    assert_eq!(
        parse(&long, Dialect::Udt).map(|view| view.packet),
        Err(WireError::Long(65_536))
    );
    let body = |kind, bytes| WireError::Body { kind, bytes };
    assert_eq!(udt(&[0x8000_0000, 0, 0, 0, 4]), body(0, 4));
    assert_eq!(udt(&[0x8002_0000, 0, 0, 0]), body(2, 0));
    assert_eq!(udt(&[0x8002_0000, 0, 0, 0, 1, 2]), body(2, 8));
    assert_eq!(udt(&[0x8007_0000, 0, 0, 0, 1]), body(7, 4));
    assert_eq!(udt(&[0x8007_0000, 0, 0, 0, 5, 4]), WireError::Drop(5, 4));
    let unknown = |kind, subtype| WireError::Unknown { kind, subtype };
    assert_eq!(udt(&[0x8008_0001, 0, 0, 0]), unknown(8, 1));
    // Without DCUDP a peer has no OBS-change.
    assert_eq!(udt(&[0xFFFF_0001, 0, 0, 0]), unknown(0x7FFF, 1));
    // Loss lists: none, half a range, two openings, backwards, half a word.
    for list in [
        &[][..],
        &[0x8000_0006],
        &[0x8000_0006, 0x8000_0007],
        &[0x8000_0006, 5],
    ] {
        assert_eq!(
            udt(&[&[0x8003_0000, 0, 0, 0], list].concat()),
            WireError::Losses
        );
    }
    let half = [bytes(&[0x8003_0000, 0, 0, 0, 1]), vec![0, 0]].concat();
    assert_eq!(
        parse(&half, Dialect::Udt).map(|view| view.packet),
        Err(WireError::Losses)
    );
    let mut words = vec![0x8000_0000, 0, 0, 0, 4, 1, 0, 1500, 10, 1, 1, 0, 0, 0, 0, 0];
    words[5] = 3;
    assert_eq!(udt(&words), WireError::SocketKind(3));
    (words[5], words[9]) = (1, 7);
    assert_eq!(udt(&words), WireError::HandshakeKind(7));
    // DCUDP: the word of the control number is missing.
    let short = error(&[0x8001_0000, 0, 0, 0], Dialect::Dcudp);
    assert_eq!(short, Err(WireError::Short(16)));
}

#[test]
fn the_destination_is_found_before_the_dialect_is_known() {
    assert_eq!(destination(&bytes(&[0, 0, 0, 42])), Ok(42));
    assert_eq!(destination(&[0; 15]), Err(WireError::Short(15)));
}

fn any_control() -> impl Strategy<Value = Control> {
    let word = any::<u32>();
    let wire = any::<u32>().prop_map(number);
    let report = any::<[u32; 5]>().prop_map(|fields| AckReport {
        rtt_us: fields[0],
        variance_us: fields[1],
        free_packets: fields[2],
        receiving_packets_per_s: fields[3],
        capacity_packets_per_s: fields[4],
    });
    let ack = (wire.clone(), wire.clone(), any::<(bool, bool)>(), report);
    prop_oneof![
        Just(Control::KeepAlive),
        Just(Control::Warning),
        any::<[bool; 2]>().prop_map(|[answers, gone]| Control::Shutdown { answers, gone }),
        wire.clone().prop_map(|next| Control::LightAck { next }),
        wire.clone().prop_map(|number| Control::Ack2 { number }),
        word.prop_map(|change| Control::ObserveChange { change }),
        word.prop_map(|change| Control::ObserveChanged { change }),
        (word, wire, 0_u64..1 << 30).prop_map(|(message, first, span)| Control::Drop {
            message,
            first,
            last: first.plus(span),
        }),
        ack.prop_map(|(number, next, (ece, not_ect), report)| Control::Ack {
            number,
            next,
            ece,
            not_ect,
            report,
        }),
    ]
}

fn any_data() -> impl Strategy<Value = DataHeader> {
    let place = prop_oneof![
        Just(Place::First),
        Just(Place::Last),
        Just(Place::Only),
        Just(Place::Middle),
    ];
    (
        any::<u32>(),
        any::<u32>(),
        place,
        any::<[bool; 3]>(),
        1_u16..2000,
    )
        .prop_map(
            |(sequence, message, place, [in_order, observe, cwr], length)| DataHeader {
                sequence: number(sequence),
                message: message & max_message(Dialect::Dcudp),
                place,
                in_order,
                observe,
                cwr,
                length,
            },
        )
}

fn any_rate() -> impl Strategy<Value = AckRate> {
    (1_u8.., 1_u8..).prop_map(|(packets, per_rtt)| AckRate { packets, per_rtt })
}

fn any_handshake() -> impl Strategy<Value = Handshake> {
    let kind = prop_oneof![
        Just(HandshakeKind::Request),
        Just(HandshakeKind::Response),
        Just(HandshakeKind::Rendezvous),
        Just(HandshakeKind::RendezvousDone),
        Just(HandshakeKind::Refused),
    ];
    let socket_kind = prop_oneof![Just(SocketKind::Stream), Just(SocketKind::Message)];
    let extension = prop_oneof![
        Just(None),
        any::<u32>().prop_map(|socket| Some(Extension::Offer { socket })),
        any::<u32>().prop_map(|socket| Some(Extension::Answer { socket })),
        (any::<u32>(), any_rate())
            .prop_map(|(socket, rate)| Some(Extension::AccurateOffer { socket, rate })),
        (any::<u32>(), any_rate())
            .prop_map(|(socket, rate)| Some(Extension::AccurateAnswer { socket, rate })),
    ];
    (any::<[u32; 10]>(), kind, socket_kind, extension).prop_map(
        |(fields, kind, socket_kind, extension)| Handshake {
            version: fields[0],
            socket_kind,
            first: number(fields[1]),
            packet_size: fields[2],
            flow_window: fields[3],
            kind,
            socket: fields[4],
            cookie: fields[5],
            peer: match extension {
                Some(_) => [fields[6], 0, 0, 0],
                None => [fields[6], fields[7], fields[8], fields[9]],
            },
            extension,
        },
    )
}

/// Everything that can be read of a view.
fn read_all(view: &View<'_>) -> (Packet, Option<Handshake>, Vec<NumberRange>, Vec<u8>) {
    let losses = view.losses.map(|losses| losses.ranges().collect());
    (
        view.packet,
        view.handshake,
        losses.unwrap_or_default(),
        view.payload.to_vec(),
    )
}

proptest! {
    #[test]
    fn control_packets_come_back(
        control in any_control(),
        observe: bool,
        own: u32,
        timestamp: u32,
        destination: u32,
    ) {
        let header = ControlHeader { observe, number: number(own), control };
        let packet = Packet { timestamp, destination, content: Content::Control(header) };
        let out = written(&packet, ControlBody::Empty, Dialect::Dcudp);
        let view = parse(&out, Dialect::Dcudp);
        prop_assert_eq!(view.map(|view| view.packet), Ok(packet));
    }

    #[test]
    fn data_packets_come_back(header in any_data(), fill: u8, timestamp: u32, destination: u32) {
        let payload = vec![fill; usize::from(header.length)];
        let packet = Packet { timestamp, destination, content: Content::Data(header) };
        let mut out = Vec::new();
        write(&packet, ControlBody::Empty, &payload, Dialect::Dcudp, &mut out);
        let view = parse(&out, Dialect::Dcudp).expect("a data packet");
        prop_assert_eq!(view.packet, packet);
        prop_assert_eq!(view.payload, &payload[..]);
    }

    #[test]
    fn handshakes_come_back(handshake in any_handshake()) {
        let packet = control(Control::Handshake);
        let out = written(&packet, ControlBody::Handshake(&handshake), Dialect::Udt);
        let view = parse(&out, Dialect::Dcudp).expect("a handshake");
        prop_assert_eq!(view.handshake, Some(handshake));
    }

    #[test]
    fn loss_lists_come_back(
        list in prop::collection::vec((any::<u32>(), 0_u64..1 << 30), 1..50),
    ) {
        let range = |(first, span): (u32, u64)| NumberRange {
            first: number(first),
            last: number(first).plus(span),
        };
        let ranges: Vec<NumberRange> = list.into_iter().map(range).collect();
        for dialect in DIALECTS {
            let losses = Losses::typed(&ranges);
            let out = written(&control(Control::Nak), ControlBody::Losses(losses), dialect);
            let view = parse(&out, dialect).expect("a NAK");
            prop_assert!(view.losses.expect("losses").ranges().eq(ranges.iter().copied()));
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_what_parses_is_written_back_alike(
        mut datagram in prop::collection::vec(any::<u8>(), 0..120),
        kind in prop::option::of(0_u16..10),
    ) {
        if let (Some(kind), Some(head)) = (kind, datagram.first_chunk_mut::<2>()) {
            *head = (0x8000 | kind).to_be_bytes();
        }
        for dialect in DIALECTS {
            match parse(&datagram, dialect) {
                Ok(view) => {
                    let mut out = Vec::new();
                    write(&view.packet, view.body(), view.payload, dialect, &mut out);
                    let again = parse(&out, dialect).expect("what was written");
                    prop_assert_eq!(read_all(&view), read_all(&again));
                }
                Err(error) => prop_assert!(error.index() < WIRE_ERRORS),
            }
        }
    }
}
