//! Handshakes: twelve words, as the 4.11 library writes them, and DCUDP's extension in three of them.
//!
//! The library's server refuses a handshake of any other length. The extension therefore takes the last
//! three words of the peer's address, which UDT fills for IPv6 alone and does not use. A UDT 4 server
//! sends the client's words back, with some replaced. So an extension shows its writer: only an
//! [`Extension::Answer`], or the offer of another socket, comes from an endpoint with DCUDP. Handshakes
//! have UDT's layout in every dialect.

use super::{Number, WireError, word};

const WORDS: usize = 12;
/// Bytes of a handshake's body without extension.
pub(super) const BODY_BYTES: usize = 4 * WORDS;
/// "DCUD".
const MAGIC: u32 = 0x4443_5544;
/// The version of the extension, in the high half of its second word.
const EXTENSION_VERSION: u32 = 1;
/// The library's numbers of socket types. Some descriptions count from 0; the library refuses that.
const STREAM: u32 = 1;
const MESSAGE: u32 = 2;

/// The type of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SocketKind {
    /// One stream of bytes in each direction.
    #[default]
    Stream,
    /// Messages with borders.
    Message,
}

impl SocketKind {
    const fn code(self) -> u32 {
        match self {
            Self::Stream => STREAM,
            Self::Message => MESSAGE,
        }
    }
}

/// The connection type of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandshakeKind {
    /// 1: a client's request, or a server's cookie.
    Request,
    /// -1: a client returns the cookie, a server accepts, or a rendezvous has received its peer's
    /// handshake.
    Response,
    /// 0: a rendezvous has received nothing yet.
    Rendezvous,
    /// -2: the last word of a rendezvous.
    RendezvousDone,
    /// 1002: refused.
    Refused,
}

impl HandshakeKind {
    const fn code(self) -> i32 {
        match self {
            Self::Request => 1,
            Self::Response => -1,
            Self::Rendezvous => 0,
            Self::RendezvousDone => -2,
            Self::Refused => 1002,
        }
    }

    const fn from_code(code: i32) -> Result<Self, WireError> {
        match code {
            1 => Ok(Self::Request),
            -1 => Ok(Self::Response),
            0 => Ok(Self::Rendezvous),
            -2 => Ok(Self::RendezvousDone),
            1002 => Ok(Self::Refused),
            other => Err(WireError::HandshakeKind(other)),
        }
    }
}

/// DCUDP's words in a handshake: the magic "DCUD", `version (16) | role (16)`, and the socket id of
/// who wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Role 1: this socket supports DCUDP.
    Offer {
        /// The socket that offers.
        socket: u32,
    },
    /// Role 2: so does this one, and the connection will.
    Answer {
        /// The responding socket.
        socket: u32,
    },
}

impl Extension {
    /// Anything unknown is no extension, but an address.
    const fn parse([magic, role, socket]: [u32; 3]) -> Option<Self> {
        if magic != MAGIC {
            return None;
        }
        match (role >> 16, role & 0xFFFF) {
            (EXTENSION_VERSION, 1) => Some(Self::Offer { socket }),
            (EXTENSION_VERSION, 2) => Some(Self::Answer { socket }),
            _ => None,
        }
    }

    const fn words(self) -> [u32; 3] {
        let (role, socket) = match self {
            Self::Offer { socket } => (1, socket),
            Self::Answer { socket } => (2, socket),
        };
        [MAGIC, EXTENSION_VERSION << 16 | role, socket]
    }
}

/// The body of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// UDT's version.
    pub version: u32,
    /// The type of the socket.
    pub socket_kind: SocketKind,
    /// The number of the first data packet.
    pub first: Number,
    /// The largest packet, IP and UDP headers included.
    pub packet_size: u32,
    /// The largest flow window, in packets.
    pub flow_window: u32,
    /// Connection type.
    pub kind: HandshakeKind,
    /// The socket that sends it.
    pub socket: u32,
    /// The server's cookie, or 0.
    pub cookie: u32,
    /// The address to which it goes, as UDT writes it. With an extension the last three words are 0
    /// here.
    pub peer: [u32; 4],
    /// DCUDP's words, which take the place of the address's last three.
    pub extension: Option<Extension>,
}

impl Handshake {
    pub(super) fn parse(body: &[u8]) -> Result<Self, WireError> {
        let bytes = body.len();
        if bytes != BODY_BYTES {
            return Err(WireError::Body { kind: 0, bytes });
        }
        let at = |index| word(body, index).unwrap_or(0);
        let extension = Extension::parse([at(9), at(10), at(11)]);
        let socket_kind = match at(1) {
            STREAM => SocketKind::Stream,
            MESSAGE => SocketKind::Message,
            other => return Err(WireError::SocketKind(other)),
        };
        Ok(Self {
            version: at(0),
            socket_kind,
            first: Number::from_word(at(2)),
            packet_size: at(3),
            flow_window: at(4),
            kind: HandshakeKind::from_code(at(5).cast_signed())?,
            socket: at(6),
            cookie: at(7),
            peer: match extension {
                Some(_) => [at(8), 0, 0, 0],
                None => [at(8), at(9), at(10), at(11)],
            },
            extension,
        })
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let fields = [
            self.version,
            self.socket_kind.code(),
            self.first.word(),
            self.packet_size,
            self.flow_window,
            self.kind.code().cast_unsigned(),
            self.socket,
            self.cookie,
        ];
        super::put(out, &fields);
        match self.extension {
            Some(extension) => {
                super::put(out, &self.peer[..1]);
                super::put(out, &extension.words());
            }
            None => super::put(out, &self.peer),
        }
    }
}
