//! `transport.preset`: the defaults of TCP's keys as sets with names. A key that is written has its value under
//! each of them.
//!
//! docs/models/tcp.md has the values and their sources.

use incastle_congestion::{NewRenoConfig, SlowStart, WindowRule};
use incastle_transport::tcp;
use incastle_units::{Bytes, Span};

use crate::elsewhere::choice_of_preset;
use crate::grammar::declare::words;
use crate::tcp::{AbcLimit, Congestion};

words! {
    /// Defaults of the keys below.
    pub enum Preset, choice choice_of_preset {
        /// Linux 6.18: `rack-tlp` with `prr` (new-reno, reno and cubic after a mark, too) and `f_rto`; these three count whole segments; HyStart for CUBIC; `min_rto` 200 ms, `max_rto` 120 s.
        "linux" => Linux,
        /// The RFCs: `rack-tlp` with `prr` and `f_rto`; HyStart++; `min_rto` 1 s, ACKs delayed by up to 500 ms.
        "rfc" => Rfc,
        /// Studies of data centers around 2010, in ns-2: recovery by duplicate ACKs; `min_rto` 200 ms.
        "ns-2-2010" => Ns2,
    }
}

impl Preset {
    /// Whether it has the mechanisms of RACK-TLP.
    pub(crate) fn is_recent(self) -> bool {
        self != Self::Ns2
    }

    pub(crate) fn recovery(self, congestion: Option<&Congestion>) -> tcp::Recovery {
        match (self, congestion) {
            (Self::Linux | Self::Rfc, _) | (Self::Ns2, Some(Congestion::Bbr(_))) => {
                tcp::Recovery::RackTlp
            }
            (Self::Ns2, Some(Congestion::Reno(_))) => tcp::Recovery::Reno,
            (Self::Ns2, None | Some(Congestion::NewReno(_))) => tcp::Recovery::NewReno,
            (Self::Ns2, Some(_)) => tcp::Recovery::Sack,
        }
    }

    /// tcp_schedule_loss_probe(), tcp_rack_mark_lost() and tcp_rack_advance() of Linux.
    pub(crate) fn loss_detection(self, recovery: tcp::Recovery) -> tcp::LossDetection {
        match (self, recovery) {
            (Self::Linux, tcp::Recovery::RackTlp) => tcp::LossDetection::Linux,
            _ => tcp::LossDetection::Rfc,
        }
    }

    /// tcp_cong_avoid_ai(), tcp_reno_ssthresh() and tcp_is_cwnd_limited() of Linux. Our DCTCP in the kernel keeps
    /// fractions of a segment.
    pub(crate) fn window_rule(
        self,
        recovery: tcp::Recovery,
        congestion: Option<&Congestion>,
    ) -> WindowRule {
        if self.prr_on_ecn(recovery, congestion) {
            WindowRule::Linux
        } else {
            WindowRule::Rfc
        }
    }

    /// tcp_enter_cwr() of Linux. Our DCTCP in the kernel sets its window at once, as RFC 8257 has it.
    pub(crate) fn prr_on_ecn(
        self,
        recovery: tcp::Recovery,
        congestion: Option<&Congestion>,
    ) -> bool {
        let classic = matches!(
            congestion,
            None | Some(Congestion::NewReno(_) | Congestion::Reno(_) | Congestion::Cubic(_))
        );
        self == Self::Linux && recovery == tcp::Recovery::RackTlp && classic
    }

    /// Linux has HyStart for CUBIC alone; RFC 9438, section 4.10, and RFC 9406 recommend HyStart++.
    pub(crate) fn slow_start(self, congestion: Option<&Congestion>) -> SlowStart {
        match (self, congestion) {
            (Self::Linux, Some(Congestion::Cubic(_))) => SlowStart::Hystart,
            (
                Self::Rfc,
                None | Some(Congestion::NewReno(_) | Congestion::Reno(_) | Congestion::Cubic(_)),
            ) => SlowStart::HystartPlusPlus,
            _ => SlowStart::Standard,
        }
    }

    /// tcp_slow_start() of Linux counts all that is acknowledged; RFC 9406, section 4.3: L = 8 for senders that do
    /// not pace; else L = 2 (RFC 3465).
    pub(crate) fn abc_limit(self, slow_start: SlowStart) -> AbcLimit {
        match (self, slow_start) {
            (_, SlowStart::HystartPlusPlus) => AbcLimit::Segments(8),
            (Self::Linux, _) => AbcLimit::Unlimited,
            (Self::Rfc | Self::Ns2, _) => {
                AbcLimit::Segments(NewRenoConfig::new(Bytes::new(1)).abc_limit)
            }
        }
    }

    /// RFC 6298, section 2.4: 1 s; TCP_RTO_MIN of Linux.
    pub(crate) fn min_rto(self) -> Span {
        match self {
            Self::Rfc => Span::from_secs(1),
            Self::Linux | Self::Ns2 => tcp::RtoConfig::default().min,
        }
    }

    /// TCP_RTO_MAX of Linux.
    pub(crate) fn max_rto(self) -> Span {
        match self {
            Self::Linux => Span::from_secs(120),
            Self::Rfc | Self::Ns2 => tcp::RtoConfig::default().max,
        }
    }

    /// RFC 9293, section 3.8.6.3: less than 0.5 s; TCP_DELACK_MIN of Linux.
    pub(crate) fn delayed_ack_timeout(self) -> Span {
        match self {
            Self::Rfc => Span::from_ms(500),
            Self::Linux | Self::Ns2 => tcp::Config::default().delayed_ack_timeout,
        }
    }
}
