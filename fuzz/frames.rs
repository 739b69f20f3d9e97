//! The fuzz target `dcudp_frames`: a peer's bytes on the stream of a connection, in pieces of one length, read
//! by the file protocol of `dcudp`. The tests of `incastle-dcudp` call the same function.

use std::path::{Component, Path};

use bytes::BytesMut;
use incastle_dcudp::error::Failure;
use incastle_dcudp::protocol::{Decoder, Frame, MAX_DATA, Name, ProtocolError};

/// Type and length of a frame.
const HEADER_BYTES: usize = 5;
/// Maximum buffer of a decoder: an incomplete frame, and the bytes received with it.
const MAX_KEPT: usize = 2 * (MAX_DATA + HEADER_BYTES) + 1024;

/// The frames of a stream, and its error.
#[derive(Debug, PartialEq, Eq)]
struct Decoded {
    frames: Vec<Frame>,
    error: Option<ProtocolError>,
}

fn decoded(stream: &[u8], piece: usize) -> Decoded {
    let mut decoder = Decoder::default();
    let mut frames = Vec::new();
    for bytes in stream.chunks(piece) {
        decoder.buffer().extend_from_slice(bytes);
        loop {
            match decoder.next_frame() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    let error = Some(error);
                    return Decoded { frames, error };
                }
            }
        }
        assert!(decoder.buffer().capacity() <= MAX_KEPT.max(2 * piece));
    }
    let error = None;
    Decoded { frames, error }
}

/// A stream holds the same frames and ends in the same error, however it is cut. A frame encodes to its
/// original bytes. Names stay below their directory. No message moves a terminal's cursor.
pub(crate) fn frames(input: &[u8]) {
    let Some((&piece, stream)) = input.split_first() else {
        return;
    };
    let whole = decoded(stream, stream.len().max(1));
    assert_eq!(decoded(stream, usize::from(piece) + 1), whole);
    let mut rest = stream;
    for frame in &whole.frames {
        rest = behind(frame, rest);
        check_frame(frame);
    }
    if let Some(error) = whole.error {
        assert!(rest.len() >= HEADER_BYTES);
        shown(&Failure::from(error));
    }
}

/// The rest of the stream behind a frame.
fn behind<'a>(frame: &Frame, stream: &'a [u8]) -> &'a [u8] {
    let (header, rest) = stream.split_at(HEADER_BYTES);
    let length = u32::from_be_bytes(header[1..].try_into().expect("four bytes"));
    let (body, rest) = rest.split_at(length as usize);
    let mut wire = BytesMut::new();
    frame.encode(&mut wire);
    if matches!(frame, Frame::Hello { .. }) {
        // A later version may have more fields.
        assert!(body.starts_with(&wire[HEADER_BYTES..]));
    } else {
        assert_eq!(
            (&wire[..HEADER_BYTES], &wire[HEADER_BYTES..]),
            (header, body)
        );
    }
    rest
}

fn check_frame(frame: &Frame) {
    match frame {
        Frame::Put { name, .. } | Frame::Get { name } => inside(name),
        Frame::Error { code, message } => shown(&Failure::There {
            code: *code,
            message: message.clone(),
        }),
        _ => {}
    }
}

/// A name stays below the directory that it counts from.
fn inside(name: &Name) {
    let parts = Path::new(name.as_str()).components();
    let mut plain = parts.filter(|part| matches!(part, Component::Normal(_)));
    for directory in name.directories() {
        assert_eq!(plain.next(), Some(Component::Normal(directory.as_ref())));
    }
    assert_eq!(plain.next(), Some(Component::Normal(name.base().as_ref())));
    assert_eq!(plain.next(), None);
    assert_eq!(
        Path::new(name.as_str()).components().count(),
        name.directories().count() + 1
    );
}

/// A peer's message as a user reads it: no control characters.
fn shown(failure: &Failure) {
    assert!(!failure.to_string().contains(char::is_control));
}
