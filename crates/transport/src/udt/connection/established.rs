//! Connections that are there from the start, without a handshake on the wire, for worlds that leave
//! it out, as TCP's simulated connections may. Both ends are told what it would have agreed.

use incastle_units::{Span, Time};

use super::super::wire::{Dialect, Handshake, HandshakeKind, VERSION};
use super::handshake::State;
use super::{Config, Connection, Identity, Protocol};

impl Connection {
    /// One end of a connection between two ends of the same configuration, `own` and `peer`. Under DCUDP
    /// `rtt` is what the handshake would have measured; UDT begins with its own first value. Panics
    /// where [`Config::check`] finds a mistake.
    pub fn established(
        config: &Config,
        algorithm: incastle_congestion::Algorithm,
        (own, peer): (Identity, Identity),
        rtt: Span,
        now: Time,
    ) -> Self {
        let mut connection = Self::new(config, algorithm, own, (State::Answering, now));
        let agreement = Handshake {
            version: VERSION,
            socket_kind: config.socket_kind,
            first: peer.first,
            packet_size: config.packet_size,
            flow_window: config.flow_window.min(config.receive_buffer),
            kind: HandshakeKind::Response,
            socket: peer.socket,
            cookie: 0,
            peer: [0; 4],
            extension: None,
        };
        let dialect = match &config.protocol {
            Protocol::Udt => Dialect::Udt,
            Protocol::Dcudp(_) => Dialect::Dcudp,
        };
        connection.establish(now, &agreement, dialect, None);
        if dialect == Dialect::Dcudp {
            connection.rtt.begin(rtt);
            connection.rtt_known = true;
            connection.set_clocks();
        }
        connection
    }
}
