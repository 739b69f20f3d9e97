//! From the bytes of a stream to frames, without input and output.
//!
//! The bytes of a frame are buffered until it is complete, so each type has a limit. A length beyond it is
//! an error before the body arrives.

use std::ops::RangeInclusive;

use bytes::{Buf, Bytes, BytesMut};
use thiserror::Error;

use super::frame::{HEADER_BYTES, MAGIC, kind};
use super::{
    BenchDirection, BenchRequest, ErrorCode, Frame, Hash, MAX_BENCH_MILLIS, MAX_DATA, MAX_MESSAGE,
    MAX_NAME, MAX_PING, Name, NameError, Report,
};

/// The maximum length of a `Hello` frame of any version.
const MAX_HELLO: usize = 256;

/// Why bytes are no frame. The stream is of no use afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProtocolError {
    /// The peer's first bytes are not the magic number.
    #[error("the peer does not speak the file protocol of dcudp")]
    Magic,
    /// An unknown type.
    #[error("a frame of the unknown type {0:#04x}")]
    Kind(u8),
    /// More or fewer bytes than a frame of this type has.
    #[error("a frame of type {kind:#04x} with {length} bytes")]
    Length {
        /// The type.
        kind: u8,
        /// The length in its header.
        length: u32,
    },
    /// A name that may not be.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A string that is not UTF-8.
    #[error("a string that is not UTF-8")]
    Utf8,
    /// A flag or number outside its range.
    #[error("a frame of type {0:#04x} with a value out of range")]
    Value(u8),
}

/// Collects bytes, gives frames.
#[derive(Debug, Default)]
pub struct Decoder {
    buffer: BytesMut,
}

impl Decoder {
    /// Where bytes of the stream are added.
    pub const fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// Whether it stands between two frames.
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The next frame, once it is whole.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, ProtocolError> {
        let Some((header, rest)) = self.buffer.split_at_checked(HEADER_BYTES) else {
            return Ok(None);
        };
        let kind = header[0];
        let length = u32::from_be_bytes(header[1..].try_into().expect("four bytes"));
        let bytes = length as usize;
        if !limits(kind)?.contains(&bytes) {
            return Err(ProtocolError::Length { kind, length });
        }
        if rest.len() < bytes {
            self.buffer
                .reserve(HEADER_BYTES + bytes - self.buffer.len());
            return Ok(None);
        }
        self.buffer.advance(HEADER_BYTES);
        let body = self.buffer.split_to(bytes).freeze();
        parse(kind, body).map(Some)
    }
}

/// How many bytes a body may have.
const fn limits(kind: u8) -> Result<RangeInclusive<usize>, ProtocolError> {
    const HASH: usize = size_of::<Hash>();
    Ok(match kind {
        kind::HELLO => MAGIC.len() + 2..=MAX_HELLO,
        kind::ERROR => 2..=2 + MAX_MESSAGE,
        kind::BUSY | kind::DONE => 0..=0,
        kind::PUT => 8 + 1 + 1..=8 + 1 + MAX_NAME,
        kind::GET => 1..=MAX_NAME,
        kind::FILE | kind::BEGIN => 8..=8,
        kind::HAVE => 8 + HASH..=8 + HASH,
        kind::DATA => 1..=MAX_DATA,
        kind::END => HASH..=HASH,
        kind::PING | kind::PONG => 0..=MAX_PING,
        kind::BENCH => 1 + 4 + 8..=1 + 4 + 8,
        kind::REPORT => 3 * 8..=3 * 8,
        _ => return Err(ProtocolError::Kind(kind)),
    })
}

/// Reads a body whose length is within the limits of its type.
fn parse(kind: u8, mut body: Bytes) -> Result<Frame, ProtocolError> {
    Ok(match kind {
        kind::HELLO => {
            if body.split_to(MAGIC.len()) != MAGIC[..] {
                return Err(ProtocolError::Magic);
            }
            // A later version may add more; its number is where it was.
            Frame::Hello {
                version: body.get_u16(),
            }
        }
        kind::ERROR => Frame::Error {
            code: ErrorCode::from_number(body.get_u16()),
            message: text(&body)?.to_owned(),
        },
        kind::BUSY => Frame::Busy,
        kind::PUT => Frame::Put {
            size: body.get_u64(),
            replace: flag(kind, body.get_u8())?,
            name: Name::parse(text(&body)?)?,
        },
        kind::GET => Frame::Get {
            name: Name::parse(text(&body)?)?,
        },
        kind::FILE => Frame::File {
            size: body.get_u64(),
        },
        kind::HAVE => Frame::Have {
            bytes: body.get_u64(),
            hash: hash(&mut body),
        },
        kind::BEGIN => Frame::Begin {
            offset: body.get_u64(),
        },
        kind::DATA => Frame::Data(body),
        kind::END => Frame::End {
            hash: hash(&mut body),
        },
        kind::DONE => Frame::Done,
        kind::PING => Frame::Ping(body),
        kind::PONG => Frame::Pong(body),
        kind::BENCH => bench(&mut body)?,
        kind::REPORT => Frame::Report(Report {
            bytes: body.get_u64(),
            micros: body.get_u64(),
            cpu_micros: body.get_u64(),
        }),
        _ => return Err(ProtocolError::Kind(kind)),
    })
}

fn bench(body: &mut Bytes) -> Result<Frame, ProtocolError> {
    let direction = if flag(kind::BENCH, body.get_u8())? {
        BenchDirection::Down
    } else {
        BenchDirection::Up
    };
    let millis = body.get_u32();
    if millis == 0 || millis > MAX_BENCH_MILLIS {
        return Err(ProtocolError::Value(kind::BENCH));
    }
    Ok(Frame::Bench(BenchRequest {
        direction,
        millis,
        rate: body.get_u64(),
    }))
}

fn text(body: &[u8]) -> Result<&str, ProtocolError> {
    std::str::from_utf8(body).map_err(|_| ProtocolError::Utf8)
}

const fn flag(kind: u8, value: u8) -> Result<bool, ProtocolError> {
    match value {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(ProtocolError::Value(kind)),
    }
}

fn hash(body: &mut Bytes) -> Hash {
    let mut hash = Hash::default();
    body.copy_to_slice(&mut hash);
    hash
}
