//! Handshakes: twelve words, as the 4.11 library writes them, and DCUDP's extension in three of them.
//!
//! The library's server refuses a handshake of any other length. The extension therefore takes the last
//! three words of the peer's address, which UDT fills for IPv6 alone and does not use. A UDT 4 server
//! sends the client's words back, with some replaced. So an extension shows its writer: only an
//! [`Extension::Answer`], or the offer of another socket, comes from an endpoint with DCUDP. Handshakes
//! have UDT's layout in every dialect.
//!
//! Accurate acknowledgements are offered in the same words, under another magic. Their second word has the
//! rate at which the peer is to acknowledge.

use super::{Number, WireError, word};

const WORDS: usize = 12;
/// Bytes of a handshake's body without extension.
pub(super) const BODY_BYTES: usize = 4 * WORDS;
/// "DCUD".
const MAGIC: u32 = 0x4443_5544;
/// "ACKS": accurate acknowledgements.
const ACCURATE_MAGIC: u32 = 0x4143_4B53;
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

/// How often a peer is to acknowledge: after this many packets, or this part of a round-trip time after the
/// first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckRate {
    /// Packets with one acknowledgement, at least 1.
    pub packets: u8,
    /// Parts of a round-trip time, at least 1: 4 stands for a quarter.
    pub per_rtt: u8,
}

impl Default for AckRate {
    /// Every second packet, as TCP does (RFC 9293, section 3.8.6.3), and at the latest after a quarter of a
    /// round-trip time.
    fn default() -> Self {
        Self {
            packets: 2,
            per_rtt: 4,
        }
    }
}

impl AckRate {
    /// Whether both numbers are at least 1.
    pub const fn is_possible(self) -> bool {
        self.packets > 0 && self.per_rtt > 0
    }
}

/// The words of an extension in a handshake. DCUDP's: the magic "DCUD", `version (16) | role (16)`, and the
/// socket id of who wrote them. Accurate acknowledgements: the magic "ACKS", `version (8) | role (8) |
/// packets (8) | parts of a round trip (8)`, and that socket id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// Role 1: this socket supports accurate acknowledgements.
    AccurateOffer {
        /// The socket that offers.
        socket: u32,
        /// The rate that it requests.
        rate: AckRate,
    },
    /// Role 2: so does this one, and the connection will have them.
    AccurateAnswer {
        /// The responding socket.
        socket: u32,
        /// The rate that it requests.
        rate: AckRate,
    },
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
        if magic == ACCURATE_MAGIC {
            return Self::parse_accurate(role, socket);
        }
        if magic != MAGIC {
            return None;
        }
        match (role >> 16, role & 0xFFFF) {
            (EXTENSION_VERSION, 1) => Some(Self::Offer { socket }),
            (EXTENSION_VERSION, 2) => Some(Self::Answer { socket }),
            _ => None,
        }
    }

    const fn parse_accurate(word: u32, socket: u32) -> Option<Self> {
        let [version, role, packets, per_rtt] = word.to_be_bytes();
        let rate = AckRate { packets, per_rtt };
        if !rate.is_possible() {
            return None;
        }
        match (version as u32, role) {
            (EXTENSION_VERSION, 1) => Some(Self::AccurateOffer { socket, rate }),
            (EXTENSION_VERSION, 2) => Some(Self::AccurateAnswer { socket, rate }),
            _ => None,
        }
    }

    const fn words(self) -> [u32; 3] {
        let (role, socket) = match self {
            Self::Offer { socket } => (1, socket),
            Self::Answer { socket } => (2, socket),
            Self::AccurateOffer { socket, rate } => return accurate_words(1, socket, rate),
            Self::AccurateAnswer { socket, rate } => return accurate_words(2, socket, rate),
        };
        [MAGIC, EXTENSION_VERSION << 16 | role, socket]
    }
}

const fn accurate_words(role: u8, socket: u32, rate: AckRate) -> [u32; 3] {
    let AckRate { packets, per_rtt } = rate;
    let word = u32::from_be_bytes([EXTENSION_VERSION as u8, role, packets, per_rtt]);
    [ACCURATE_MAGIC, word, socket]
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
    /// An extension's words, which take the place of the address's last three.
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
