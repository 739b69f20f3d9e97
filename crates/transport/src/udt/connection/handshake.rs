//! Opening a connection (draft-gg-udt-03, section 4; the library's details): a client asks, returns the
//! server's cookie and is accepted; two ends of a rendezvous say 0 until they hear the other, then -1
//! until they hear that, then -2.
//!
//! Every repeat is answered. Nothing is believed that does not repeat our own random first number or
//! come for our own random socket. The client's round trip is measured; the server takes its from the
//! keep-alive with which a DCUDP client follows at once.

use incastle_units::{Ecn, Time};

use super::super::config::{Config, MAX_FLOW_WINDOW, MIN_PACKET_SIZE, Protocol};
use super::super::control_window::ControlWindow;
use super::super::listener::Incoming;
use super::super::sender::FlowWindow;
use super::super::sequence::Number;
use super::super::wire::{
    Content, Control, ControlHeader, Dialect, Extension, Handshake, HandshakeKind, Packet, VERSION,
};
use super::{Connection, Event, Failure, Identity, Transmit};

/// An end that has no peer yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asking {
    kind: HandshakeKind,
    cookie: u32,
    first: Number,
    rendezvous: bool,
    /// When the handshake leaves (again), or NEVER once that has come.
    send_at: Time,
    due: bool,
    /// When it is given up.
    until: Time,
    /// When the present kind left first.
    asked_at: Option<Time>,
}

/// What is left of the handshake once there is a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answering {
    /// What a repeated handshake is answered with; a client answers none.
    answer: Option<HandshakeKind>,
    first: Number,
    due: bool,
    /// When the answer left, until it was left twice or a packet came back.
    answered_at: Option<Time>,
    sent: u32,
}

impl Answering {
    /// Whether a repeated handshake waits for its answer.
    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }
}

/// Where a connection stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// It asks for a peer.
    Asking(Asking),
    /// A server that is being made.
    Answering,
    /// There is a peer.
    Established(Answering),
    /// It failed.
    Failed,
}

impl State {
    pub(super) fn asking(now: Time, config: &Config, identity: Identity) -> Self {
        Self::ask(now, config, identity, HandshakeKind::Request)
    }

    pub(super) fn meeting(now: Time, config: &Config, identity: Identity) -> Self {
        Self::ask(now, config, identity, HandshakeKind::Rendezvous)
    }

    fn ask(now: Time, config: &Config, identity: Identity, kind: HandshakeKind) -> Self {
        Self::Asking(Asking {
            kind,
            cookie: 0,
            first: identity.first,
            rendezvous: kind == HandshakeKind::Rendezvous,
            send_at: now,
            due: false,
            until: now.saturating_add(config.connect_timeout),
            asked_at: None,
        })
    }

    pub(super) const fn is_connecting(&self) -> bool {
        matches!(self, Self::Asking(_))
    }
}

impl Asking {
    fn say(&mut self, now: Time, kind: HandshakeKind) {
        self.kind = kind;
        self.send_at = now;
        self.asked_at = None;
    }
}

impl Connection {
    /// What a listener agreed with a client.
    pub(super) fn accept(&mut self, incoming: &Incoming, now: Time) {
        let agreement = Handshake {
            version: VERSION,
            socket_kind: self.config.socket_kind,
            first: incoming.first,
            packet_size: incoming.packet_size,
            flow_window: incoming.flow_window,
            kind: HandshakeKind::Response,
            socket: incoming.socket,
            cookie: 0,
            peer: [0; 4],
            extension: None,
        };
        self.establish(
            now,
            &agreement,
            incoming.dialect,
            Some(HandshakeKind::Response),
        );
    }

    /// A handshake arrived.
    pub(super) fn handle_handshake(&mut self, now: Time, handshake: &Handshake) {
        match self.state {
            State::Asking(asking) if asking.rendezvous => self.meet(now, asking, handshake),
            State::Asking(asking) => self.hear_server(now, asking, handshake),
            State::Established(answering) => self.hear_again(answering, handshake),
            State::Answering | State::Failed => self.stats.refused.wrong_state += 1,
        }
    }

    fn refuse(&mut self) {
        self.stats.refused.handshakes += 1;
    }

    /// Whether a peer's words are possible at all.
    fn is_possible(&self, handshake: &Handshake) -> bool {
        handshake.version == VERSION
            && handshake.socket_kind == self.config.socket_kind
            && (MIN_PACKET_SIZE..1 << 31).contains(&handshake.packet_size)
            && (1..1 << 31).contains(&handshake.flow_window)
            && handshake.socket != 0
    }

    fn hear_server(&mut self, now: Time, mut asking: Asking, handshake: &Handshake) {
        // The library's check, and ours: a server repeats our first number, whatever it says.
        if handshake.first != asking.first {
            return self.refuse();
        }
        match handshake.kind {
            HandshakeKind::Request if asking.kind == HandshakeKind::Request => {
                asking.cookie = handshake.cookie;
                asking.say(now, HandshakeKind::Response);
                self.state = State::Asking(asking);
            }
            HandshakeKind::Response if asking.kind == HandshakeKind::Response => {
                if !self.is_possible(handshake) || handshake.packet_size > self.config.packet_size {
                    return self.refuse();
                }
                let answered = Extension::Answer {
                    socket: handshake.socket,
                };
                let dialect = self.dialect_with(handshake.extension == Some(answered));
                self.measure(now, asking.asked_at, dialect);
                self.establish(now, handshake, dialect, None);
                // From this the server takes its round trip.
                self.keep_alive_due = dialect == Dialect::Dcudp;
            }
            HandshakeKind::Refused => self.fail(Failure::Refused),
            _ => self.refuse(),
        }
    }

    fn meet(&mut self, now: Time, mut asking: Asking, handshake: &Handshake) {
        let regular = matches!(
            handshake.kind,
            HandshakeKind::Request | HandshakeKind::Refused
        );
        // Our own words, sent back, are no peer's.
        if regular || !self.is_possible(handshake) || handshake.socket == self.socket {
            return self.refuse();
        }
        self.peer_socket = handshake.socket;
        let heard_nothing = HandshakeKind::Rendezvous;
        if asking.kind == heard_nothing || handshake.kind == heard_nothing {
            asking.say(now, HandshakeKind::Response);
            self.state = State::Asking(asking);
            return;
        }
        let offered = Extension::Offer {
            socket: handshake.socket,
        };
        let dialect = self.dialect_with(handshake.extension == Some(offered));
        if handshake.kind == HandshakeKind::RendezvousDone {
            // Only that answers our -1 for certain: a -1 may have crossed it.
            self.measure(now, asking.asked_at, dialect);
        }
        self.establish(now, handshake, dialect, Some(HandshakeKind::RendezvousDone));
        // The last word, so that the peer needs not repeat itself.
        if let State::Established(answering) = &mut self.state {
            answering.due = handshake.kind != HandshakeKind::RendezvousDone;
        }
    }

    /// A handshake for a connection that is there: the peer has not heard the answer.
    fn hear_again(&mut self, mut answering: Answering, handshake: &Handshake) {
        let same = handshake.socket == self.peer_socket
            && handshake.socket_kind == self.config.socket_kind;
        let last_word = handshake.kind == HandshakeKind::RendezvousDone;
        if !same || last_word || answering.answer.is_none() {
            // A repeated answer is no mistake, but needs none in return.
            self.stats.refused.handshakes += u64::from(!same);
            return;
        }
        answering.due = true;
        self.state = State::Established(answering);
    }

    fn dialect_with(&self, peer_speaks_it: bool) -> Dialect {
        match &self.config.protocol {
            Protocol::Dcudp(_) if peer_speaks_it => Dialect::Dcudp,
            _ => Dialect::Udt,
        }
    }

    /// The handshake's round trip, from the first time that the present question was asked: too long
    /// where it was lost, never too short. UDT begins with 100 ms whatever the handshake took.
    fn measure(&mut self, now: Time, asked_at: Option<Time>, dialect: Dialect) {
        if let (Some(at), Dialect::Dcudp) = (asked_at, dialect) {
            self.rtt.begin(now.saturating_since(at));
            self.rtt_known = true;
            self.set_clocks();
        }
    }

    pub(super) fn establish(
        &mut self,
        now: Time,
        peer: &Handshake,
        dialect: Dialect,
        answer: Option<HandshakeKind>,
    ) {
        let first = self.control_out.first();
        self.dialect = dialect;
        self.ecn = dialect == Dialect::Dcudp;
        self.peer_socket = peer.socket;
        self.control_in = ControlWindow::new(peer.first);
        let size = peer.packet_size.min(self.config.packet_size);
        let payload = Config::payload_of(size);
        let window = peer
            .flow_window
            .min(self.config.flow_window)
            .min(MAX_FLOW_WINDOW);
        self.config.packet_size = size;
        self.sender
            .agree(dialect, payload, self.first_window(window));
        self.receiver.agree(peer.first, payload);
        self.receiver
            .ack
            .begin(now, self.config.syn, self.config.light_ack_every);
        let without_data = self.dcudp().is_some_and(|dcudp| dcudp.ack_without_data);
        self.receiver.ack.set_without_data(without_data);
        self.set_clocks();
        self.exp.heard(now, true, &self.config);
        self.state = State::Established(Answering {
            answer,
            first,
            due: answer == Some(HandshakeKind::Response),
            answered_at: None,
            sent: 0,
        });
        self.raise(Event::Connected);
        if matches!(self.config.protocol, Protocol::Dcudp(_)) && dialect == Dialect::Udt {
            self.fall_back(Event::Fallback);
        }
    }

    /// The flow window before the first ACK. UDT's is 16 at first, and its cwnd is too; DCUDP's is what
    /// was agreed.
    fn first_window(&self, agreed: u32) -> FlowWindow {
        let first = match self.dialect {
            Dialect::Udt => agreed.min(16),
            Dialect::Dcudp => agreed,
        };
        FlowWindow::new(agreed, first)
    }

    /// The first packet after a server's answer came back: before it a client sends nothing but
    /// handshakes.
    pub(super) fn measure_answer(&mut self, now: Time) {
        if self.rtt_known {
            return;
        }
        if let State::Established(Answering {
            answer: Some(HandshakeKind::Response),
            answered_at: Some(at),
            ..
        }) = self.state
        {
            self.measure(now, Some(at), self.dialect);
        }
    }

    /// The handshake that leaves now.
    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        let (kind, cookie, first) = match &mut self.state {
            State::Asking(asking) if asking.due || asking.send_at <= now => {
                asking.due = false;
                asking.asked_at = asking.asked_at.or(Some(now));
                asking.send_at = now.saturating_add(self.config.handshake_interval);
                (asking.kind, asking.cookie, asking.first)
            }
            State::Established(answering) if answering.due => {
                answering.due = false;
                answering.sent += 1;
                answering.answered_at = (answering.sent == 1).then_some(now);
                let kind = answering
                    .answer
                    .expect("an answer is due where there is one");
                (kind, 0, answering.first)
            }
            _ => return None,
        };
        self.handshake_out = Some(Handshake {
            version: VERSION,
            socket_kind: self.config.socket_kind,
            first,
            packet_size: self.config.packet_size,
            flow_window: self.config.flow_window.min(self.config.receive_buffer),
            kind,
            socket: self.socket,
            cookie,
            peer: [0; 4],
            extension: self.extension(kind),
        });
        Some(Transmit {
            packet: Packet {
                timestamp: self.timestamp(now),
                destination: self.peer_socket,
                content: Content::Control(ControlHeader {
                    observe: false,
                    number: Number::default(),
                    control: Control::Handshake,
                }),
            },
            ecn: Ecn::NotEct,
            retransmission: false,
            offset: 0,
        })
    }

    fn extension(&self, kind: HandshakeKind) -> Option<Extension> {
        let socket = self.socket;
        let answers = matches!(
            self.state,
            State::Established(Answering {
                answer: Some(HandshakeKind::Response),
                ..
            })
        );
        match &self.config.protocol {
            Protocol::Udt => None,
            Protocol::Dcudp(_) if !answers => Some(Extension::Offer { socket }),
            Protocol::Dcudp(_) => {
                debug_assert_eq!(kind, HandshakeKind::Response);
                (self.dialect == Dialect::Dcudp).then_some(Extension::Answer { socket })
            }
        }
    }

    /// When the handshake needs the clock, or NEVER.
    pub(super) fn handshake_at(&self) -> Time {
        match &self.state {
            State::Asking(asking) => asking.send_at.min(asking.until),
            _ => Time::NEVER,
        }
    }

    pub(super) fn handshake_timer(&mut self, now: Time) {
        let State::Asking(asking) = &mut self.state else {
            return;
        };
        if asking.send_at <= now {
            asking.send_at = Time::NEVER;
            asking.due = true;
        }
        if asking.until <= now {
            self.fail(Failure::NoAnswer);
        }
    }
}
