//! Opening a connection (draft-gg-udt-03, section 4; the library's details). A client sends a request,
//! returns the server's cookie and is accepted. Two endpoints of a rendezvous send 0 until they receive
//! the other's, then -1 until they receive that, then -2.
//!
//! Every repeat is answered. Nothing is believed that does not repeat our own random first number or
//! come for our own random socket. The client's round trip is measured; the server's by the
//! keep-alive that a DCUDP client sends immediately after. Leaves out: a change of the peer's
//! address.

use incastle_units::Time;

use super::super::config::{Config, MIN_PACKET_SIZE, Protocol};
use super::super::listener::Incoming;
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
struct Asking {
    kind: HandshakeKind,
    cookie: u32,
    rendezvous: bool,
    /// When the handshake leaves (again), or NEVER once that has come.
    send_at: Time,
    due: bool,
    /// When it is given up.
    until: Time,
    /// When the present kind left first.
    asked_at: Option<Time>,
}

impl Asking {
    fn ask(&mut self, now: Time, kind: HandshakeKind) {
        self.kind = kind;
        self.send_at = now;
        self.asked_at = None;
    }
}

/// The state of the handshake that an established connection keeps.
#[derive(Debug, Clone, Copy)]
struct Answering {
    /// The response to a repeated handshake; a client has none.
    answer: Option<HandshakeKind>,
    due: bool,
    /// When the answer left, until it was left twice or a packet came back.
    answered_at: Option<Time>,
    sent: u32,
}

/// The state of a connection.
#[derive(Debug, Clone, Copy)]
enum State {
    /// It requests a peer.
    Asking(Asking),
    /// A server that is being made.
    Answering,
    /// There is a peer.
    Established(Answering),
    /// It failed.
    Failed,
}

/// The agreement of both endpoints.
#[derive(Debug, Clone, Copy)]
pub(super) struct Agreement {
    pub(super) peer: Incoming,
    /// The response to a repeated handshake; a client has none.
    pub(super) answer: Option<HandshakeKind>,
    /// Whether that leaves immediately.
    pub(super) answer_due: bool,
    /// The time of the first request to which the peer responded, where that is certain.
    pub(super) asked_at: Option<Time>,
}

impl Agreement {
    /// The response of a server, or none, without a request.
    pub(super) fn unasked(peer: Incoming, answer: Option<HandshakeKind>) -> Self {
        Self {
            peer,
            answer,
            answer_due: answer.is_some(),
            asked_at: None,
        }
    }
}

/// The result of an arrived handshake.
#[derive(Debug, Clone, Copy)]
pub(super) enum Heard {
    /// It was taken in.
    Nothing,
    /// It cannot be believed.
    Unbelievable,
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
        Self::new(own, Self::ask(now, config, HandshakeKind::Request))
    }

    pub(super) fn rendezvous(now: Time, config: &Config, own: Identity) -> Self {
        Self::new(own, Self::ask(now, config, HandshakeKind::Rendezvous))
    }

    /// The agreement follows immediately.
    pub(super) fn server(own: Identity) -> Self {
        Self::new(own, State::Answering)
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

    fn ask(now: Time, config: &Config, kind: HandshakeKind) -> State {
        State::Asking(Asking {
            kind,
            cookie: 0,
            rendezvous: kind == HandshakeKind::Rendezvous,
            send_at: now,
            due: false,
            until: now.saturating_add(config.connect_timeout),
            asked_at: None,
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

    pub(super) const fn is_connecting(&self) -> bool {
        matches!(self.state, State::Asking(_))
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
        self.state = State::Established(Answering {
            answer: agreement.answer,
            due: agreement.answer_due,
            answered_at: None,
            sent: 0,
        });
    }

    /// A handshake arrived.
    pub(super) fn handle(&mut self, now: Time, config: &Config, handshake: &Handshake) -> Heard {
        match self.state {
            State::Asking(asking) if asking.rendezvous => self.meet(now, config, asking, handshake),
            State::Asking(asking) => self.hear_server(now, config, asking, handshake),
            State::Established(answering) => self.hear_again(config, answering, handshake),
            State::Answering | State::Failed => Heard::Unexpected,
        }
    }

    fn hear_server(
        &mut self,
        now: Time,
        config: &Config,
        mut asking: Asking,
        handshake: &Handshake,
    ) -> Heard {
        // The library's check, and ours: a server repeats our first number, whatever else it sends.
        if handshake.first != self.own.first {
            return Heard::Unbelievable;
        }
        match handshake.kind {
            HandshakeKind::Request if asking.kind == HandshakeKind::Request => {
                asking.cookie = handshake.cookie;
                asking.ask(now, HandshakeKind::Response);
                self.state = State::Asking(asking);
                Heard::Nothing
            }
            HandshakeKind::Response if asking.kind == HandshakeKind::Response => {
                if !is_possible(config, handshake) || handshake.packet_size > config.packet_size {
                    return Heard::Unbelievable;
                }
                let answered = Extension::Answer {
                    socket: handshake.socket,
                };
                Heard::Agreed(Agreement {
                    peer: agreed(config, handshake, answered),
                    answer: None,
                    answer_due: false,
                    asked_at: asking.asked_at,
                })
            }
            HandshakeKind::Refused => Heard::Refused,
            _ => Heard::Unbelievable,
        }
    }

    fn meet(
        &mut self,
        now: Time,
        config: &Config,
        mut asking: Asking,
        handshake: &Handshake,
    ) -> Heard {
        let regular = matches!(
            handshake.kind,
            HandshakeKind::Request | HandshakeKind::Refused
        );
        // Our own handshake, sent back, is no peer's.
        if regular || !is_possible(config, handshake) || handshake.socket == self.own.socket {
            return Heard::Unbelievable;
        }
        self.peer_socket = handshake.socket;
        let heard_nothing = HandshakeKind::Rendezvous;
        if asking.kind == heard_nothing || handshake.kind == heard_nothing {
            asking.ask(now, HandshakeKind::Response);
            self.state = State::Asking(asking);
            return Heard::Nothing;
        }
        let offered = Extension::Offer {
            socket: handshake.socket,
        };
        let last = handshake.kind == HandshakeKind::RendezvousDone;
        Heard::Agreed(Agreement {
            peer: agreed(config, handshake, offered),
            answer: Some(HandshakeKind::RendezvousDone),
            // The last one, so that the peer needs not repeat itself.
            answer_due: !last,
            // Only -2 answers our -1 for certain: a -1 may have crossed it.
            asked_at: asking.asked_at.filter(|_| last),
        })
    }

    /// A handshake for a connection that is there: the peer has not heard the answer.
    fn hear_again(
        &mut self,
        config: &Config,
        mut answering: Answering,
        handshake: &Handshake,
    ) -> Heard {
        let same =
            handshake.socket == self.peer_socket && handshake.socket_kind == config.socket_kind;
        if !same {
            return Heard::Unbelievable;
        }
        // A repeated answer is no mistake, but needs none in return.
        if handshake.kind != HandshakeKind::RendezvousDone && answering.answer.is_some() {
            answering.due = true;
            self.state = State::Established(answering);
        }
        Heard::Nothing
    }

    /// When a server's answer left, where it left once.
    pub(super) fn answered_at(&self) -> Option<Time> {
        match self.state {
            State::Established(Answering {
                answer: Some(HandshakeKind::Response),
                answered_at,
                ..
            }) => answered_at,
            _ => None,
        }
    }

    /// Whether a repeated handshake waits for its answer.
    #[inline]
    pub(super) const fn is_answer_due(&self) -> bool {
        matches!(&self.state, State::Established(answering) if answering.due)
    }

    /// The handshake that leaves now.
    pub(super) fn poll(&mut self, now: Time, config: &Config) -> Option<Handshake> {
        let (kind, cookie) = match &mut self.state {
            State::Asking(asking) if asking.due || asking.send_at <= now => {
                asking.due = false;
                asking.asked_at = asking.asked_at.or(Some(now));
                asking.send_at = now.saturating_add(config.handshake_interval);
                (asking.kind, asking.cookie)
            }
            State::Established(answering) if answering.due => {
                answering.due = false;
                answering.sent += 1;
                answering.answered_at = (answering.sent == 1).then_some(now);
                let kind = answering
                    .answer
                    .expect("an answer is due where there is one");
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
            extension: self.extension(kind, &config.protocol),
        })
    }

    fn extension(&self, kind: HandshakeKind, protocol: &Protocol) -> Option<Extension> {
        let socket = self.own.socket;
        let answers = matches!(
            self.state,
            State::Established(Answering {
                answer: Some(HandshakeKind::Response),
                ..
            })
        );
        match protocol {
            Protocol::Udt => None,
            Protocol::Dcudp(_) if !answers => Some(Extension::Offer { socket }),
            Protocol::Dcudp(_) => {
                assert_eq!(kind, HandshakeKind::Response, "a server's only answer");
                self.speaks_dcudp().then_some(Extension::Answer { socket })
            }
        }
    }

    /// When the handshake needs the clock, or NEVER.
    pub(super) fn wake(&self) -> Time {
        match &self.state {
            State::Asking(asking) => asking.send_at.min(asking.until),
            _ => Time::NEVER,
        }
    }

    /// The instant of [`Self::wake`] has come; returns whether a response is overdue.
    pub(super) fn on_timer(&mut self, now: Time) -> bool {
        let State::Asking(asking) = &mut self.state else {
            return false;
        };
        if asking.send_at <= now {
            asking.send_at = Time::NEVER;
            asking.due = true;
        }
        asking.until <= now
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

/// The peer that sent a handshake; with the `dcudp` extension it speaks that dialect.
fn agreed(config: &Config, handshake: &Handshake, dcudp: Extension) -> Incoming {
    let both = matches!(config.protocol, Protocol::Dcudp(_)) && handshake.extension == Some(dcudp);
    Incoming {
        socket: handshake.socket,
        first: handshake.first,
        packet_size: handshake.packet_size,
        flow_window: handshake.flow_window,
        dialect: if both { Dialect::Dcudp } else { Dialect::Udt },
    }
}
