//! From the handshake to a connection: the agreement of both endpoints takes effect. Connections
//! without a handshake on the wire are there from the start, for worlds that leave it out, as TCP's
//! simulated connections may. Leaves out the handshake itself.

use incastle_congestion::Algorithm;
use incastle_units::{Ecn, Span, Time};

use super::super::config::MAX_FLOW_WINDOW;
use super::super::listener::Incoming;
use super::super::sender::FlowWindow;
use super::super::wire::{Content, Control, ControlHeader, Dialect, Handshake};
use super::handshake::{Agreement, Outcome, Peering};
use super::{Config, Connection, Event, Failure, Identity, Number, Packet, Protocol, Transmit};

/// The two endpoints of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identities {
    /// This endpoint.
    pub own: Identity,
    /// The peer.
    pub peer: Identity,
}

impl Connection {
    /// One endpoint of a connection between two of the same configuration. Under DCUDP, and with accurate
    /// ACKs, `rtt` stands for the handshake's sample; UDT begins with its own first value. Panics where
    /// [`Config::check`] finds a mistake.
    pub fn established(
        config: &Config,
        algorithm: Algorithm,
        identities: Identities,
        rtt: Span,
        now: Time,
    ) -> Self {
        let Identities { own, peer } = identities;
        let mut connection = Self::new(config, algorithm, Peering::server(own), now);
        let peer = Incoming {
            socket: peer.socket,
            first: peer.first,
            packet_size: config.packet_size,
            flow_window: config.flow_window.min(config.receive_buffer),
            dialect: match (&config.protocol, config.accurate) {
                (Protocol::Udt, None) => Dialect::Udt,
                (Protocol::Udt, Some(_)) => Dialect::Accurate,
                (Protocol::Dcudp(_), _) => Dialect::Dcudp,
            },
            ack_rate: config.accurate.unwrap_or_default().rate,
        };
        connection.establish(now, &Agreement::unrequested(peer, None));
        if peer.dialect != Dialect::Udt {
            connection.rtt.begin(rtt);
            connection.set_clocks();
        }
        connection
    }

    /// A handshake arrived.
    pub(super) fn handle_handshake(&mut self, now: Time, handshake: &Handshake) {
        match self.peering.handle(now, &self.config, handshake) {
            Outcome::Nothing => {}
            Outcome::Invalid => self.stats.refused.handshakes += 1,
            Outcome::Unexpected => self.stats.refused.wrong_state += 1,
            Outcome::Refused => self.fail(Failure::Refused),
            Outcome::Agreed(agreement) => {
                let extended = agreement.peer.dialect != Dialect::Udt;
                // The round trip since the first request: too long where that was lost, never too
                // short. UDT begins with 100 ms for any duration of the handshake.
                if let Some(at) = agreement.requested_at.filter(|_| extended) {
                    self.rtt.begin(now.saturating_since(at));
                }
                self.establish(now, &agreement);
                // The server measures its round trip by it.
                self.packets.keep_alive_due = extended && agreement.response.is_none();
            }
        }
    }

    pub(super) fn establish(&mut self, now: Time, agreement: &Agreement) {
        let peer = &agreement.peer;
        self.peering.establish(agreement);
        self.control.ecn = self.peering.speaks_dcudp();
        self.packets.agree(peer.first);
        let size = peer.packet_size.min(self.config.packet_size);
        let payload = Config::payload_of(size);
        assert!(payload > 0, "a packet carries something");
        self.config.packet_size = size;
        self.sender
            .agree(peer.dialect, payload, self.first_window(peer));
        self.receiver.agree(peer.first, payload);
        self.receiver
            .ack
            .begin(now, self.config.syn, self.config.light_ack_every);
        if self.peering.is_accurate() {
            self.begin_accurate(peer.ack_rate);
        }
        let without_data = self.dcudp().is_some_and(|dcudp| dcudp.ack_without_data);
        self.receiver.ack.set_without_data(without_data);
        self.set_clocks();
        self.exp.on_packet(now, &self.config);
        self.exp.restart(now);
        self.events.raise(Event::Connected);
        if self.has_fallen_back() {
            self.fall_back(Event::Fallback);
        }
    }

    /// The flow window before the first ACK. UDT's is 16 at first, and its cwnd is too; otherwise it is
    /// the agreed one.
    fn first_window(&self, peer: &Incoming) -> FlowWindow {
        let agreed = peer
            .flow_window
            .min(self.config.flow_window)
            .min(MAX_FLOW_WINDOW);
        let first = match peer.dialect {
            Dialect::Udt => agreed.min(16),
            Dialect::Dcudp | Dialect::Accurate => agreed,
        };
        FlowWindow::new(agreed, first)
    }

    /// The first packet after a server's response came back: before it a client sends nothing but
    /// handshakes.
    pub(super) fn measure_response(&mut self, now: Time) {
        if self.rtt.is_measured() || self.dialect() == Dialect::Udt {
            return;
        }
        if let Some(at) = self.peering.responded_at() {
            self.rtt.begin(now.saturating_since(at));
            self.set_clocks();
        }
    }

    /// The handshake that leaves now.
    pub(super) fn poll_handshake(&mut self, now: Time) -> Option<Transmit> {
        self.attachment.handshake = Some(self.peering.poll(now, &self.config)?);
        Some(Transmit {
            packet: Packet {
                timestamp: self.clock.timestamp(now),
                destination: self.peering.peer_socket(),
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
}
