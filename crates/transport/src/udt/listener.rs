//! A server before there is a connection: it responds to a request with a cookie and keeps no
//! state. An endpoint that returns the cookie can receive at the address that it claims.
//!
//! The library's cookie has no secret. Ours is SipHash-2-4 under a key from outside, of address, port,
//! the peer's socket and first number, and the minute. It holds for one to two minutes. A response is
//! never longer than its request. Leaves out: the number of connections of a peer, which the owner of
//! the connections limits. [`Connection::handle`](super::Connection::handle) responds to a repeated
//! request (same address and socket).

use std::hash::Hasher;

use incastle_units::{Span, Time};
use siphasher::sip::SipHasher24;

use super::config::{Config, MAX_FLOW_WINDOW, MIN_PACKET_SIZE, Protocol};
use super::sequence::Number;
use super::wire::{
    AckRate, Content, Control, ControlHeader, Dialect, Extension, Handshake, HandshakeKind, Packet,
    VERSION,
};

/// The time for which a cookie is issued.
const COOKIE_PERIOD: Span = Span::from_secs(60);

/// The source of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PeerAddress {
    /// An IPv6 address, or an IPv4 address mapped into one; in a simulation any number.
    pub ip: [u8; 16],
    /// The UDP port.
    pub port: u16,
}

/// A peer that returned its cookie: the argument of
/// [`Connection::server`](super::Connection::server).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Incoming {
    /// The peer's socket.
    pub(super) socket: u32,
    /// The first number, of both directions (the library uses the client's).
    pub(super) first: Number,
    /// The packet size that it proposes.
    pub(super) packet_size: u32,
    /// The flow window that it proposes.
    pub(super) flow_window: u32,
    /// The dialect agreed.
    pub(super) dialect: Dialect,
    /// The rate of accurate ACKs that it requests.
    pub(super) ack_rate: AckRate,
}

/// The part of an endpoint in a handshake, by which it recognises its peer's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A client expects the server's answer to its own offer.
    Client,
    /// A server takes any offer that it supports.
    Server,
    /// Both endpoints of a rendezvous offer the same.
    Rendezvous,
}

impl Incoming {
    /// The peer that sent a handshake; its extension selects the dialect, if this endpoint supports it.
    pub(super) fn new(config: &Config, handshake: &Handshake, role: Role) -> Self {
        let (dialect, ack_rate) = agreed(config, handshake, role);
        Self {
            socket: handshake.socket,
            first: handshake.first,
            packet_size: handshake.packet_size,
            flow_window: handshake.flow_window,
            dialect,
            ack_rate: ack_rate.unwrap_or_default(),
        }
    }

    /// The peer's socket, by which, with its address, repeated requests are known.
    pub const fn socket(&self) -> u32 {
        self.socket
    }

    /// The dialect agreed.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }
}

/// The dialect of a connection, and the peer's rate of accurate ACKs. An extension that another socket wrote
/// is a plain UDT peer's, which returns the words that it received.
fn agreed(config: &Config, handshake: &Handshake, role: Role) -> (Dialect, Option<AckRate>) {
    let dcudp = matches!(config.protocol, Protocol::Dcudp(_));
    let accurate = config.accurate.is_some() && (role == Role::Server || !dcudp);
    let is_client = role == Role::Client;
    match handshake.extension {
        Some(Extension::Offer { socket }) if dcudp && !is_client && socket == handshake.socket => {
            (Dialect::Dcudp, None)
        }
        Some(Extension::Answer { socket }) if dcudp && is_client && socket == handshake.socket => {
            (Dialect::Dcudp, None)
        }
        Some(Extension::AccurateOffer { socket, rate })
            if accurate && !is_client && socket == handshake.socket =>
        {
            (Dialect::Accurate, Some(rate))
        }
        Some(Extension::AccurateAnswer { socket, rate })
            if accurate && is_client && socket == handshake.socket =>
        {
            (Dialect::Accurate, Some(rate))
        }
        _ => (Dialect::Udt, None),
    }
}

/// The response to a datagram without a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Response {
    /// Send this back.
    Reply(Packet, Handshake),
    /// Make a connection, unless there is one for that address and socket.
    Accept(Incoming),
    /// Count it and forget it.
    Ignore,
}

/// Responds to requests.
#[derive(Debug, Clone)]
pub struct Listener {
    config: Config,
    key: [u8; 16],
}

impl Listener {
    /// A listener for connections of that configuration. The key must be random and kept secret.
    /// Panics where [`Config::check`] finds a mistake.
    pub fn new(config: &Config, key: [u8; 16]) -> Self {
        assert_eq!(config.check(), Ok(()), "a checked configuration");
        Self {
            config: *config,
            key,
        }
    }

    /// A handshake for socket 0 arrived.
    pub fn handle(
        &self,
        now: Time,
        peer: PeerAddress,
        packet: &Packet,
        request: &Handshake,
    ) -> Response {
        if packet.destination != 0 || request.socket == 0 {
            return Response::Ignore;
        }
        match request.kind {
            HandshakeKind::Request => {
                let cookie = self.cookie(minute(now), peer, request);
                reply(packet, request, HandshakeKind::Request, cookie)
            }
            HandshakeKind::Response if self.returns_cookie(now, peer, request) => {
                self.accept(packet, request)
            }
            _ => Response::Ignore,
        }
    }

    fn returns_cookie(&self, now: Time, peer: PeerAddress, request: &Handshake) -> bool {
        let minute = minute(now);
        let minutes = [Some(minute), minute.checked_sub(1)];
        let mut valid = minutes.iter().flatten();
        valid.any(|minute| self.cookie(*minute, peer, request) == request.cookie)
    }

    fn accept(&self, packet: &Packet, request: &Handshake) -> Response {
        let possible = request.version == VERSION
            && request.socket_kind == self.config.socket_kind
            && request.packet_size >= MIN_PACKET_SIZE
            && (1..1 << 31).contains(&request.flow_window);
        if !possible {
            return reply(packet, request, HandshakeKind::Refused, request.cookie);
        }
        Response::Accept(Incoming {
            flow_window: request.flow_window.min(MAX_FLOW_WINDOW),
            ..Incoming::new(&self.config, request, Role::Server)
        })
    }

    fn cookie(&self, minute: u64, peer: PeerAddress, request: &Handshake) -> u32 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        hasher.write(&minute.to_be_bytes());
        hasher.write(&peer.ip);
        hasher.write(&peer.port.to_be_bytes());
        hasher.write(&request.socket.to_be_bytes());
        hasher.write(&request.first.word().to_be_bytes());
        // 0 stands for none.
        (hasher.finish() as u32).max(1)
    }
}

fn minute(now: Time) -> u64 {
    now.as_ps() / COOKIE_PERIOD.as_ps()
}

/// The request, sent back with another kind and cookie, as the library does.
fn reply(packet: &Packet, request: &Handshake, kind: HandshakeKind, cookie: u32) -> Response {
    let reply = Packet {
        timestamp: packet.timestamp,
        destination: request.socket,
        content: Content::Control(ControlHeader {
            observe: false,
            number: Number::default(),
            control: Control::Handshake,
        }),
    };
    let handshake = Handshake {
        kind,
        cookie,
        version: VERSION,
        extension: None,
        ..*request
    };
    Response::Reply(reply, handshake)
}
