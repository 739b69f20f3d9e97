//! QCN's reaction point: the rate limiter of one flow in a host's NIC, driven by the feedback
//! of congestion points.
//!
//! Sources: IEEE 802.1Qau and its pseudocode of version 2.2 (R. Pan, 2008). Modification IV, the
//! increase with a memory of congestion, is from Devkota and Reddy, "Performance of Quantized
//! Congestion Notification in TCP Incast Scenarios of Data Centers", 2010, section VII.B. That
//! paper leaves the memory's unit and bound open: both readings are here. Leaves out: the limiter's
//! queue (the NIC's), several flows behind one limiter.

use incastle_units::{Bytes, Rate, Span, Time, random};
use rand_core::Rng;

use crate::{Feedback, RateLimiter};

/// The greatest feedback: six bits.
const MAX_PSI: u8 = 63;
/// One unit of feedback in modification IV, so that psi / 64 stays below 1.
const LEVELS: f64 = 64.0;
/// A target this many times the current rate is out of date when recovery begins ...
const STALE_TARGET: f64 = 10.0;
/// ... and is divided by this.
const STALE_DIVISOR: f64 = 8.0;

/// The dependence of the target's increase on the feedback received (modification IV).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AdaptiveIncrease {
    /// It does not: unmodified QCN.
    #[default]
    Off,
    /// Reading A: each notification adds psi / 64 to the memory, each expiry of the timer takes 1
    /// away, 0 <= memory <= 63. R_AI and R_HAI are divided by max(1, memory).
    Scaled,
    /// Reading B, the paper's: each notification adds psi, each expiry takes 1 away, 0 <= memory <=
    /// 63 x 64. R_AI and R_HAI are divided by max(1, memory / 64).
    Raw,
}

impl AdaptiveIncrease {
    /// The increment of one notification.
    fn added(self, psi: u8) -> f64 {
        match self {
            Self::Off => 0.0,
            Self::Scaled => f64::from(psi) / LEVELS,
            Self::Raw => f64::from(psi),
        }
    }

    /// The greatest memory.
    fn bound(self) -> f64 {
        match self {
            Self::Off => 0.0,
            Self::Scaled => f64::from(MAX_PSI),
            Self::Raw => f64::from(MAX_PSI) * LEVELS,
        }
    }

    /// The divisor of R_AI and R_HAI. Never below 1: the paper has a *fraction* of R_AI under
    /// feedback, and all of it without.
    fn divisor(self, memory: f64) -> f64 {
        match self {
            Self::Off => 1.0,
            Self::Scaled => memory.max(1.0),
            Self::Raw => (memory / LEVELS).max(1.0),
        }
    }
}

/// The parameters of [`ReactionPoint`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReactionPointConfig {
    /// The rate of the NIC, above zero.
    pub line_rate: Rate,
    /// No notification brings the rate below this; above the line rate it means the line rate.
    pub rpg_min_rate: Rate,
    /// R_AI: the target's gain per cycle of active increase.
    pub increase: Rate,
    /// R_HAI: its gain in hyper-active increase, times the cycles since.
    pub rpg_hai_rate: Rate,
    /// BC: bytes sent per cycle of the byte counter, above zero.
    pub rpg_byte_reset: Bytes,
    /// The period of the timer, above zero.
    pub timer: Span,
    /// j: byte counters and periods are drawn from U(1 - j, 1 + j) times their nominal length;
    /// 0 draws nothing. Below 1.
    pub jitter: f64,
    /// Cycles of fast recovery.
    pub rpg_threshold: u32,
    /// A notification keeps at least this part of the rate, 0 to 1.
    pub rpg_min_dec_fac: f64,
    /// G_d: the part of the rate that a feedback of 1 takes.
    pub gain: f64,
    /// Modification IV.
    pub adaptive: AdaptiveIncrease,
}

impl ReactionPointConfig {
    /// The defaults at a line rate: those of 802.1Q's management information base, modification IV
    /// off.
    pub const fn new(line_rate: Rate) -> Self {
        Self {
            line_rate,
            rpg_min_rate: Rate::from_bits_per_second(5_000_000),
            increase: Rate::from_bits_per_second(5_000_000),
            rpg_hai_rate: Rate::from_bits_per_second(50_000_000),
            rpg_byte_reset: Bytes::new(150_000),
            timer: Span::from_ms(15),
            jitter: 0.15,
            rpg_threshold: 5,
            rpg_min_dec_fac: 0.5,
            gain: 1.0 / 128.0,
            adaptive: AdaptiveIncrease::Off,
        }
    }

    fn assert_sensible(&self) {
        assert!(self.line_rate.bits_per_second() > 0, "line_rate > 0");
        assert!(self.rpg_min_rate.bits_per_second() > 0, "rpg_min_rate > 0");
        assert!(self.rpg_byte_reset > Bytes::ZERO, "rpg_byte_reset > 0");
        assert!(self.timer > Span::ZERO, "timer > 0");
        assert!((0.0..1.0).contains(&self.jitter), "0 <= jitter < 1");
        let kept = self.rpg_min_dec_fac;
        assert!((0.0..=1.0).contains(&kept), "0 <= rpg_min_dec_fac <= 1");
        assert!(self.gain >= 0.0, "gain >= 0");
    }

    fn line(&self) -> f64 {
        self.line_rate.bits_per_second() as f64
    }

    fn minimum(&self) -> f64 {
        self.rpg_min_rate.min(self.line_rate).bits_per_second() as f64
    }

    /// The factor of the next counter or period, after `stage`: halved once fast recovery is over,
    /// and jittered.
    fn stretch(&self, stage: u32, rng: &mut dyn Rng) -> f64 {
        let nominal = if stage > self.rpg_threshold { 0.5 } else { 1.0 };
        if self.jitter == 0.0 {
            return nominal;
        }
        nominal * (1.0 + self.jitter * (2.0 * random::uniform(rng) - 1.0))
    }

    /// When the timer expires next. A period is never rounded to nothing: time goes on.
    fn next_expiry(&self, now: Time, stage: u32, rng: &mut dyn Rng) -> Time {
        let period = self.timer.scale_lossy(self.stretch(stage, rng));
        now.saturating_add(period.max(Span::from_ps(1)))
    }

    fn next_byte_counter(&self, stage: u32, rng: &mut dyn Rng) -> Bytes {
        let nominal = self.rpg_byte_reset.count() as f64;
        Bytes::new((nominal * self.stretch(stage, rng)) as u64)
    }
}

/// The state of a reaction point for probes. Rates are rounded down to whole bits per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateState {
    /// The rate at which frames may leave.
    pub current: Rate,
    /// The rate that recovery aims at.
    pub target: Rate,
    /// Cycles of the byte counter since the last notification.
    pub byte_stage: u32,
    /// Expiries of the timer since the last notification.
    pub time_stage: u32,
    /// Modification IV's memory, in the unit of its reading.
    pub memory: f64,
}

/// The state while the limiter limits.
#[derive(Debug, Clone, Copy)]
struct Active {
    /// Bits per second; minimum <= current <= target <= line rate.
    current: f64,
    target: f64,
    byte_stage: u32,
    time_stage: u32,
    /// The rest of the byte counter.
    bytes_left: Bytes,
}

/// The reaction point of one flow: inactive, at line rate, until the first notification.
///
/// It is released when it is back at line rate and nothing waits. The memory of modification IV
/// outlives that, and the timer runs on while there is any memory. It keeps its full period,
/// changes no rate, and stops when the memory is empty. The memory of a released flow therefore
/// does not vanish: it decays at the same pace in a silent flow as in one that recovers.
#[derive(Debug, Clone)]
pub struct ReactionPoint {
    config: ReactionPointConfig,
    active: Option<Active>,
    /// Armed while the limiter is active or the memory is not empty.
    timer: Option<Time>,
    memory: f64,
}

impl ReactionPoint {
    /// An inactive reaction point.
    pub fn new(config: ReactionPointConfig) -> Self {
        config.assert_sensible();
        Self {
            config,
            active: None,
            timer: None,
            memory: 0.0,
        }
    }

    /// The state for probes; while inactive, the line rate and stages of zero.
    pub fn state(&self) -> RateState {
        let active = self
            .active
            .unwrap_or_else(|| Active::at_line_rate(&self.config));
        RateState {
            current: Rate::from_bits_per_second(active.current as u64),
            target: Rate::from_bits_per_second(active.target as u64),
            byte_stage: active.byte_stage,
            time_stage: active.time_stage,
            memory: self.memory,
        }
    }
}

impl Active {
    fn at_line_rate(config: &ReactionPointConfig) -> Self {
        Self {
            current: config.line(),
            target: config.line(),
            byte_stage: 0,
            time_stage: 0,
            bytes_left: config.rpg_byte_reset,
        }
    }

    /// The rates at a notification. Only the first of several within one byte cycle sets the
    /// target: the rate to recover is the one before the congestion.
    fn decrease(&mut self, config: &ReactionPointConfig, psi: u8) {
        if self.current >= config.line() || self.byte_stage != 0 {
            self.target = self.current;
            self.bytes_left = config.rpg_byte_reset;
        }
        (self.byte_stage, self.time_stage) = (0, 0);
        let kept = (1.0 - config.gain * f64::from(psi)).max(config.rpg_min_dec_fac);
        self.current = (self.current * kept).max(config.minimum());
    }

    /// R_i: nothing in fast recovery, R_AI once one of the stages is past it, R_HAI times the
    /// cycles since once both are.
    fn increment(&self, config: &ReactionPointConfig) -> f64 {
        let least = self.byte_stage.min(self.time_stage);
        let most = self.byte_stage.max(self.time_stage);
        let recovery = config.rpg_threshold;
        if most <= recovery {
            0.0
        } else if least <= recovery {
            config.increase.bits_per_second() as f64
        } else {
            config.rpg_hai_rate.bits_per_second() as f64 * f64::from(least - recovery)
        }
    }

    /// The rates after a cycle of which `stage` is the number, with R_i divided by `divisor`. The
    /// current rate moves halfway to the target *before* both are capped: so it reaches the line
    /// rate instead of approaching it for ever.
    fn raise(&mut self, config: &ReactionPointConfig, stage: u32, divisor: f64) {
        // A later stage never finds such a target: each has halved the distance before.
        if stage == 1 && self.target > STALE_TARGET * self.current {
            self.target /= STALE_DIVISOR;
        } else {
            self.target += self.increment(config) / divisor;
        }
        self.current = f64::midpoint(self.current, self.target).min(config.line());
        self.target = self.target.min(config.line());
        assert!(
            config.minimum() <= self.current && self.current <= self.target,
            "the rate lies between its minimum and its target"
        );
    }
}

impl RateLimiter for ReactionPoint {
    /// A notification without feedback, which no congestion point sends, changes nothing.
    fn on_cnm(&mut self, now: Time, feedback: Feedback, rng: &mut dyn Rng) {
        assert!(feedback.psi <= MAX_PSI, "feedback has six bits");
        if feedback.psi == 0 {
            return;
        }
        let config = &self.config;
        let added = config.adaptive.added(feedback.psi);
        self.memory = (self.memory + added).min(config.adaptive.bound());
        self.active
            .get_or_insert_with(|| Active::at_line_rate(config))
            .decrease(config, feedback.psi);
        self.timer = Some(config.next_expiry(now, 0, rng));
    }

    fn on_sent(&mut self, _now: Time, size: Bytes, rng: &mut dyn Rng) {
        let Some(active) = &mut self.active else {
            return;
        };
        active.bytes_left = active.bytes_left.saturating_sub(size);
        if active.bytes_left > Bytes::ZERO {
            return;
        }
        let config = &self.config;
        active.byte_stage = active.byte_stage.saturating_add(1);
        active.bytes_left = config.next_byte_counter(active.byte_stage, rng);
        let divisor = config.adaptive.divisor(self.memory);
        active.raise(config, active.byte_stage, divisor);
    }

    /// Too early a call changes nothing.
    fn on_timer(&mut self, now: Time, rng: &mut dyn Rng) {
        if self.timer.is_none_or(|expiry| now < expiry) {
            return;
        }
        let config = &self.config;
        // Section VII.B: one less at each expiry, before the increase that belongs to it.
        self.memory = (self.memory - 1.0).max(0.0);
        let stage = match &mut self.active {
            Some(active) => {
                active.time_stage = active.time_stage.saturating_add(1);
                let divisor = config.adaptive.divisor(self.memory);
                active.raise(config, active.time_stage, divisor);
                active.time_stage
            }
            None => 0,
        };
        let goes_on = self.active.is_some() || self.memory > 0.0;
        self.timer = goes_on.then(|| config.next_expiry(now, stage, rng));
    }

    fn on_idle(&mut self, _now: Time) {
        let line = self.config.line();
        if self.active.is_some_and(|active| active.current >= line) {
            self.active = None;
            self.timer = self.timer.filter(|_| self.memory > 0.0);
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn rate(&self) -> Option<Rate> {
        let active = self.active?;
        Some(Rate::from_bits_per_second(active.current as u64))
    }
}
