//! The wire format of UDT 4 (draft-gg-udt-03, section 3; its handshake is that of the 4.11 library) and
//! DCUDP's additions. Bit by bit in docs/models/dcudp-wire.md.
//!
//! A datagram is parsed without copying: its header becomes a typed, `Copy` [`Packet`]; [`ControlBody`] and
//! payload stay in the datagram. Everything that a header can hold is checked here; checks against the
//! connection (windows, known numbers) are made there. Leaves out: composite messages of user-defined
//! types, which UDT reserves and does not use.

mod control;
mod data;
mod handshake;
mod losses;
pub mod sequence;

use thiserror::Error;

use sequence::Number;

pub use control::{AccurateAck, AckCounts, AckReport, Control, ControlHeader};
pub use data::{DataHeader, Place, max_message};
pub use handshake::{AckRate, Extension, Handshake, HandshakeKind, SocketKind};
pub use losses::{Losses, NumberRange};

/// Bytes of a header, of data and of UDT's control packets alike.
pub const HEADER_BYTES: usize = 16;
/// Bytes of a control packet's header under DCUDP, its own sequence number included.
pub const DCUDP_CONTROL_BYTES: usize = 20;
/// Bytes of an IPv4 and a UDP header, which UDT's packet sizes include.
pub const IP_UDP_BYTES: u32 = 28;
/// The UDT version of this implementation.
pub const VERSION: u32 = 4;

/// The layout of headers, settled by the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// UDT 4.
    #[default]
    Udt,
    /// UDT 4 with OBS, CWR, ECE and numbered control packets.
    Dcudp,
    /// UDT 4 with accurate ACKs.
    Accurate,
}

/// The content of a datagram's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// Microseconds since the sender's connection began; wraps.
    pub timestamp: u32,
    /// The socket for which it is; 0 for a listener.
    pub destination: u32,
    /// Data or control.
    pub content: Content,
}

// Small enough to lie by value in a simulated link.
const _: () = assert!(size_of::<Packet>() <= 48);

/// The two kinds of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A data packet, without its payload.
    Data(DataHeader),
    /// A control packet.
    Control(ControlHeader),
}

/// The body of a control packet, which does not fit into [`Packet`].
#[derive(Debug, Clone, Copy)]
pub enum ControlBody<'a> {
    /// Nothing (or a payload, which a connection never looks at).
    Empty,
    /// The losses that a NAK reports.
    Losses(Losses<'a>),
    /// The body of a handshake.
    Handshake(&'a Handshake),
}

/// A parsed datagram.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The header.
    pub packet: Packet,
    /// The body of a NAK; empty otherwise.
    pub losses: Option<Losses<'a>>,
    /// The body of a handshake.
    pub handshake: Option<Handshake>,
    /// The payload of a data packet.
    pub payload: &'a [u8],
}

impl View<'_> {
    /// The body of the packet.
    pub fn body(&self) -> ControlBody<'_> {
        match (&self.losses, &self.handshake) {
            (Some(losses), _) => ControlBody::Losses(*losses),
            (None, Some(handshake)) => ControlBody::Handshake(handshake),
            (None, None) => ControlBody::Empty,
        }
    }
}

/// Why a datagram is not a packet. Each kind has a number, by which it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WireError {
    /// Shorter than its header.
    #[error("a datagram of {0} bytes is shorter than a header")]
    Short(usize),
    /// A data packet without data.
    #[error("a data packet without data")]
    NoData,
    /// More payload than the field of a length takes.
    #[error("a payload of {0} bytes")]
    Long(usize),
    /// A control packet whose body has no length of its type.
    #[error("a control packet of type {kind} with a body of {bytes} bytes")]
    Body {
        /// The packet's type.
        kind: u16,
        /// The body's length.
        bytes: usize,
    },
    /// A type that does not exist, or not in this dialect.
    #[error("an unknown control packet, type {kind}, subtype {subtype}")]
    Unknown {
        /// The packet's type.
        kind: u16,
        /// Its user-defined type.
        subtype: u16,
    },
    /// A loss list whose ranges do not open and close, or run backwards.
    #[error("a damaged loss list")]
    Losses,
    /// A drop request whose range runs backwards.
    #[error("a drop request from {0} back to {1}")]
    Drop(u32, u32),
    /// A socket type that is neither stream nor datagram.
    #[error("socket type {0}")]
    SocketKind(u32),
    /// A connection type that does not exist.
    #[error("connection type {0}")]
    HandshakeKind(i32),
}

/// Kinds of [`WireError`].
pub const WIRE_ERRORS: usize = 9;

impl WireError {
    /// The number of this kind of error, below [`WIRE_ERRORS`].
    pub const fn index(&self) -> usize {
        match self {
            Self::Short(_) => 0,
            Self::NoData => 1,
            Self::Long(_) => 2,
            Self::Body { .. } => 3,
            Self::Unknown { .. } => 4,
            Self::Losses => 5,
            Self::Drop(..) => 6,
            Self::SocketKind(_) => 7,
            Self::HandshakeKind(_) => 8,
        }
    }
}

/// The socket for which a datagram is, by which its connection and so its dialect are found.
pub fn destination(datagram: &[u8]) -> Result<u32, WireError> {
    word(datagram, 3).ok_or(WireError::Short(datagram.len()))
}

/// The sequence number of a data packet; nothing where it is none.
pub fn data_sequence(datagram: &[u8]) -> Option<Number> {
    let first = word(datagram, 0).filter(|first| first >> 31 == 0);
    first.map(number)
}

/// Parses a datagram. Never panics, never reads beyond it.
pub fn parse(datagram: &[u8], dialect: Dialect) -> Result<View<'_>, WireError> {
    let short = WireError::Short(datagram.len());
    let (header, body) = datagram.split_at_checked(HEADER_BYTES).ok_or(short)?;
    let words = [0, 1, 2, 3].map(|index| word(header, index).unwrap_or(0));
    if words[0] >> 31 == 0 {
        data::parse(words, body, dialect)
    } else {
        control::parse(words, body, dialect)
    }
}

/// Writes a packet, with its body or payload, to the end of `out`.
///
/// Panics where the two do not belong together: a NAK without losses, a payload whose length differs
/// from the header's.
pub fn write(
    packet: &Packet,
    body: ControlBody<'_>,
    payload: &[u8],
    dialect: Dialect,
    out: &mut Vec<u8>,
) {
    match &packet.content {
        Content::Data(header) => {
            assert_eq!(payload.len(), usize::from(header.length), "a whole payload");
            out.extend_from_slice(&data_header(packet, header, dialect));
            out.extend_from_slice(payload);
        }
        Content::Control(header) => {
            let [first, second] = header.words(dialect);
            put(out, &[first, second, packet.timestamp, packet.destination]);
            control::write_body(header, body, dialect, out);
        }
    }
}

/// The bytes of a data packet before its payload.
pub fn data_header(packet: &Packet, header: &DataHeader, dialect: Dialect) -> [u8; HEADER_BYTES] {
    let [first, second] = header.words(dialect);
    let mut bytes = [0; HEADER_BYTES];
    let words = [first, second, packet.timestamp, packet.destination];
    for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bytes
}

impl Packet {
    /// Bytes of UDP payload that the packet takes on the wire.
    pub fn wire_bytes(&self, body: ControlBody<'_>, dialect: Dialect) -> usize {
        match &self.content {
            Content::Data(header) => HEADER_BYTES + usize::from(header.length),
            Content::Control(header) => HEADER_BYTES + header.body_bytes(body, dialect),
        }
    }
}

/// Word `index` of a big-endian sequence of 32-bit words.
fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let bytes = bytes.get(4 * index..4 * index + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn put(out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        out.extend_from_slice(&word.to_be_bytes());
    }
}

/// A number in a word whose top bit means nothing.
const fn number(word: u32) -> Number {
    Number::from_word(word)
}
