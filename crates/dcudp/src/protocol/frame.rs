//! The frames, and how they are written.
//!
//! A frame is `type (8) | length of its body (32) | body`, every number big-endian.

use bytes::{BufMut, Bytes, BytesMut};

use super::Name;

/// The version of this protocol. There is one so far; another one is refused with a message.
pub const VERSION: u16 = 1;
/// The magic number that each endpoint sends first, before its version.
pub(super) const MAGIC: &[u8; 8] = b"dcudp-fp";

/// Bytes of type and length.
pub(super) const HEADER_BYTES: usize = 5;
/// The maximum bytes of a file in one frame.
pub const MAX_DATA: usize = 256 * 1024;
/// The maximum bytes of an error message.
pub const MAX_MESSAGE: usize = 1024;
/// The maximum bytes of a ping.
pub const MAX_PING: usize = 64 * 1024;
/// The longest measurement: a day.
pub const MAX_BENCH_MILLIS: u32 = 24 * 3600 * 1000;

/// A BLAKE3 hash.
pub type Hash = [u8; 32];

/// The kind of an error, for programs; the message that accompanies it is for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The peer has another version.
    Version,
    /// A frame that is malformed, or not one that is due now.
    Protocol,
    /// A name that this protocol does not carry.
    Name,
    /// There is no such file.
    NotFound,
    /// There is another file of this name.
    Exists,
    /// Not allowed: permissions, a directory that is served read-only, a symbolic link.
    Denied,
    /// The disk is full, or a limit of the system on sizes was reached.
    NoSpace,
    /// The file changed, or became shorter, while it was sent.
    Changed,
    /// The hashes differ.
    Corrupt,
    /// Someone else is busy with this file, or the server with too many.
    Busy,
    /// Reading or writing failed for another reason.
    Disk,
    /// This server does not do that.
    Unsupported,
    /// The peer was stopped by its user.
    Stopped,
    /// A code of a later version.
    Unknown(u16),
}

const CODES: [(ErrorCode, u16); 13] = [
    (ErrorCode::Version, 1),
    (ErrorCode::Protocol, 2),
    (ErrorCode::Name, 3),
    (ErrorCode::NotFound, 4),
    (ErrorCode::Exists, 5),
    (ErrorCode::Denied, 6),
    (ErrorCode::NoSpace, 7),
    (ErrorCode::Changed, 8),
    (ErrorCode::Corrupt, 9),
    (ErrorCode::Busy, 10),
    (ErrorCode::Disk, 11),
    (ErrorCode::Unsupported, 12),
    (ErrorCode::Stopped, 13),
];

impl ErrorCode {
    fn number(self) -> u16 {
        if let Self::Unknown(number) = self {
            return number;
        }
        let found = CODES.iter().find(|(code, _)| *code == self);
        found.expect("every code has its number").1
    }

    pub(super) fn from_number(number: u16) -> Self {
        let found = CODES.iter().find(|(_, known)| *known == number);
        found.map_or(Self::Unknown(number), |(code, _)| *code)
    }
}

/// The sender of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchDirection {
    /// The client, to the server.
    Up,
    /// The server, to the client.
    Down,
}

/// The measurement that a client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchRequest {
    /// The sender.
    pub direction: BenchDirection,
    /// How long.
    pub millis: u32,
    /// The most bits per second, 0 for no limit.
    pub rate: u64,
}

/// The receiver's counts of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Bytes of payload.
    pub bytes: u64,
    /// Microseconds from the first of them to the end.
    pub micros: u64,
    /// Processor time of the whole process meanwhile, in microseconds.
    pub cpu_micros: u64,
}

/// One frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// The first frame of both endpoints.
    Hello {
        /// The version of this endpoint.
        version: u16,
    },
    /// Something went wrong. In the middle of a file it ends that file, not the connection.
    Error {
        /// For programs.
        code: ErrorCode,
        /// For people, in UTF-8.
        message: String,
    },
    /// The sender of this frame works on something long (a hash, a disk) and is well.
    Busy,
    /// The client has a file for the server.
    Put {
        /// Its length in bytes.
        size: u64,
        /// Whether it may take the place of another file.
        replace: bool,
        /// The name it receives.
        name: Name,
    },
    /// The client requests a file.
    Get {
        /// Its name.
        name: Name,
    },
    /// The server has it.
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// The part of the file that the receiver has.
    Have {
        /// How many bytes from its beginning.
        bytes: u64,
        /// Their hash.
        hash: Hash,
    },
    /// The file's bytes follow.
    Begin {
        /// From here on: 0, or what the receiver has.
        offset: u64,
    },
    /// A part of the file: never empty.
    Data(Bytes),
    /// The last byte was sent.
    End {
        /// The hash of the whole file, whatever part of it was sent.
        hash: Hash,
    },
    /// The receiver has the whole file, under its name, on the disk.
    Done,
    /// To be sent back.
    Ping(Bytes),
    /// The payload of a ping, returned.
    Pong(Bytes),
    /// The client requests a measurement.
    Bench(BenchRequest),
    /// The receiver's report at the end of a measurement.
    Report(Report),
}

/// The types on the wire.
pub(super) mod kind {
    pub(in super::super) const HELLO: u8 = 0x01;
    pub(in super::super) const ERROR: u8 = 0x02;
    pub(in super::super) const BUSY: u8 = 0x03;
    pub(in super::super) const PUT: u8 = 0x10;
    pub(in super::super) const GET: u8 = 0x11;
    pub(in super::super) const FILE: u8 = 0x12;
    pub(in super::super) const HAVE: u8 = 0x13;
    pub(in super::super) const BEGIN: u8 = 0x14;
    pub(in super::super) const DATA: u8 = 0x15;
    pub(in super::super) const END: u8 = 0x16;
    pub(in super::super) const DONE: u8 = 0x17;
    pub(in super::super) const PING: u8 = 0x20;
    pub(in super::super) const PONG: u8 = 0x21;
    pub(in super::super) const BENCH: u8 = 0x22;
    pub(in super::super) const REPORT: u8 = 0x23;
}

impl Frame {
    /// Writes the frame to the end of `out`.
    pub fn encode(&self, out: &mut BytesMut) {
        let start = out.len();
        out.put_u8(self.kind());
        out.put_u32(0);
        self.encode_body(out);
        let length = out.len() - start - HEADER_BYTES;
        out[start + 1..start + HEADER_BYTES].copy_from_slice(&length_bytes(length));
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => kind::HELLO,
            Self::Error { .. } => kind::ERROR,
            Self::Busy => kind::BUSY,
            Self::Put { .. } => kind::PUT,
            Self::Get { .. } => kind::GET,
            Self::File { .. } => kind::FILE,
            Self::Have { .. } => kind::HAVE,
            Self::Begin { .. } => kind::BEGIN,
            Self::Data(_) => kind::DATA,
            Self::End { .. } => kind::END,
            Self::Done => kind::DONE,
            Self::Ping(_) => kind::PING,
            Self::Pong(_) => kind::PONG,
            Self::Bench(_) => kind::BENCH,
            Self::Report(_) => kind::REPORT,
        }
    }

    fn encode_body(&self, out: &mut BytesMut) {
        match self {
            Self::Hello { version } => {
                out.put_slice(MAGIC);
                out.put_u16(*version);
            }
            Self::Error { code, message } => {
                out.put_u16(code.number());
                out.put_slice(shortened(message).as_bytes());
            }
            Self::Busy | Self::Done => {}
            Self::Put {
                size,
                replace,
                name,
            } => {
                out.put_u64(*size);
                out.put_u8(u8::from(*replace));
                out.put_slice(name.as_str().as_bytes());
            }
            Self::Get { name } => out.put_slice(name.as_str().as_bytes()),
            Self::File { size } => out.put_u64(*size),
            Self::Have { bytes, hash } => {
                out.put_u64(*bytes);
                out.put_slice(hash);
            }
            Self::Begin { offset } => out.put_u64(*offset),
            Self::Data(bytes) | Self::Ping(bytes) | Self::Pong(bytes) => out.put_slice(bytes),
            Self::End { hash } => out.put_slice(hash),
            Self::Bench(wanted) => {
                out.put_u8(u8::from(wanted.direction == BenchDirection::Down));
                out.put_u32(wanted.millis);
                out.put_u64(wanted.rate);
            }
            Self::Report(report) => {
                out.put_u64(report.bytes);
                out.put_u64(report.micros);
                out.put_u64(report.cpu_micros);
            }
        }
    }
}

/// At most [`MAX_MESSAGE`] bytes of a text, cut between characters.
fn shortened(message: &str) -> &str {
    let end = (0..=message.len().min(MAX_MESSAGE))
        .rev()
        .find(|&end| message.is_char_boundary(end));
    &message[..end.unwrap_or(0)]
}

fn length_bytes(length: usize) -> [u8; 4] {
    u32::try_from(length)
        .expect("a body is shorter than 4 GB")
        .to_be_bytes()
}

/// A data frame that is filled in place. The header precedes the bytes, so that one write sends both
/// without a copy.
pub struct Chunk {
    buffer: Vec<u8>,
}

impl Chunk {
    /// Has `fill` write bytes of data, at most [`MAX_DATA`], and give how many; `None` where there
    /// were none.
    pub fn fill<E>(fill: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<Option<Self>, E> {
        let mut buffer = vec![0; HEADER_BYTES + MAX_DATA];
        let count = fill(&mut buffer[HEADER_BYTES..])?;
        if count == 0 {
            return Ok(None);
        }
        buffer.truncate(HEADER_BYTES + count);
        buffer[0] = kind::DATA;
        buffer[1..HEADER_BYTES].copy_from_slice(&length_bytes(count));
        Ok(Some(Self { buffer }))
    }

    /// The encoded bytes.
    pub fn wire(&self) -> &[u8] {
        &self.buffer
    }

    /// How many bytes of data.
    pub fn len(&self) -> usize {
        self.buffer.len() - HEADER_BYTES
    }

    /// Never: a frame of data without data is malformed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
