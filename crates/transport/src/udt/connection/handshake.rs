//! Opening a connection (draft-gg-udt-03, section 4; the library's details). A client sends a request,
//! returns the server's cookie and is accepted. Two endpoints of a rendezvous send 0 until they receive
//! the other's, then -1 until they receive that, then -2.
//!
//! Every repeat has a response. A handshake is refused that neither repeats our own random first
//! number nor is for our own random socket. The client's round trip is measured; the server's by the
//! keep-alive that a DCUDP client sends immediately after. Leaves out: a change of the peer's
//! address.

use incastle_units::Time;

use super::super::config::{Config, MIN_PACKET_SIZE, Protocol};
use super::super::listener::{Incoming, Role};
use super::super::sequence::Number;
use super::super::wire::{Dialect, Extension, Handshake, HandshakeKind, VERSION};

/// An endpoint's identity. Both numbers must be random where peers are not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its socket, from 1 to 2^31 - 1: the library delivers to no other.
    pub socket: u32,
    /// The number of its first data packet. A server uses its client's instead.
    pub first: Number,
}

/// An endpoint that has no peer yet.
#[derive(Debug, Clone, Copy)]
struct Requesting {
    kind: HandshakeKind,
    cookie: u32,
    rendezvous: bool,
    /// When the handshake leaves (again), or NEVER once that has come.
    send_at: Time,
    due: bool,
    /// When it is given up.
    until: Time,
    /// When the present kind left first.
    requested_at: Option<Time>,
}

impl Requesting {
    fn request(&mut self, now: Time, kind: HandshakeKind) {
        self.kind = kind;
        self.send_at = now;
        self.requested_at = None;
    }
}

/// The state of the handshake that an established connection keeps.
#[derive(Debug, Clone, Copy)]
struct Responding {
    /// The response to a repeated handshake; a client has none.
    response: Option<HandshakeKind>,
    due: bool,
    /// The time of the response, until it was sent twice or a packet came back.
    responded_at: Option<Time>,
    sent: u32,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
enum State {
    /// It requests a peer.
    Requesting(Requesting),
    /// A server that is being made.
    Responding,
    /// There is a peer.
    Established(Responding),
    /// It failed.
    Failed,
}

/// The agreement of both endpoints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreement {
    pub(super) peer: Incoming,
    /// The response to a repeated handshake; a client has none.
    pub(super) response: Option<HandshakeKind>,
    /// Whether that leaves immediately.
    pub(super) response_due: bool,
    /// The time of the first request to which the peer responded, where that is certain.
    pub(super) requested_at: Option<Time>,
}

impl Agreement {
    /// The response of a server, or none, without a request.
    pub(super) fn unrequested(peer: Incoming, response: Option<HandshakeKind>) -> Self {
        Self {
            peer,
            response,
            response_due: response.is_some(),
            requested_at: None,
        }
    }
}

/// The result of an arrived handshake.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// It was taken in.
    Nothing,
    /// It is invalid.
    Invalid,
    /// None is expected.
    Unexpected,
    /// The server refuses the connection.
    Refused,
    /// There is a connection.
    Agreed(Agreement),
}

/// This endpoint, its peer, and how far they have come.
#[derive(Debug, Clone)]
pub(super) struct Peering {
    own: Identity,
    peer_socket: u32,
    dialect: Dialect,
    state: State,
}

impl Peering {
    pub(super) fn client(now: Time, config: &Config, own: Identity) -> Self {
        Self::new(own, Self::request(now, config, HandshakeKind::Request))
    }

    pub(super) fn rendezvous(now: Time, config: &Config, own: Identity) -> Self {
        Self::new(own, Self::request(now, config, HandshakeKind::Rendezvous))
    }

    /// The agreement follows immediately.
    pub(super) fn server(own: Identity) -> Self {
        Self::new(own, State::Responding)
    }

    fn new(own: Identity, state: State) -> Self {
        let sockets = 1..1 << 31;
        assert!(
            sockets.contains(&own.socket),
            "a socket is a positive number of 31 bits"
        );
        Self {
            own,
            peer_socket: 0,
            dialect: Dialect::Udt,
            state,
        }
    }

    fn request(now: Time, config: &Config, kind: HandshakeKind) -> State {
        State::Requesting(Requesting {
            kind,
            cookie: 0,
            rendezvous: kind == HandshakeKind::Rendezvous,
            send_at: now,
            due: false,
            until: now.saturating_add(config.connect_timeout),
            requested_at: None,
        })
    }

    pub(super) const fn own(&self) -> Identity {
        self.own
    }

    pub(super) const fn peer_socket(&self) -> u32 {
        self.peer_socket
    }

    /// The layout of headers; settled once connected.
    #[inline]
    pub(super) const fn dialect(&self) -> Dialect {
        self.dialect
    }

    #[inline]
    pub(super) const fn speaks_dcudp(&self) -> bool {
        matches!(self.dialect, Dialect::Dcudp)
    }

    /// Whether ACKs are accurate.
    #[inline]
    pub(super) const fn is_accurate(&self) -> bool {
        matches!(self.dialect, Dialect::Accurate)
    }

    pub(super) const fn is_connecting(&self) -> bool {
        matches!(self.state, State::Requesting(_))
    }

    #[inline]
    pub(super) const fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    pub(super) fn fail(&mut self) {
        self.state = State::Failed;
    }

    /// There is a connection.
    pub(super) fn establish(&mut self, agreement: &Agreement) {
        assert!(!self.is_established(), "a connection has one peer");
        self.dialect = agreement.peer.dialect;
        self.peer_socket = agreement.peer.socket;
        self.state = State::Established(Responding {
            response: agreement.response,
            due: agreement.response_due,
            responded_at: None,
            sent: 0,
        });
    }

    /// A handshake arrived.
    pub(super) fn handle(&mut self, now: Time, config: &Config, handshake: &Handshake) -> Outcome {
        match self.state {
            State::Requesting(requesting) if requesting.rendezvous => {
                self.on_rendezvous(now, config, requesting, handshake)
            }
            State::Requesting(requesting) => self.on_server(now, config, requesting, handshake),
            State::Established(responding) => self.on_repeat(config, responding, handshake),
            State::Responding | State::Failed => Outcome::Unexpected,
        }
    }

    fn on_server(
        &mut self,
        now: Time,
        config: &Config,
        mut requesting: Requesting,
        handshake: &Handshake,
    ) -> Outcome {
        // The library's check, and ours: a server repeats our first number in every response.
        if handshake.first != self.own.first {
            return Outcome::Invalid;
        }
        match handshake.kind {
            HandshakeKind::Request if requesting.kind == HandshakeKind::Request => {
                requesting.cookie = handshake.cookie;
                requesting.request(now, HandshakeKind::Response);
                self.state = State::Requesting(requesting);
                Outcome::Nothing
            }
            HandshakeKind::Response if requesting.kind == HandshakeKind::Response => {
                if !is_possible(config, handshake) || handshake.packet_size > config.packet_size {
                    return Outcome::Invalid;
                }
                Outcome::Agreed(Agreement {
                    peer: Incoming::new(config, handshake, Role::Client),
                    response: None,
                    response_due: false,
                    requested_at: requesting.requested_at,
                })
            }
            HandshakeKind::Refused => Outcome::Refused,
            _ => Outcome::Invalid,
        }
    }

    fn on_rendezvous(
        &mut self,
        now: Time,
        config: &Config,
        mut requesting: Requesting,
        handshake: &Handshake,
    ) -> Outcome {
        let regular = matches!(
            handshake.kind,
            HandshakeKind::Request | HandshakeKind::Refused
        );
        // Our own handshake, sent back, is no peer's.
        if regular || !is_possible(config, handshake) || handshake.socket == self.own.socket {
            return Outcome::Invalid;
        }
        self.peer_socket = handshake.socket;
        let first = HandshakeKind::Rendezvous;
        if requesting.kind == first || handshake.kind == first {
            requesting.request(now, HandshakeKind::Response);
            self.state = State::Requesting(requesting);
            return Outcome::Nothing;
        }
        let last = handshake.kind == HandshakeKind::RendezvousDone;
        Outcome::Agreed(Agreement {
            peer: Incoming::new(config, handshake, Role::Rendezvous),
            response: Some(HandshakeKind::RendezvousDone),
            // The last one, so that the peer needs not repeat itself.
            response_due: !last,
            // Only -2 certainly responds to our -1: a -1 may have crossed it.
            requested_at: requesting.requested_at.filter(|_| last),
        })
    }

    /// A handshake for an established connection: the peer has not received the response.
    fn on_repeat(
        &mut self,
        config: &Config,
        mut responding: Responding,
        handshake: &Handshake,
    ) -> Outcome {
        let same =
            handshake.socket == self.peer_socket && handshake.socket_kind == config.socket_kind;
        if !same {
            return Outcome::Invalid;
        }
        // A repeated response is no mistake, but needs none in return.
        if handshake.kind != HandshakeKind::RendezvousDone && responding.response.is_some() {
            responding.due = true;
            self.state = State::Established(responding);
        }
        Outcome::Nothing
    }

    /// The time of a server's response, if it was sent once.
    pub(super) fn responded_at(&self) -> Option<Time> {
        match self.state {
            State::Established(Responding {
                response: Some(HandshakeKind::Response),
                responded_at,
                ..
            }) => responded_at,
            _ => None,
        }
    }

    /// Whether a response to a repeated handshake is due.
    #[inline]
    pub(super) const fn is_response_due(&self) -> bool {
        matches!(&self.state, State::Established(responding) if responding.due)
    }

    /// The handshake that leaves now.
    pub(super) fn poll(&mut self, now: Time, config: &Config) -> Option<Handshake> {
        let (kind, cookie) = match &mut self.state {
            State::Requesting(requesting) if requesting.due || requesting.send_at <= now => {
                requesting.due = false;
                requesting.requested_at = requesting.requested_at.or(Some(now));
                requesting.send_at = now.saturating_add(config.handshake_interval);
                (requesting.kind, requesting.cookie)
            }
            State::Established(responding) if responding.due => {
                responding.due = false;
                responding.sent += 1;
                responding.responded_at = (responding.sent == 1).then_some(now);
                let kind = responding
                    .response
                    .expect("a response is due where there is one");
                (kind, 0)
            }
            _ => return None,
        };
        Some(Handshake {
            version: VERSION,
            socket_kind: config.socket_kind,
            first: self.own.first,
            packet_size: config.packet_size,
            flow_window: config.flow_window.min(config.receive_buffer),
            kind,
            socket: self.own.socket,
            cookie,
            peer: [0; 4],
            extension: self.extension(kind, config),
        })
    }

    fn extension(&self, kind: HandshakeKind, config: &Config) -> Option<Extension> {
        let socket = self.own.socket;
        let is_server = matches!(
            self.state,
            State::Established(Responding {
                response: Some(HandshakeKind::Response),
                ..
            })
        );
        let rate = config.accurate.map(|accurate| accurate.rate);
        if !is_server {
            return match &config.protocol {
                Protocol::Udt => rate.map(|rate| Extension::AccurateOffer { socket, rate }),
                Protocol::Dcudp(_) => Some(Extension::Offer { socket }),
            };
        }
        assert_eq!(kind, HandshakeKind::Response, "a server's only response");
        match self.dialect {
            Dialect::Udt => None,
            Dialect::Dcudp => Some(Extension::Answer { socket }),
            Dialect::Accurate => rate.map(|rate| Extension::AccurateAnswer { socket, rate }),
        }
    }

    /// When the handshake needs the clock, or NEVER.
    pub(super) fn wake(&self) -> Time {
        match &self.state {
            State::Requesting(requesting) => requesting.send_at.min(requesting.until),
            _ => Time::NEVER,
        }
    }

    /// The instant of [`Self::wake`] has come; returns whether a response is overdue.
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        let State::Requesting(requesting) = &mut self.state else {
            return false;
        };
        if requesting.send_at <= now {
            requesting.send_at = Time::NEVER;
            requesting.due = true;
        }
        requesting.until <= now
    }
}

/// Whether a peer's handshake is possible at all.
fn is_possible(config: &Config, handshake: &Handshake) -> bool {
    handshake.version == VERSION
        && handshake.socket_kind == config.socket_kind
        && (MIN_PACKET_SIZE..1 << 31).contains(&handshake.packet_size)
        && (1..1 << 31).contains(&handshake.flow_window)
        && handshake.socket != 0
}
