//! The frames on the wire, byte by byte, and the decoder against whatever may come.

use bytes::{Bytes, BytesMut};
use incastle_cases::cases;
use incastle_dcudp::protocol::{
    BenchDirection, BenchRequest, Chunk, Decoder, ErrorCode, Frame, MAX_BENCH_MILLIS, MAX_DATA,
    MAX_MESSAGE, MAX_NAME, MAX_PING, Name, NameError, ProtocolError, Report, VERSION,
};
use proptest::prelude::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn wire(frame: &Frame) -> Vec<u8> {
    let mut out = BytesMut::new();
    frame.encode(&mut out);
    out.to_vec()
}

fn decode(bytes: &[u8]) -> Result<Option<Frame>, ProtocolError> {
    let mut decoder = Decoder::default();
    decoder.buffer().extend_from_slice(bytes);
    decoder.next_frame()
}

/// Every frame, with the bytes that docs/dcudp.md writes down.
fn examples() -> Vec<(Frame, Vec<u8>)> {
    let hash = [0xab; 32];
    let with = |head: &[u8], tail: &[u8]| [head, tail].concat();
    vec![
        (
            Frame::Hello { version: VERSION },
            b"\x01\0\0\0\x0adcudp-fp\0\x01".to_vec(),
        ),
        (
            Frame::Error {
                code: ErrorCode::NoSpace,
                message: "full".to_owned(),
            },
            b"\x02\0\0\0\x06\0\x07full".to_vec(),
        ),
        (Frame::Busy, b"\x03\0\0\0\0".to_vec()),
        (
            Frame::Put {
                size: 258,
                replace: true,
                name: name("a/b"),
            },
            b"\x10\0\0\0\x0c\0\0\0\0\0\0\x01\x02\x01a/b".to_vec(),
        ),
        (Frame::Get { name: name("x") }, b"\x11\0\0\0\x01x".to_vec()),
        (
            Frame::File { size: 1 },
            b"\x12\0\0\0\x08\0\0\0\0\0\0\0\x01".to_vec(),
        ),
        (
            Frame::Have { bytes: 2, hash },
            with(b"\x13\0\0\0\x28\0\0\0\0\0\0\0\x02", &hash),
        ),
        (
            Frame::Begin { offset: 3 },
            b"\x14\0\0\0\x08\0\0\0\0\0\0\0\x03".to_vec(),
        ),
        (
            Frame::Data(Bytes::from_static(b"data")),
            b"\x15\0\0\0\x04data".to_vec(),
        ),
        (Frame::End { hash }, with(b"\x16\0\0\0\x20", &hash)),
        (Frame::Done, b"\x17\0\0\0\0".to_vec()),
        (Frame::Ping(Bytes::new()), b"\x20\0\0\0\0".to_vec()),
        (
            Frame::Pong(Bytes::from_static(b"p")),
            b"\x21\0\0\0\x01p".to_vec(),
        ),
        (
            Frame::Bench(BenchRequest {
                direction: BenchDirection::Down,
                millis: 1000,
                rate: 5,
            }),
            b"\x22\0\0\0\x0d\x01\0\0\x03\xe8\0\0\0\0\0\0\0\x05".to_vec(),
        ),
        (
            Frame::Report(Report {
                bytes: 1,
                micros: 2,
                cpu_micros: 3,
            }),
            b"\x23\0\0\0\x18\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03".to_vec(),
        ),
    ]
}

#[test]
fn every_frame_has_the_bytes_of_its_page() {
    for (frame, bytes) in examples() {
        assert_eq!(wire(&frame), bytes, "{frame:?}");
        assert_eq!(decode(&bytes), Ok(Some(frame)));
    }
}

#[test]
fn a_part_of_a_frame_is_none_yet() {
    for (frame, bytes) in examples() {
        for cut in 0..bytes.len() {
            assert_eq!(decode(&bytes[..cut]), Ok(None), "{frame:?} cut at {cut}");
        }
    }
}

#[test]
fn another_length_is_an_error_before_the_body_is_there() {
    let too_many = [
        (0x01, 257),
        (0x02, 2 + MAX_MESSAGE + 1),
        (0x03, 1),
        (0x10, 9 + MAX_NAME + 1),
        (0x11, MAX_NAME + 1),
        (0x12, 9),
        (0x13, 41),
        (0x14, 9),
        (0x15, MAX_DATA + 1),
        (0x16, 33),
        (0x17, 1),
        (0x20, MAX_PING + 1),
        (0x21, MAX_PING + 1),
        (0x22, 14),
        (0x23, 25),
        (0x15, u32::MAX as usize),
    ];
    let too_few = [
        (0x01, 9),
        (0x02, 1),
        (0x10, 9),
        (0x11, 0),
        (0x12, 7),
        (0x13, 39),
        (0x14, 7),
        (0x15, 0),
        (0x16, 31),
        (0x22, 12),
        (0x23, 23),
    ];
    for (kind, length) in too_many.into_iter().chain(too_few) {
        let length = u32::try_from(length).unwrap();
        let header = [&[kind][..], &length.to_be_bytes()].concat();
        assert_eq!(decode(&header), Err(ProtocolError::Length { kind, length }));
    }
    for kind in
        (0..=255).filter(|kind| !(0x10..=0x17).contains(kind) && !(0x20..=0x23).contains(kind))
    {
        if (0x01..=0x03).contains(&kind) {
            continue;
        }
        assert_eq!(decode(&[kind, 0, 0, 0, 0]), Err(ProtocolError::Kind(kind)));
    }
}

#[test]
fn values_out_of_range_are_errors() {
    let value = |bytes: &[u8]| decode(bytes).unwrap_err();
    // A flag of 2.
    let put = b"\x10\0\0\0\x0a\0\0\0\0\0\0\0\0\x02x";
    assert_eq!(value(put), ProtocolError::Value(0x10));
    for millis in [0, MAX_BENCH_MILLIS + 1] {
        let millis = millis.to_be_bytes();
        let bench = [b"\x22\0\0\0\x0d\0", &millis[..], &[0; 8]].concat();
        assert_eq!(value(&bench), ProtocolError::Value(0x22));
    }
    assert_eq!(value(b"\x01\0\0\0\x0aHTTP/1.1\0\x01"), ProtocolError::Magic);
    assert_eq!(value(b"\x02\0\0\0\x03\0\x01\xff"), ProtocolError::Utf8);
    assert_eq!(value(b"\x11\0\0\0\x01\xff"), ProtocolError::Utf8);
    // Codes of a later version are no error.
    let later = Frame::Error {
        code: ErrorCode::Unknown(999),
        message: String::new(),
    };
    assert_eq!(decode(&wire(&later)), Ok(Some(later)));
}

#[test]
fn a_later_greeting_is_understood_as_far_as_its_version() {
    let later = b"\x01\0\0\0\x0ddcudp-fp\0\x02new";
    assert_eq!(decode(later), Ok(Some(Frame::Hello { version: 2 })));
}

#[test]
fn long_messages_are_cut_between_characters() {
    let message = "\u{e9}".repeat(MAX_MESSAGE);
    let long = Frame::Error {
        code: ErrorCode::Disk,
        message,
    };
    let Ok(Some(Frame::Error { message, .. })) = decode(&wire(&long)) else {
        panic!("no error frame");
    };
    assert_eq!(message, "\u{e9}".repeat(MAX_MESSAGE / 2));
}

#[test]
fn a_chunk_is_a_frame_of_data() {
    let filled = Chunk::fill(|space| {
        space[..4].copy_from_slice(b"data");
        Ok::<_, ()>(4)
    });
    let chunk = filled.unwrap().unwrap();
    assert_eq!(chunk.wire(), b"\x15\0\0\0\x04data");
    assert_eq!(chunk.len(), 4);
    assert!(Chunk::fill(|_| Ok::<_, ()>(0)).unwrap().is_none());
    let whole = Chunk::fill(|space| Ok::<_, ()>(space.len()))
        .unwrap()
        .unwrap();
    assert_eq!(whole.len(), MAX_DATA);
    assert!(
        matches!(decode(whole.wire()), Ok(Some(Frame::Data(bytes))) if bytes.len() == MAX_DATA)
    );
}

#[test]
fn names_lead_nowhere_else() {
    for good in [
        "a", "a/b/c", "..a", "a..", ".hidden", "a b", "\u{e9}", "C:x", "~", "-rf", "%2e%2e",
        "\u{5e9}",
    ] {
        assert_eq!(name(good).as_str(), good);
    }
    let part = |text: &str| NameError::Part(text.to_owned());
    let control = |text: &str| NameError::Control(text.to_owned());
    let hidden = |text: &str, c: char| NameError::Invisible(text.to_owned(), c);
    let wrong = [
        // Shown as "exe.jpg", and as two lines.
        ("exe\u{202e}gpj.", hidden("exe\u{202e}gpj.", '\u{202e}')),
        ("a\u{2028}b", hidden("a\u{2028}b", '\u{2028}')),
        ("a\u{2029}b", hidden("a\u{2029}b", '\u{2029}')),
        ("d\u{2066}/e", hidden("d\u{2066}/e", '\u{2066}')),
        ("a\u{200b}", hidden("a\u{200b}", '\u{200b}')),
        ("\u{feff}a", hidden("\u{feff}a", '\u{feff}')),
        ("a\u{85}b", control("a\u{85}b")),
        ("", NameError::Empty),
        ("/", NameError::Absolute("/".to_owned())),
        ("/etc/passwd", NameError::Absolute("/etc/passwd".to_owned())),
        ("..", part("..")),
        (".", part(".")),
        ("../a", part("../a")),
        ("a/../../b", part("a/../../b")),
        ("a/..", part("a/..")),
        ("a/./b", part("a/./b")),
        ("a//b", part("a//b")),
        ("a/", part("a/")),
        ("..\\a", NameError::Backslash("..\\a".to_owned())),
        ("C:\\a", NameError::Backslash("C:\\a".to_owned())),
        ("a\0b", control("a\0b")),
        ("a\nb", control("a\nb")),
        ("\x1b[2J", control("\x1b[2J")),
        (
            "x.dcudp-part",
            NameError::Unfinished("x.dcudp-part".to_owned()),
        ),
    ];
    for (text, error) in wrong {
        assert_eq!(Name::parse(text), Err(error));
    }
    // 255 bytes for a part, of which the suffix of the unfinished file takes 11.
    assert!(Name::parse(&"a".repeat(244)).is_ok());
    assert_eq!(Name::parse(&"a".repeat(245)), Err(NameError::Long));
    let long = "abc/".repeat(256) + "a";
    assert_eq!(Name::parse(&long), Err(NameError::Long));
    let deep = name("a/b/c.bin");
    assert_eq!(deep.directories().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((deep.base(), deep.to_base()), ("c.bin", name("c.bin")));
    assert_eq!(name("c.bin").directories().count(), 0);
}

#[test]
fn a_message_about_an_invisible_character_shows_it() {
    let message = Name::parse("exe\u{202e}gpj.").unwrap_err().to_string();
    assert_eq!(
        message,
        r#"the name "exe\u{202e}gpj." has an invisible character in it: U+202E"#
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2000)))]

    /// Nothing panics, nothing is kept beyond a frame, and after an error nothing more is asked.
    #[test]
    fn the_decoder_takes_anything(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..20)) {
        let mut decoder = Decoder::default();
        'stream: for piece in pieces {
            decoder.buffer().extend_from_slice(&piece);
            loop {
                match decoder.next_frame() {
                    Ok(Some(frame)) => prop_assert_eq!(decode(&wire(&frame)), Ok(Some(frame))),
                    Ok(None) => break,
                    Err(_) => break 'stream,
                }
            }
            prop_assert!(decoder.buffer().capacity() <= 2 * (MAX_DATA + 5) + 1024);
        }
    }

    /// A known type with a body of a length that it may have, and any bytes in it.
    #[test]
    fn bodies_of_any_bytes_are_frames_or_errors(
        kind in prop::sample::select(vec![1_u8, 2, 0x10, 0x11, 0x13, 0x15, 0x20, 0x22, 0x23]),
        body in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let length = u32::try_from(body.len()).unwrap();
        let bytes = [&[kind][..], &length.to_be_bytes(), &body].concat();
        if let Ok(frame) = decode(&bytes) {
            let frame = frame.expect("all its bytes are there");
            // But for what a later greeting adds, the same bytes come out again.
            if kind != 1 {
                prop_assert_eq!(wire(&frame), bytes);
            }
        }
    }

    /// However a stream is cut, the same frames come out.
    #[test]
    fn cuts_do_not_matter(order in prop::collection::vec(0..15_usize, 1..20), step in 1..50_usize) {
        let examples = examples();
        let frames: Vec<_> = order.iter().map(|&index| examples[index].0.clone()).collect();
        let stream: Vec<u8> = order.iter().flat_map(|&index| examples[index].1.clone()).collect();
        let (mut decoder, mut found) = (Decoder::default(), Vec::new());
        for piece in stream.chunks(step) {
            decoder.buffer().extend_from_slice(piece);
            while let Some(frame) = decoder.next_frame().unwrap() {
                found.push(frame);
            }
        }
        prop_assert!(decoder.is_empty());
        prop_assert_eq!(found, frames);
    }

    /// A name that passes stays below the directory that it counts from, whatever it is.
    #[test]
    fn names_that_pass_stay_inside(text in "[a./\\\\ \u{0}\u{1b}~:-]{0,12}") {
        if let Ok(name) = Name::parse(&text) {
            use std::path::{Component, Path};
            let plain = |part| matches!(part, Component::Normal(_));
            prop_assert!(Path::new(name.as_str()).components().all(plain));
            let parts = name.directories().count() + 1;
            prop_assert_eq!(Path::new(name.as_str()).components().count(), parts);
        }
    }
}
