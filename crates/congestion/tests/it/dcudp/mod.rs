//! DCUDP's sender against Ye, Mhamdi, Hamdi, sections IV.A to IV.C and figure 4: each number in every
//! reading, trajectories, and any sequence of operations. Sequence numbers count packets.

mod backlog;
mod entry;
mod law;
mod sequences;
mod trajectories;

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, Dcudp, DcudpConfig, DcudpEntry, Echo, Reaction,
    TransmissionMode,
};
use incastle_units::{Bytes, Rate, Span};

use crate::support::{Sender, sample};

/// 12,000 bits.
pub(crate) const PS: u64 = 1500;

pub(crate) const NAK: CongestionEvent = CongestionEvent::Loss {
    count: 2,
    largest: 7,
};

/// C = 1.2 Gbit/s, 100,000 packets per second, at which congestion mode begins.
pub(crate) fn config() -> DcudpConfig {
    DcudpConfig {
        entry: DcudpEntry::Interface,
        ..DcudpConfig::new(Bytes::new(PS), packets(100_000))
    }
}

pub(crate) fn packets(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 8 * PS)
}

/// A connection whose handshake took 100 us: at C the window W is 10 packets.
pub(crate) struct Connection {
    pub(crate) sender: Sender,
    pub(crate) control: Dcudp,
}

impl Connection {
    pub(crate) fn new(config: DcudpConfig) -> Self {
        Self {
            sender: Sender {
                smoothed_rtt: Some(Span::from_us(100)),
                ..Sender::default()
            },
            control: Dcudp::new(config),
        }
    }

    pub(crate) fn send(&mut self) {
        self.control.on_sent(&mut self.sender.cx(), Bytes::new(PS));
    }

    /// An ACK after a packet that thaws the rates, so that each ECE counts.
    pub(crate) fn ack(&mut self, echo: Echo) -> Reaction {
        self.send();
        self.frozen_ack(echo)
    }

    pub(crate) fn frozen_ack(&mut self, echo: Echo) -> Reaction {
        self.sender.ack_with(&mut self.control, sample(0, echo))
    }

    /// An ACK that carries a round-trip time.
    pub(crate) fn ack_after(&mut self, us: u64, echo: Echo) -> Reaction {
        self.send();
        let ack = AckSample {
            rtt: Some(Span::from_us(us)),
            ..sample(0, echo)
        };
        self.sender.ack_with(&mut self.control, ack)
    }

    pub(crate) fn report(&mut self, event: CongestionEvent) -> Reaction {
        self.control.on_congestion(&mut self.sender.cx(), event)
    }

    /// Rate_data and Rate_max in packets per second, to the nearest.
    pub(crate) fn rates(&self) -> (u64, u64) {
        let rates = self.control.rates().expect("congestion mode");
        ((rates.data + 0.5) as u64, (rates.max + 0.5) as u64)
    }

    pub(crate) fn is_in_udp_mode(&self) -> bool {
        let state = self.control.state();
        assert_eq!(state.rate, self.control.pacing());
        let udp = state.mode == Some(TransmissionMode::Udp);
        assert_eq!(udp, self.control.rates().is_none());
        udp
    }
}
