//! TCP's part of `[transport]`: connections, recovery, timers, ECN, and the congestion control.

use incastle_congestion::DctcpConfig;
use incastle_units::{Amount, Bytes, Packets, Span};

use crate::range::{above, at_least, between, fraction, proper_fraction};
use crate::table::{choice, table, word_or, words};

/// Packets as an [`Amount`].
const fn packets(count: u64) -> Amount {
    Amount::Packets(Packets::new(count))
}

table! {
    /// TCP. Sizes in packets mean so many segments of `mss`.
    pub struct Tcp {
        /// What the sender does about congestion.
        flat congestion: Congestion;
        /// Application bytes of a full segment; 40 bytes of headers come on top.
        value mss: Bytes = Bytes::new(1_460), in between(Bytes::new(1), Bytes::new(65_000));
        /// How lost segments are found and repaired.
        value recovery: Recovery = Recovery::default_for(congestion.as_ref()), shown "`\"reno\"` under reno, `\"new-reno\"` under new-reno, else `\"sack\"`";
        /// The use of ECN.
        value ecn: EcnMode = EcnMode::default_for(congestion.as_ref()), shown "`\"dctcp\"` under dctcp, else `\"off\"`";
        /// When the receiver's CE state changes under `ecn = "dctcp"`.
        value ce_change: CeChange = CeChange::Linux;
        /// Whether SYN, SYN-ACK, pure ACKs and retransmissions are ECN-capable too.
        value ect_on_control: bool = ecn == EcnMode::Dctcp, shown "true under `ecn = \"dctcp\"`, else false";
        /// Whether ACKs with ECE grow the window.
        value grow_on_ece: bool = false;
        /// The window at the start.
        value initial_window: Amount = packets(10);
        /// The least window after a reaction to marks.
        value min_cwnd: Amount = packets(2);
        /// The greatest congestion window.
        value max_cwnd: WindowLimit = WindowLimit::Unlimited;
        /// The window that the receiver offers.
        value receive_window: WindowLimit = WindowLimit::Unlimited;
        /// Three-way handshake; without it connections begin established.
        value handshake: bool = true;
        /// The least retransmission timeout.
        value min_rto: Span = Span::from_ms(200);
        /// The granularity of the retransmission timer.
        value rto_tick: Span = Span::from_ms(1), in above(Span::ZERO);
        /// The retransmission timeout before the first round-trip sample.
        value initial_rto: Span = Span::from_secs(1), in above(Span::ZERO);
        /// The greatest retransmission timeout.
        value max_rto: Span = Span::from_secs(60), in above(Span::ZERO);
        /// Draws each timeout from 1 to 1.5 times its value (Vasudevan 2009).
        value desynchronised_rto: bool = false;
        /// Round-trip times by timestamps; otherwise by Karn's rule.
        value timestamps: bool = true;
        /// One ACK for so many segments; 1 turns delayed ACKs off.
        value ack_every: u32 = 2, in at_least(1);
        /// The longest that an ACK is delayed.
        value ack_delay: Span = Span::from_ms(40), in above(Span::ZERO);
        /// New segments on the first two duplicate ACKs (RFC 3042).
        value limited_transmit: bool = true;
        /// Slow start after idleness (RFC 5681, section 4.1).
        value idle_restart: bool = false;
    }
}

choice! {
    /// What the sender does about congestion.
    pub enum Congestion by congestion = "new-reno", later ["dt-cwa", "d2tcp"] {
        /// NewReno: slow start, congestion avoidance, halving (RFC 5681, 6582)
        "new-reno" => NewReno(NewReno),
        /// Reno: as NewReno, but recovery ends with the first new ACK (RFC 2581)
        "reno" => Reno(Reno),
        /// CUBIC: the window grows with the cube of the time since the last loss (RFC 9438)
        "cubic" => Cubic(Cubic),
        /// DCTCP: the window shrinks in proportion to the fraction of marked data (RFC 8257)
        "dctcp" => Dctcp(Dctcp),
    }
}

table! {
    /// NewReno has no parameters of its own.
    pub struct NewReno {}
}

table! {
    /// Reno has no parameters of its own.
    pub struct Reno {}
}

table! {
    /// CUBIC.
    pub struct Cubic {
        /// C: how fast the window grows, in segments per second cubed.
        value cubic_c: f64 = 0.4, in above(0.0);
        /// The factor of the window at a loss.
        value cubic_beta: f64 = 0.7, in proper_fraction();
    }
}

table! {
    /// DCTCP.
    pub struct Dctcp {
        /// The weight of the newest window in the estimate alpha.
        value g: f64 = DctcpConfig::new(Bytes::new(1_460)).g, in fraction();
        /// alpha at the start.
        value initial_alpha: f64 = DctcpConfig::new(Bytes::new(1_460)).initial_alpha, in between(0.0, 1.0);
    }
}

words! {
    /// How lost segments are found and repaired.
    pub enum Recovery {
        /// Fast recovery ends with the first new ACK.
        "reno" => Reno,
        /// Fast recovery lasts until all is repaired, one hole a round trip (RFC 6582).
        "new-reno" => NewReno,
        /// Selective acknowledgements (RFC 2018, 6675).
        "sack" => Sack,
    }
}

words! {
    /// The use of ECN.
    pub enum EcnMode {
        /// None.
        "off" => Off,
        /// RFC 3168: ECE until CWR.
        "classic" => Classic,
        /// RFC 8257: ECE follows the marks.
        "dctcp" => Dctcp,
    }
}

words! {
    /// What the receiver does when the marks begin or end.
    pub enum CeChange {
        /// The ACK that waits, if any, then one for this packet.
        "linux" => Linux,
        /// One ACK for what came before, as in figure 10 of the DCTCP slides.
        "figure-10" => Figure10,
    }
}

word_or! {
    /// A limit of a window.
    pub enum WindowLimit {
        /// None.
        "unlimited" => Unlimited,
        /// At most this.
        Limited(Amount),
    }
}

impl Recovery {
    fn default_for(congestion: Option<&Congestion>) -> Self {
        match congestion {
            Some(Congestion::Reno(_)) => Self::Reno,
            None | Some(Congestion::NewReno(_)) => Self::NewReno,
            Some(Congestion::Cubic(_) | Congestion::Dctcp(_)) => Self::Sack,
        }
    }
}

impl EcnMode {
    fn default_for(congestion: Option<&Congestion>) -> Self {
        match congestion {
            Some(Congestion::Dctcp(_)) => Self::Dctcp,
            _ => Self::Off,
        }
    }
}

impl Tcp {
    /// An amount in bytes, packets as segments.
    pub fn bytes(&self, amount: Amount) -> Bytes {
        match amount {
            Amount::Bytes(bytes) => bytes,
            Amount::Packets(packets) => {
                Bytes::new(packets.count().saturating_mul(self.mss.count()))
            }
        }
    }
}
