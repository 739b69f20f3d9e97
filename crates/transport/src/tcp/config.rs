//! The parameters of a TCP endpoint, their defaults and their limits.
//!
//! [`Config::default`] is the single place where the defaults stand; the scenario language and
//! docs/models/tcp.md repeat them from here. Leaves out: the parameters of the window rule, which
//! belong to the controllers.

use incastle_congestion::{PacingRatio, WindowRule};
use incastle_units::{Bytes, Span};
use thiserror::Error;

use super::loss_detection::LossDetection;

/// The largest receive window: 2^30 bytes, as with the largest window scale (RFC 7323,
/// section 2.3). It keeps everything outstanding well inside half of the sequence space.
pub const MAX_RECEIVE_WINDOW: Bytes = Bytes::new(1 << 30);

/// The loss recovery after duplicate ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Recovery {
    /// RFC 5681: one retransmission per recovery, which the first new ACK ends.
    Reno,
    /// RFC 6582: partial ACKs retransmit the next hole.
    #[default]
    NewReno,
    /// RFC 6675: recovery by selective acknowledgements.
    Sack,
    /// RFC 8985: recovery by selective acknowledgements and time.
    RackTlp,
}

impl Recovery {
    /// Whether the receiver reports data beyond a gap.
    pub const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack | Self::RackTlp)
    }
}

/// When a DCTCP receiver sends its ACKs at a change of the CE bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CeChange {
    /// A pending delayed ACK leaves immediately with the old echo. The packet that changed the
    /// state is acknowledged immediately with the new one (Linux; RFC 8257, section 3.2).
    #[default]
    Linux,
    /// A pending delayed ACK leaves immediately with the old echo; the packet that changed the
    /// state waits like any other (Alizadeh et al. 2010, figure 10).
    Figure10,
}

/// An endpoint's use of ECN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EcnMode {
    /// Not ECN-capable.
    #[default]
    Off,
    /// RFC 3168: ECE from a mark until CWR.
    Classic,
    /// RFC 8257: ECE repeats the CE bit of the received segment; CWR is ignored.
    Dctcp(CeChange),
}

impl EcnMode {
    /// Whether control packets of such traffic are ECN-capable by default:
    /// RFC 3168 forbids it, DCTCP needs it where switches drop other packets above the threshold.
    pub const fn default_ect_on_control(self) -> bool {
        matches!(self, Self::Dctcp(_))
    }
}

/// The retransmission timer (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoConfig {
    /// The minimum timeout.
    pub min: Span,
    /// The timer's granularity G; timeouts are whole multiples of it.
    pub granularity: Span,
    /// The timeout before the first round-trip sample.
    pub initial: Span,
    /// The maximum, which back-off reaches.
    pub max: Span,
    /// Whether each timeout is lengthened by U(0, 0.5) of itself (Vasudevan et al. 2009).
    pub randomized: bool,
}

/// The parameters of a TCP endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Payload bytes of a full segment.
    pub mss: u16,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Tail loss probes (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// Reports of duplicates (RFC 2883), and the undoing of needless reactions by them.
    pub dsack: bool,
    /// Proportional rate reduction in recovery (RFC 9937).
    pub prr: bool,
    /// The same after a mark; else a mark sets the window at once.
    pub prr_on_ecn: bool,
    /// When a sender counts as limited by its window: while it fills it, or as Linux. The controller's
    /// constructor reads it, too.
    pub window_rule: WindowRule,
    /// Detection of spurious timeouts (RFC 5682).
    pub f_rto: bool,
    /// RACK-TLP as RFC 8985 has it, or as Linux.
    pub loss_detection: LossDetection,
    /// ECN.
    pub ecn: EcnMode,
    /// Whether CWR is acknowledged immediately, and under classic ECN the first mark and the packet after it
    /// (Linux).
    pub quick_acks_on_ecn: bool,
    /// Whether SYN, SYN-ACK, pure ACKs, probes and retransmissions are ECN-capable too.
    pub ect_on_control: bool,
    /// Whether the connection opens with a three-way handshake or starts established.
    pub handshake: bool,
    /// Whether ECN-capable packets carry ECT(1), the identifier of L4S (RFC 9331), instead of ECT(0).
    pub l4s: bool,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Round trips by timestamps (RFC 7323); else one timed segment at a time and Karn's rule.
    pub timestamps: bool,
    /// One ACK for this many segments; 1 turns delayed ACKs off.
    pub delayed_ack_count: u32,
    /// The maximum delay of an ACK that waits for further segments.
    pub delayed_ack_timeout: Span,
    /// The receiver's buffer.
    pub receive_window: Bytes,
    /// The most that may be outstanding, for any window of the controller.
    pub max_cwnd: Option<Bytes>,
    /// The window at the start and after idleness. The endpoint never reads it: the controller's
    /// constructor does.
    pub initial_window: Bytes,
    /// Whether the first two duplicate ACKs release a new segment each (RFC 3042).
    pub limited_transmit: bool,
    /// Whether an idle period longer than the timeout is reported to the controller (RFC 5681,
    /// section 4.1).
    pub slow_start_after_idle: bool,
    /// Segments that leave together (segmentation offload); 1 sends each as soon as it may leave.
    pub burst: u32,
    /// TCP's internal pacing, where the controller has no rate of its own.
    pub pacing: Option<PacingRatio>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            mss: 1460,
            recovery: Recovery::NewReno,
            tail_loss_probe: false,
            dsack: false,
            prr: false,
            prr_on_ecn: false,
            window_rule: WindowRule::Rfc,
            f_rto: false,
            loss_detection: LossDetection::Rfc,
            ecn: EcnMode::Off,
            quick_acks_on_ecn: false,
            ect_on_control: EcnMode::Off.default_ect_on_control(),
            handshake: true,
            l4s: false,
            rto: RtoConfig::default(),
            timestamps: true,
            delayed_ack_count: 2,
            delayed_ack_timeout: Span::from_ms(40),
            receive_window: MAX_RECEIVE_WINDOW,
            max_cwnd: None,
            // RFC 6928: ten segments.
            initial_window: Bytes::new(10 * 1460),
            limited_transmit: true,
            slow_start_after_idle: true,
            burst: 1,
            pacing: None,
        }
    }
}

impl Default for RtoConfig {
    fn default() -> Self {
        Self {
            min: Span::from_ms(200),
            granularity: Span::from_ms(1),
            initial: Span::from_secs(1),
            max: Span::from_secs(60),
            randomized: false,
        }
    }
}

/// A parameter out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A segment must carry something.
    #[error("mss must be at least 1 byte")]
    NoSegment,
    /// An ACK must cover at least one segment.
    #[error("one ACK must cover at least 1 segment")]
    NoAck,
    /// A burst must hold something.
    #[error("a burst must hold at least 1 segment")]
    NoBurst,
    /// The window must hold something and fit the field.
    #[error("the receive window must lie between 1 byte and 1 GiB")]
    ReceiveWindow,
    /// The window must hold one segment.
    #[error("max_cwnd must hold at least one segment")]
    MaxCwnd,
    /// A timer needs a granularity.
    #[error("the granularity of the retransmission timer must be longer than 0")]
    NoGranularity,
    /// A mechanism whose prerequisite is missing.
    #[error(
        "tail_loss_probe, dsack, prr, prr_on_ecn, f_rto, and Linux's loss_detection and window_rule need recovery by RACK-TLP"
    )]
    NeedsRack,
    /// The limits of the timer contradict each other.
    #[error("min_rto and initial_rto must be longer than 0 and at most max_rto")]
    RtoRange,
}

impl Config {
    /// Whether every parameter lies in its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rto = &self.rto;
        let too_short = rto.min == Span::ZERO || rto.initial == Span::ZERO;
        let too_long = rto.min > rto.max || rto.initial > rto.max;
        let mss = Bytes::new(u64::from(self.mss));
        let reductions = [self.prr, self.prr_on_ecn];
        let mechanisms = [self.tail_loss_probe, self.dsack, self.f_rto];
        let needs_rack = mechanisms.contains(&true)
            || reductions.contains(&true)
            || self.loss_detection != LossDetection::Rfc
            || self.window_rule != WindowRule::Rfc;
        let mistakes = [
            (self.mss == 0, ConfigError::NoSegment),
            (self.delayed_ack_count == 0, ConfigError::NoAck),
            (self.burst == 0, ConfigError::NoBurst),
            (
                self.receive_window == Bytes::ZERO || self.receive_window > MAX_RECEIVE_WINDOW,
                ConfigError::ReceiveWindow,
            ),
            (
                self.max_cwnd.is_some_and(|cwnd| cwnd < mss),
                ConfigError::MaxCwnd,
            ),
            (
                needs_rack && self.recovery != Recovery::RackTlp,
                ConfigError::NeedsRack,
            ),
            (rto.granularity == Span::ZERO, ConfigError::NoGranularity),
            (too_short || too_long, ConfigError::RtoRange),
        ];
        match mistakes.into_iter().find(|(wrong, _)| *wrong) {
            Some((_, mistake)) => Err(mistake),
            None => Ok(()),
        }
    }
}
