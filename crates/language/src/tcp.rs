//! TCP's part of `[transport]`: connections, recovery, timers, ECN, and the congestion control.

use incastle_congestion::{Algorithm, Bbr, BbrConfig, Cubic as CubicController, CubicConfig};
use incastle_congestion::{CwaExtremes, CwaReaction, DtCwa as DtCwaController, DtCwaConfig};
use incastle_congestion::{D2tcp as D2tcpController, D2tcpConfig};
use incastle_congestion::{Dctcp as DctcpController, DctcpConfig};
use incastle_congestion::{NewReno as NewRenoController, NewRenoConfig};
use incastle_congestion::{PacingRatio, SlowStart, WindowRule};
use incastle_congestion::{Prague as PragueController, PragueConfig};
use incastle_congestion::{Swift as SwiftController, SwiftConfig};
use incastle_transport::tcp;
use incastle_units::{Amount, Bytes, Packets, Span};

use crate::custom::Custom;
use crate::grammar::declare::{NoKeys, choice, table, word_or, words};
use crate::grammar::range::{above, at_least, between, fraction, proper_fraction, within_a_day};
use crate::preset::Preset;

/// Payload bytes of a full segment, unless a scenario sets another.
fn default_mss() -> Bytes {
    Bytes::new(u64::from(tcp::Config::default().mss))
}

/// Bytes as whole segments of the default size.
fn segments(bytes: Bytes) -> Amount {
    Amount::Packets(Packets::new(bytes.count() / default_mss().count()))
}

table! {
    /// TCP. Sizes in packets mean segments of `mss`.
    pub struct Tcp {
        /// The set of defaults of the keys below; a key that is written has its value under each of them.
        value preset: Preset = Preset::Linux;
        /// The sender's congestion control.
        flat congestion: Congestion;
        /// Application bytes of a full segment; 40 bytes of headers come on top.
        value mss: Bytes = default_mss(), in between(Bytes::new(1), Bytes::new(65_000));
        /// The loss recovery.
        value recovery: tcp::Recovery = preset.recovery(congestion.as_ref()), shown "`\"rack-tlp\"`; under `preset = \"ns-2-2010\"` `\"reno\"` with reno, `\"new-reno\"` with new-reno, `\"rack-tlp\"` with bbr, else `\"sack\"`";
        /// Tail loss probes (RFC 8985, section 7). They need `recovery = "rack-tlp"`, as the next four do.
        value tail_loss_probe: bool = is_rack(recovery), shown "true under `recovery = \"rack-tlp\"`, else false";
        /// Reports of segments that arrived twice (RFC 2883). They widen RACK's window for reordering, and undo needless recoveries.
        value dsack: bool = is_rack(recovery), shown "true under `recovery = \"rack-tlp\"`, else false";
        /// Proportional rate reduction in recovery (RFC 9937).
        value prr: bool = preset.is_recent() && is_rack(recovery) && !is_bbr(congestion.as_ref()), shown "true under `recovery = \"rack-tlp\"`, else false; false under `preset = \"ns-2-2010\"` and under bbr";
        /// The same after a mark, as in Linux: the window falls over a round trip. Else a mark sets it at once. It needs `recovery = "rack-tlp"`.
        value prr_on_ecn: bool = preset.prr_on_ecn(recovery, congestion.as_ref()), shown "true under new-reno, reno and cubic with `preset = \"linux\"` and `recovery = \"rack-tlp\"`, else false";
        /// Windows in bytes, or as Linux in whole segments. `"linux"` needs `recovery = "rack-tlp"`.
        value window_rule: WindowRule = preset.window_rule(recovery, congestion.as_ref()), shown "`\"linux\"` under new-reno, reno and cubic with `preset = \"linux\"` and `recovery = \"rack-tlp\"`, else `\"rfc\"`";
        /// Detection of spurious timeouts, which are then undone (RFC 5682).
        value f_rto: bool = preset.is_recent() && is_rack(recovery), shown "true under `recovery = \"rack-tlp\"`, else false; false under `preset = \"ns-2-2010\"`";
        /// RACK-TLP as RFC 8985 has it, or as Linux: with longer timers of probes and of reordering, and without timestamps. `"linux"` needs `recovery = "rack-tlp"`.
        value loss_detection: tcp::LossDetection = preset.loss_detection(recovery), shown "`\"linux\"`; `\"rfc\"` under another `preset` or `recovery`";
        /// The use of ECN.
        value ecn: EcnMode = EcnMode::default_for(congestion.as_ref()), shown "`\"dctcp\"` under dctcp, d2tcp, dt-cwa and prague, else `\"off\"`";
        /// Packets with CWR are acknowledged at once, and under `ecn = "classic"` the first mark and the packet after it, as in Linux.
        value quick_acks_on_ecn: bool = preset == Preset::Linux && ecn == EcnMode::Classic, shown "true under `preset = \"linux\"` and `ecn = \"classic\"`, else false";
        /// When the receiver's CE state changes under `ecn = "dctcp"`.
        value ce_change: tcp::CeChange = tcp::CeChange::Linux;
        /// Whether SYN, SYN-ACK, pure ACKs and retransmissions are ECN-capable too.
        value ect_on_control: bool = ecn.with(ce_change).default_ect_on_control(), shown "true under `ecn = \"dctcp\"`, else false";
        /// Whether ACKs with ECE grow the window.
        value grow_on_ece: bool = NewRenoConfig::new(default_mss()).grow_on_ece;
        /// The end of slow start.
        value slow_start: SlowStart = preset.slow_start(congestion.as_ref()), shown "`\"standard\"`, under cubic `\"hystart\"`; `\"hystart++\"` under new-reno, reno and cubic with `preset = \"rfc\"`; `\"standard\"` under `preset = \"ns-2-2010\"`";
        /// One ACK grows the window in slow start by at most this number of segments (L of RFC 3465 and 9406).
        value abc_limit: AbcLimit = preset.abc_limit(slow_start), shown "8 under `slow_start = \"hystart++\"`, else `\"unlimited\"`; 2 under `preset = \"rfc\"` and `\"ns-2-2010\"`";
        /// Whether segments leave at a rate of the window per round-trip time, as with Linux's internal pacing, unless the control has a rate of its own.
        value pacing: bool = false;
        /// That rate in slow start, in percent of the window per round-trip time.
        value pacing_ss_ratio: u32 = PacingRatio::LINUX.slow_start, in between(1, 1_000);
        /// The same from half of ssthresh on.
        value pacing_ca_ratio: u32 = PacingRatio::LINUX.avoidance, in between(1, 1_000);
        /// The window at the start.
        value initial_window: Amount = segments(tcp::Config::default().initial_window);
        /// The least window after a reaction to marks.
        value min_cwnd: Amount = segments(NewRenoConfig::new(default_mss()).min_cwnd);
        /// The greatest congestion window.
        value max_cwnd: WindowLimit = WindowLimit::Unlimited;
        /// The window that the receiver offers; unlimited is 1 GiB, the maximum of TCP.
        value receive_window: WindowLimit = WindowLimit::Unlimited;
        /// The three-way handshake; without it connections begin established.
        value handshake: bool = tcp::Config::default().handshake;
        /// The least retransmission timeout.
        value min_rto: Span = preset.min_rto(), shown "`\"200 ms\"`; `\"1 s\"` under `preset = \"rfc\"`", in within_a_day();
        /// The granularity of the retransmission timer.
        value rto_granularity: Span = tcp::RtoConfig::default().granularity, in within_a_day();
        /// The retransmission timeout before the first round-trip sample.
        value initial_rto: Span = tcp::RtoConfig::default().initial, in within_a_day();
        /// The greatest retransmission timeout.
        value max_rto: Span = preset.max_rto(), shown "`\"120 s\"`; `\"60 s\"` under `preset = \"rfc\"` and `\"ns-2-2010\"`", in within_a_day();
        /// Draws each timeout from 1 to 1.5 times its value (Vasudevan 2009).
        value randomized_rto: bool = tcp::RtoConfig::default().randomized;
        /// Round-trip times by timestamps; otherwise by Karn's rule.
        value timestamps: bool = tcp::Config::default().timestamps;
        /// One ACK for this number of segments; 1 turns delayed ACKs off.
        value delayed_ack_count: u32 = default_delayed_acks(congestion.as_ref()), shown "`1` under swift, else `2`", in at_least(1);
        /// The longest delay of an ACK.
        value delayed_ack_timeout: Span = preset.delayed_ack_timeout(), shown "`\"40 ms\"`; `\"500 ms\"` under `preset = \"rfc\"`", in within_a_day();
        /// New segments on the first two duplicate ACKs (RFC 3042).
        value limited_transmit: bool = tcp::Config::default().limited_transmit;
        /// Slow start after idleness (RFC 5681, section 4.1).
        value slow_start_after_idle: bool = tcp::Config::default().slow_start_after_idle;
    }
}

choice! {
    /// The sender's congestion control.
    pub enum Congestion by congestion = "new-reno", elsewhere crate::elsewhere::instead, besides "a Python class such as \"my_controller.py:Delay\"" {
        /// NewReno: slow start, congestion avoidance, halving (RFC 5681, 6582)
        "new-reno" => NewReno(NoKeys),
        /// Reno: as NewReno, but recovery ends with the first new ACK (RFC 2581)
        "reno" => Reno(NoKeys),
        /// CUBIC: the window grows with the cube of the time since the last loss (RFC 9438)
        "cubic" => Cubic(Cubic),
        /// DCTCP: the window shrinks in proportion to the fraction of marked data (RFC 8257)
        "dctcp" => Dctcp(Dctcp),
        /// D2TCP: DCTCP that backs off less before a near deadline, and more before a far one (Vamanan 2012)
        "d2tcp" => D2tcp(D2tcp),
        /// DT-CWA: the window steps down while marks come back, and is lifted once after them (Sreekumari 2018)
        "dt-cwa" => DtCwa(DtCwa),
        /// Prague: DCTCP for L4S, which sends ECT(1), paces, and competes as at 25 ms (draft-briscoe-iccrg-prague-congestion-control-04)
        "prague" => Prague(Prague),
        /// Swift: the window holds the delay at a target, which grows with hops and flows (Kumar 2020)
        "swift" => Swift(Swift),
        /// BBR version 3: paces by a model of the path, its bandwidth and least round-trip time, within bounds that losses set (draft-ietf-ccwg-bbr-06)
        "bbr" => Bbr(NoKeys),
        /// a user-defined controller: a Python class, or one that a program in Rust registers
        "custom" => Custom(Custom),
    }
}

table! {
    /// CUBIC.
    pub struct Cubic {
        /// C: the factor of the window's cubic growth, in segments per second cubed.
        value cubic_c: f64 = CubicConfig::new(default_mss()).c, in above(0.0);
        /// The share of the flight size that is left by a reaction.
        value cubic_beta: f64 = CubicConfig::new(default_mss()).beta, in proper_fraction();
        /// A flow that reacts below its last maximum aims lower, to make room for others.
        value fast_convergence: bool = CubicConfig::new(default_mss()).fast_convergence;
    }
}

table! {
    /// DCTCP.
    pub struct Dctcp {
        /// The weight of the newest window in the estimate alpha.
        value g: f64 = DctcpConfig::new(default_mss()).g, in fraction();
        /// alpha at the start.
        value initial_alpha: f64 = DctcpConfig::new(default_mss()).initial_alpha, in between(0.0, 1.0);
    }
}

table! {
    /// D2TCP.
    pub struct D2tcp {
        /// DCTCP's.
        flat estimate: Dctcp;
        /// The least urgency d, that of a deadline far away.
        value d_min: f64 = D2tcpConfig::new(default_mss()).min_urgency, in fraction();
        /// The greatest urgency d, that of a deadline that cannot be met.
        value d_max: f64 = D2tcpConfig::new(default_mss()).max_urgency, in between(1.0, 1000.0);
    }
}

table! {
    /// DT-CWA. alpha is computed for `windows` alone.
    pub struct DtCwa {
        /// DCTCP's.
        flat estimate: Dctcp;
        /// b of equation 2: the share of CW_max - CW_min by which the window grows at the end of an episode of marks.
        value b: f64 = DtCwaConfig::new(default_mss()).b, in between(0.0, 1.0);
        /// The readings of the paper where it leaves a choice.
        section readings: DtCwaReadings;
    }
}

table! {
    /// Prague.
    pub struct Prague {
        /// DCTCP's; alpha is not updated before the first mark.
        flat estimate: Dctcp;
        /// Flows with a shorter round-trip time compete as if theirs was this long; 0 turns that off.
        value rtt_target: Span = PragueConfig::new(default_mss()).rtt_target, in between(Span::ZERO, Span::from_secs(86_400));
        /// Round trips from the end of slow start until then.
        value rtt_transition: u32 = PragueConfig::new(default_mss()).rtt_transition;
    }
}

table! {
    /// Swift. Its windows are in segments, and may be less than one.
    pub struct Swift {
        /// The target delay of a path without switches, for large windows.
        value base_target: Span = SwiftConfig::new(default_mss()).base_target, in between(Span::from_ns(1), Span::from_secs(1_000));
        /// The addition for each switch of the path.
        value hop_scale: Span = SwiftConfig::new(default_mss()).hop_scale, in between(Span::ZERO, Span::from_secs(1_000));
        /// The most that small windows add to the target; 0 turns flow scaling off.
        value fs_range: Span = SwiftConfig::new(default_mss()).fs_range, in between(Span::ZERO, Span::from_secs(1_000));
        /// The window up to which they add all of it, in segments.
        value fs_min_cwnd: f64 = SwiftConfig::new(default_mss()).fs_min_cwnd, in above(0.0);
        /// The window from which on they add nothing, in segments.
        value fs_max_cwnd: f64 = SwiftConfig::new(default_mss()).fs_max_cwnd, in above(0.0);
        /// The increase per round trip below the target, in segments.
        value ai: f64 = SwiftConfig::new(default_mss()).ai, in above(0.0);
        /// The weight of the excess of the delay over the target in a decrease.
        value beta: f64 = SwiftConfig::new(default_mss()).beta, in above(0.0);
        /// The greatest decrease, at most one per round trip; losses decrease by it, too.
        value max_mdf: f64 = SwiftConfig::new(default_mss()).max_mdf, in proper_fraction();
        /// This many timeouts in a row make the window 0.001 segments.
        value retx_reset_threshold: u32 = SwiftConfig::new(default_mss()).retx_reset_threshold, in at_least(1);
    }
}

table! {
    /// Readings of DT-CWA.
    pub struct DtCwaReadings {
        /// The reading of the reaction to marks.
        value reaction: CwaReaction = DtCwaConfig::new(default_mss()).reaction;
        /// The period over which CW_max and CW_min are the extremes of the window.
        value extremes: CwaExtremes = DtCwaConfig::new(default_mss()).extremes;
    }
}

words! {
    for CwaReaction {
        /// CW - (CW_max - CW_min) / a.
        "subtract" => Subtract,
        /// |(CW_max - CW_min) / a - CW|.
        "absolute" => Absolute,
        /// As it stands: negative, so that the window falls to its floor.
        "printed" => Printed,
    }
}

words! {
    for CwaExtremes {
        /// Since the reaction to the last marks.
        "episode" => Episode,
        /// Since the first of the last marks.
        "notification" => Notification,
        /// Since the last loss.
        "loss" => Loss,
    }
}

words! {
    for SlowStart {
        /// With the first loss or mark.
        "standard" => Standard,
        /// When the ACKs of a round span half a round trip or the delay has grown (HyStart of Linux's CUBIC).
        "hystart" => Hystart,
        /// When the delay has grown, after rounds of slower growth (RFC 9406).
        "hystart++" => HystartPlusPlus,
    }
}

words! {
    for tcp::Recovery {
        /// Fast recovery ends with the first new ACK.
        "reno" => Reno,
        /// Fast recovery lasts until all is repaired, one hole a round trip (RFC 6582).
        "new-reno" => NewReno,
        /// Selective acknowledgements (RFC 2018, 6675).
        "sack" => Sack,
        /// Selective acknowledgements, and losses found by time in place of duplicate ACKs (RFC 8985).
        "rack-tlp" => RackTlp,
    }
}

words! {
    for tcp::LossDetection {
        /// A probe after two round trips, and the delay of an ACK where one may be delayed (RFC 8985).
        "rfc" => Rfc,
        /// A probe 2 ms after two round trips, or `min_rto` after them with one segment outstanding; 2 ms more for reordering; no timestamps; a lost retransmission reduces nothing (Linux 6.18).
        "linux" => Linux,
    }
}

words! {
    for WindowRule {
        /// In bytes. A reaction takes a share of the data in flight, and a window grows while it is full (RFC 5681).
        "rfc" => Rfc,
        /// In whole segments. A reaction takes a share of the window, and a window that was full grows until all of it is acknowledged (Linux 6.18).
        "linux" => Linux,
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
    for tcp::CeChange {
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

word_or! {
    /// The growth of a window by one ACK in slow start.
    pub enum AbcLimit {
        /// All that is acknowledged.
        "unlimited" => Unlimited,
        /// At most this number of segments.
        Segments(u32) in at_least(1),
    }
}

impl Congestion {
    /// Whether windows may be counted like this: those of the others have rules of their own.
    pub fn follows(&self, rule: WindowRule) -> bool {
        rule == WindowRule::Rfc || matches!(self, Self::NewReno(_) | Self::Reno(_) | Self::Cubic(_))
    }

    /// Whether slow start may end like this.
    pub fn knows(&self, slow_start: SlowStart) -> bool {
        match slow_start {
            SlowStart::Standard => true,
            SlowStart::Hystart => matches!(self, Self::Cubic(_)),
            SlowStart::HystartPlusPlus => !matches!(
                self,
                Self::DtCwa(_) | Self::Prague(_) | Self::Swift(_) | Self::Bbr(_) | Self::Custom(_)
            ),
        }
    }

    /// Whether the window of a flow without marks and losses never shrinks. Swift's does above its target, BBR probes
    /// the path, and nothing is known of custom controllers.
    pub fn shrinks_by_signals_alone(&self) -> bool {
        !matches!(self, Self::Swift(_) | Self::Bbr(_) | Self::Custom(_))
    }

    /// Whether the sender needs DCTCP's echo, which reports the marked data exactly.
    pub fn needs_fractions(&self) -> bool {
        matches!(
            self,
            Self::Dctcp(_) | Self::D2tcp(_) | Self::DtCwa(_) | Self::Prague(_)
        )
    }

    /// A controller at the beginning of a connection with these windows over a path with this number of switches, on
    /// hosts that send `burst` packets together.
    pub(crate) fn controller(&self, window: NewRenoConfig, hops: u32, burst: u32) -> Algorithm {
        match self {
            Self::NewReno(_) | Self::Reno(_) => Algorithm::NewReno(NewRenoController::new(window)),
            Self::Cubic(cubic) => Algorithm::from(CubicController::new(CubicConfig {
                window,
                beta: cubic.cubic_beta,
                c: cubic.cubic_c,
                fast_convergence: cubic.fast_convergence,
            })),
            Self::Dctcp(dctcp) => Algorithm::Dctcp(DctcpController::new(dctcp.to_config(window))),
            Self::D2tcp(d2tcp) => Algorithm::from(D2tcpController::new(D2tcpConfig {
                dctcp: d2tcp.estimate.to_config(window),
                min_urgency: d2tcp.d_min,
                max_urgency: d2tcp.d_max,
            })),
            Self::DtCwa(dt_cwa) => Algorithm::from(DtCwaController::new(DtCwaConfig {
                dctcp: dt_cwa.estimate.to_config(window),
                reaction: dt_cwa.readings.reaction,
                extremes: dt_cwa.readings.extremes,
                b: dt_cwa.b,
            })),
            Self::Prague(prague) => Algorithm::from(PragueController::new(PragueConfig {
                window,
                g: prague.estimate.g,
                initial_alpha: prague.estimate.initial_alpha,
                rtt_target: prague.rtt_target,
                rtt_transition: prague.rtt_transition,
            })),
            Self::Swift(swift) => {
                let config = swift.to_config(window.mss, window.initial_window, hops);
                Algorithm::from(SwiftController::new(config))
            }
            Self::Bbr(_) => {
                let least = BbrConfig::new(window.mss);
                Algorithm::from(Bbr::new(BbrConfig {
                    initial_window: window.initial_window,
                    send_quantum: least.send_quantum.max(window.mss * u64::from(burst)),
                    ..least
                }))
            }
            Self::Custom(custom) => Algorithm::Custom(custom.make(window)),
        }
    }
}

impl Dctcp {
    fn to_config(&self, window: NewRenoConfig) -> DctcpConfig {
        DctcpConfig {
            window,
            g: self.g,
            initial_alpha: self.initial_alpha,
        }
    }
}

impl Swift {
    fn to_config(&self, mss: Bytes, initial_window: Bytes, hops: u32) -> SwiftConfig {
        SwiftConfig {
            mss,
            initial_window,
            ai: self.ai,
            beta: self.beta,
            max_mdf: self.max_mdf,
            base_target: self.base_target,
            hop_scale: self.hop_scale,
            hops,
            fs_range: self.fs_range,
            fs_min_cwnd: self.fs_min_cwnd,
            fs_max_cwnd: self.fs_max_cwnd,
            retx_reset_threshold: self.retx_reset_threshold,
        }
    }
}

/// Swift's receiver delays no ACKs: their delay would be taken for the path's.
fn default_delayed_acks(congestion: Option<&Congestion>) -> u32 {
    match congestion {
        Some(Congestion::Swift(_)) => 1,
        _ => tcp::Config::default().delayed_ack_count,
    }
}

fn is_bbr(congestion: Option<&Congestion>) -> bool {
    matches!(congestion, Some(Congestion::Bbr(_)))
}

fn is_rack(recovery: tcp::Recovery) -> bool {
    recovery == tcp::Recovery::RackTlp
}

impl EcnMode {
    fn default_for(congestion: Option<&Congestion>) -> Self {
        if congestion.is_some_and(Congestion::needs_fractions) {
            Self::Dctcp
        } else {
            Self::Off
        }
    }

    /// As the transport has it.
    fn with(self, ce_change: tcp::CeChange) -> tcp::EcnMode {
        match self {
            Self::Off => tcp::EcnMode::Off,
            Self::Classic => tcp::EcnMode::Classic,
            Self::Dctcp => tcp::EcnMode::Dctcp(ce_change),
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

    fn limit(&self, limit: WindowLimit) -> Option<Bytes> {
        match limit {
            WindowLimit::Unlimited => None,
            WindowLimit::Limited(amount) => Some(self.bytes(amount)),
        }
    }

    /// As the transport has it, on hosts that send `burst` segments together.
    pub fn to_config(&self, burst: u32) -> tcp::Config {
        tcp::Config {
            mss: u16::try_from(self.mss.count()).expect("the range of mss lies within 16 bits"),
            recovery: self.recovery,
            tail_loss_probe: self.tail_loss_probe,
            dsack: self.dsack,
            prr: self.prr,
            prr_on_ecn: self.prr_on_ecn,
            window_rule: self.window_rule,
            quick_acks_on_ecn: self.quick_acks_on_ecn,
            f_rto: self.f_rto,
            loss_detection: self.loss_detection,
            ecn: self.ecn.with(self.ce_change),
            ect_on_control: self.ect_on_control,
            handshake: self.handshake,
            l4s: matches!(self.congestion, Congestion::Prague(_)),
            rto: tcp::RtoConfig {
                min: self.min_rto,
                granularity: self.rto_granularity,
                initial: self.initial_rto,
                max: self.max_rto,
                randomized: self.randomized_rto,
            },
            timestamps: self.timestamps,
            delayed_ack_count: self.delayed_ack_count,
            delayed_ack_timeout: self.delayed_ack_timeout,
            receive_window: self
                .limit(self.receive_window)
                .unwrap_or(tcp::MAX_RECEIVE_WINDOW),
            max_cwnd: self.limit(self.max_cwnd),
            initial_window: self.bytes(self.initial_window),
            limited_transmit: self.limited_transmit,
            slow_start_after_idle: self.slow_start_after_idle,
            burst,
            pacing: self.pacing.then_some(PacingRatio {
                slow_start: self.pacing_ss_ratio,
                avoidance: self.pacing_ca_ratio,
            }),
        }
    }

    /// A controller at the beginning of a connection over a path with this number of switches, on hosts that send
    /// `burst` segments together.
    pub fn controller(&self, hops: u32, burst: u32) -> Algorithm {
        let window = NewRenoConfig {
            mss: self.mss,
            initial_window: self.bytes(self.initial_window),
            min_cwnd: self.bytes(self.min_cwnd),
            grow_on_ece: self.grow_on_ece,
            abc_limit: match self.abc_limit {
                AbcLimit::Unlimited => u32::MAX,
                AbcLimit::Segments(segments) => segments,
            },
            slow_start: self.slow_start,
            paced: self.pacing,
            rule: self.window_rule,
        };
        self.congestion.controller(window, hops, burst)
    }
}
