//! HPCC (Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019): a rate and a window that hold the
//! utilisation of the busiest hop at eta, from telemetry that each acknowledgement brings back.
//!
//! Algorithm 1 of the paper in rates, as in HPCC-ns3 (`HandleAckHp` of `rdma-hw.cc`, kwzhao's branch m3,
//! fc53eaae): the window is the rate times the base round-trip time. Leaves out: HPCC-PINT; any reaction to marks,
//! losses and timeouts. HPCC-ns3 ignores paths of more than
//! five hops.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::rdma_rate::{RateLimits, RateWindow, add, divide};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, HopTelemetry, Reaction, Window,
};

/// The bits of an INT word (`int-header.h` of HPCC-ns3): time in nanoseconds, sent bytes, queue.
const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 17;
/// The units of sent bytes and of the queue, times the multiplier.
const SENT_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;
/// `IntHeader::maxHop`, and `IntHop::lineRateValues` in Gbit/s.
const NS3_HOPS: usize = 5;
const NS3_RATES: [u64; 8] = [25, 50, 100, 200, 400, 10, 40, 100_000];

/// The form of the telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IntWords {
    /// Exact values.
    Exact,
    /// The words of 64 bits of HPCC-ns3, which round down and wrap around. The multiplier (INT_MULTI) stretches
    /// the units of bytes for fast ports.
    Packed {
        /// INT_MULTI, above zero.
        multiplier: u32,
    },
}

/// The parameters of HPCC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HpccConfig {
    /// The limits of the rate, and the window.
    pub limits: RateLimits,
    /// T: the round-trip time without queues.
    pub base_rtt: Span,
    /// The target of the utilisation.
    pub eta: f64,
    /// The round trips of additive increase after which a multiplicative change follows.
    pub max_stage: u32,
    /// R_AI: the additive increase; the paper's W_AI / T.
    pub ai_rate: Rate,
    /// Every acknowledgement changes the rate, from the reference of this round trip; else one per round trip.
    pub fast_react: bool,
    /// A reference rate for each hop (MULTI_RATE); the least counts.
    pub multi_rate: bool,
    /// Between two changes of the reference, hops without a queue are not read (SAMPLE_FEEDBACK).
    pub sample_feedback: bool,
    /// The form of the telemetry.
    pub int_words: IntWords,
    /// Telemetry is read as in HPCC-ns3 (`UpdateRateHp`, int-header.cc). Hops are compared by their position, also those of two
    /// paths; records of more than five hops are left unread; a rate that its header cannot express is 25 Gbit/s. If not,
    /// hops of a new path are only recorded.
    pub as_in_ns3: bool,
}

impl HpccConfig {
    /// The values of the paper: eta 95 %, maxStage 5, W_AI 80 bytes, and the bandwidth-delay product as window.
    pub fn sigcomm19(line_rate: Rate, base_rtt: Span) -> Self {
        Self {
            limits: RateLimits {
                window: RateWindow::Scaled(line_rate.bytes_in(base_rtt)),
                ..RateLimits::new(line_rate)
            },
            base_rtt,
            eta: 0.95,
            max_stage: 5,
            ai_rate: Self::rate_of_window(Bytes::new(80), base_rtt),
            fast_react: true,
            multi_rate: false,
            sample_feedback: false,
            int_words: IntWords::Exact,
            as_in_ns3: false,
        }
    }

    /// The values of `hp` in `run.py` of HPCC-ns3: U_TARGET 0.95, MI_THRESH 0, RATE_AI 10 Mbit/s and INT_MULTI 1
    /// per 25 Gbit/s, FAST_REACT 1, MULTI_RATE 0, MIN_RATE 1 Gbit/s, VAR_WIN 1.
    pub fn hpcc_ns3(line_rate: Rate, base_rtt: Span) -> Self {
        let line = line_rate.bits_per_second();
        let base = Self::sigcomm19(line_rate, base_rtt);
        Self {
            limits: RateLimits {
                min_rate: Rate::from_bits_per_second(line.min(1_000_000_000)),
                ..base.limits
            },
            max_stage: 0,
            ai_rate: Rate::from_bits_per_second(line / 2_500),
            int_words: IntWords::Packed {
                multiplier: (line / 25_000_000_000).max(1) as u32,
            },
            ..base
        }
    }

    /// R_AI of a W_AI.
    pub fn rate_of_window(w_ai: Bytes, base_rtt: Span) -> Rate {
        Rate::of(w_ai, base_rtt)
    }

    /// The rate of a hop.
    fn line_rate(&self, hop: &HopTelemetry) -> Rate {
        let known = |gbit: &u64| hop.rate.bits_per_second() == gbit * 1_000_000_000;
        if self.as_in_ns3 && !NS3_RATES.iter().any(known) {
            return Rate::from_bits_per_second(NS3_RATES[0] * 1_000_000_000);
        }
        hop.rate
    }

    fn check(&self) {
        self.limits.check();
        assert!(self.base_rtt > Span::ZERO, "the base RTT is above zero");
        assert!(0.0 < self.eta && self.eta <= 1.0, "0 < eta <= 1");
        if let IntWords::Packed { multiplier } = self.int_words {
            assert!(multiplier > 0, "INT_MULTI is above zero");
        }
    }
}

impl IntWords {
    /// The telemetry as a word carries it.
    fn read(self, hop: &HopTelemetry) -> HopTelemetry {
        let Self::Packed { multiplier } = self else {
            return *hop;
        };
        let word = |value: u64, unit: u64, bits: u32| (value / unit) % (1 << bits) * unit;
        let multiplier = u64::from(multiplier);
        let (sent, queue) = (SENT_UNIT * multiplier, QUEUE_UNIT * multiplier);
        HopTelemetry {
            rate: hop.rate,
            at: Time::from_ps(word(hop.at.as_ps(), 1_000, TIME_BITS)),
            sent: Bytes::new(word(hop.sent.count(), sent, SENT_BITS)),
            queue: Bytes::new(word(hop.queue.count(), queue, QUEUE_BITS)),
        }
    }

    /// The time and the bytes between two readings. A packed reading that is less has wrapped around once.
    fn between(self, newer: &HopTelemetry, older: &HopTelemetry) -> (Span, Bytes) {
        let (time, bytes) = match self {
            Self::Exact => (0, 0),
            Self::Packed { multiplier } => {
                let unit = SENT_UNIT * u64::from(multiplier);
                (1_000 << TIME_BITS, unit << SENT_BITS)
            }
        };
        let since = |newer: u64, older: u64, wrap: u64| {
            let wrapped = if newer < older { newer + wrap } else { newer };
            wrapped.saturating_sub(older)
        };
        (
            Span::from_ps(since(newer.at.as_ps(), older.at.as_ps(), time)),
            Bytes::new(since(newer.sent.count(), older.sent.count(), bytes)),
        )
    }
}

/// A reference rate, its smoothed utilisation, and the additive increases since the last multiplicative change.
#[derive(Debug, Clone, Copy)]
struct Reference {
    rate: Rate,
    utilisation: f64,
    stage: u32,
}

/// Whether an acknowledgement ends a round trip, so that the reference changes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Update {
    Full,
    FastReact,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Hpcc {
    config: HpccConfig,
    rate: Rate,
    reference: Reference,
    /// By hop: its last reading.
    last: Vec<HopTelemetry>,
    /// By hop, with `multi_rate`.
    references: Vec<Reference>,
    /// SND.NXT at the last full update; 0 before the first acknowledgement.
    last_update: u64,
    /// The last acknowledgement led to a rate, new or not.
    has_rated: bool,
}

/// Nanoseconds, the unit in which HPCC-ns3 calculates.
fn ns(span: Span) -> f64 {
    span.as_ps() as f64 / 1_000.0
}

impl Reference {
    fn new(config: &HpccConfig) -> Self {
        Self {
            rate: config.limits.reference(),
            utilisation: 1.0,
            stage: 0,
        }
    }

    /// The utilisation `u` of the last `tau` nanoseconds, smoothed over the base RTT `t` (algorithm 1, lines 8 and 9).
    fn smooth(&mut self, u: f64, tau: f64, t: f64) {
        let tau = tau.min(t);
        self.utilisation = (self.utilisation * (t - tau) + u * tau) / t;
    }

    /// Algorithm 1, `ComputeWind`: the new rate, and the stage after it.
    fn next(&self, config: &HpccConfig) -> Self {
        let excess = self.utilisation / config.eta;
        let multiplies = excess >= 1.0 || self.stage >= config.max_stage;
        let (base, stage) = if multiplies {
            (divide(self.rate, excess), 0)
        } else {
            (self.rate, self.stage + 1)
        };
        let limits = &config.limits;
        let rate = add(base, config.ai_rate);
        Self {
            rate: rate.max(limits.min_rate).min(limits.max_rate),
            stage,
            ..*self
        }
    }
}

impl Hpcc {
    /// A controller at the beginning of a queue pair, at `max_rate`.
    pub fn new(config: HpccConfig) -> Self {
        config.check();
        Self {
            rate: config.limits.max_rate,
            reference: Reference::new(&config),
            config,
            last: Vec::new(),
            references: Vec::new(),
            last_update: 0,
            has_rated: false,
        }
    }

    /// Whether the last acknowledgement led to a rate, new or not.
    pub(crate) const fn has_rated(&self) -> bool {
        self.has_rated
    }

    /// Keeps the telemetry without a change of the rate: there is nothing yet to compare it with. The references
    /// of a new path start at the rate of the last path.
    fn record(&mut self, hops: &[HopTelemetry]) {
        let reference = if self.last_update == 0 {
            self.reference
        } else {
            Reference {
                rate: self.rate,
                utilisation: 1.0,
                stage: 0,
            }
        };
        let words = self.config.int_words;
        self.last.clear();
        self.last.extend(hops.iter().map(|hop| words.read(hop)));
        self.references.clear();
        self.add_references(reference);
    }

    /// A reference for each hop that has none.
    fn add_references(&mut self, reference: Reference) {
        if self.config.multi_rate {
            self.references.resize(self.last.len(), reference);
        }
    }

    /// Zeros for hops of a longer path than before: HPCC-ns3 has an array of all hops from the start.
    fn extend(&mut self, hops: &[HopTelemetry]) {
        let zero = |hop: &HopTelemetry| HopTelemetry {
            at: Time::ZERO,
            sent: Bytes::ZERO,
            queue: Bytes::ZERO,
            ..*hop
        };
        self.last
            .extend(hops.iter().skip(self.last.len()).map(zero));
        self.add_references(Reference::new(&self.config));
    }

    /// Whether the acknowledged packet took the path of the one before.
    fn is_same_path(&self, hops: &[HopTelemetry]) -> bool {
        let mut pairs = self.last.iter().zip(hops);
        self.last.len() == hops.len() && pairs.all(|(known, hop)| known.rate == hop.rate)
    }

    /// The time in nanoseconds and the utilisation of a hop since its last reading, which this one replaces.
    /// Nothing where no time has passed, or where the hop is not read.
    fn measure(&mut self, index: usize, hop: &HopTelemetry, update: Update) -> Option<(f64, f64)> {
        let config = &self.config;
        let known = &mut self.last[index];
        let newer = config.int_words.read(hop);
        if config.sample_feedback && update == Update::FastReact && newer.queue == Bytes::ZERO {
            return None;
        }
        let (time, bytes) = config.int_words.between(&newer, known);
        if time == Span::ZERO {
            return None;
        }
        let queue = newer.queue.min(known.queue).count() as f64;
        *known = newer;
        // Algorithm 1, lines 4 and 5, in the order of HPCC-ns3's operations.
        let tau = ns(time);
        let tx_rate = (bytes.count() * 8) as f64 / (tau * 1e-9);
        let line = config.line_rate(hop).bits_per_second() as f64;
        let most = config.limits.max_rate.bits_per_second() as f64;
        Some((
            tau,
            tx_rate / line + queue * most / line / self.window_bytes(),
        ))
    }

    /// W of the queue's part: the window at `max_rate`, else the bandwidth-delay product.
    fn window_bytes(&self) -> f64 {
        let limits = &self.config.limits;
        let product = || limits.max_rate.bytes_in(self.config.base_rtt);
        limits.full_window().unwrap_or_else(product).count() as f64
    }

    /// Follows the telemetry of an acknowledgement that is not the first.
    fn read(&mut self, hops: &[HopTelemetry], update: Update) {
        if self.config.as_in_ns3 {
            self.extend(hops);
        } else if !self.is_same_path(hops) {
            return self.record(hops);
        }
        if self.config.multi_rate {
            self.follow_each(hops, update);
        } else {
            self.follow_busiest(hops, update);
        }
    }

    /// One reference: the busiest hop counts.
    fn follow_busiest(&mut self, hops: &[HopTelemetry], update: Update) {
        let (mut busiest, mut period, mut any) = (0.0, 0.0, false);
        for (index, hop) in hops.iter().enumerate() {
            if let Some((tau, u)) = self.measure(index, hop, update) {
                any = true;
                if u > busiest {
                    (busiest, period) = (u, tau);
                }
            }
        }
        if !any {
            return;
        }
        let t = ns(self.config.base_rtt);
        self.reference.smooth(busiest, period, t);
        let next = self.reference.next(&self.config);
        (self.rate, self.has_rated) = (next.rate, true);
        if update == Update::Full {
            self.reference = next;
        }
    }

    /// A reference for each hop: the least rate counts.
    fn follow_each(&mut self, hops: &[HopTelemetry], update: Update) {
        let t = ns(self.config.base_rtt);
        let mut least = self.config.limits.max_rate;
        let mut any = false;
        for (index, hop) in hops.iter().enumerate() {
            let Some((tau, u)) = self.measure(index, hop, update) else {
                least = least.min(self.references[index].rate);
                continue;
            };
            any = true;
            let reference = &mut self.references[index];
            reference.smooth(u, tau, t);
            let next = reference.next(&self.config);
            least = least.min(next.rate);
            if update == Update::Full {
                *reference = next;
            }
        }
        if any {
            (self.rate, self.has_rated) = (least, true);
        }
    }
}

impl Controller for Hpcc {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.has_rated = false;
        if ack.hops.is_empty() {
            return;
        }
        let update = if cx.snd_una > self.last_update {
            Update::Full
        } else if self.config.fast_react {
            Update::FastReact
        } else {
            return;
        };
        if self.last_update == 0 {
            self.record(ack.hops);
        } else if !(self.config.as_in_ns3 && ack.hops.len() > NS3_HOPS) {
            self.read(ack.hops, update);
        }
        if update == Update::Full {
            self.last_update = self.last_update.max(cx.snd_nxt);
        }
    }

    fn on_congestion(&mut self, _cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    #[inline]
    fn window(&self) -> Window {
        self.config.limits.window_at(self.rate)
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        Some(self.rate)
    }

    fn state(&self) -> ControlState {
        self.config.limits.state(self.rate)
    }
}
