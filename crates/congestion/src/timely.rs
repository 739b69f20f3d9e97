//! TIMELY (Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015): a rate that
//! follows the gradient of the round-trip time, and Patched TIMELY (Zhu et al., "ECN or Delay: Lessons Learnt
//! from Analysis of DCQCN and TIMELY", CoNEXT 2016), which has a fixed point that is fair.
//!
//! As in HPCC-ns3 (`rdma-hw.cc` of kwzhao's branch m3, fc53eaae) the rate changes once per round trip; the paper
//! changes it with each segment of 16 to 64 KB. Leaves out: bursts of a segment, the filter of outliers; any
//! reaction to marks, losses and timeouts.

use incastle_units::{Rate, Span};

use crate::rdma_rate::{RateLimits, add, scale};
use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

/// The round trips of increase in a row after which R_HAI replaces R_AI.
const HAI_AFTER: u32 = 5;

/// The rule between the two thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelyForm {
    /// The gradient alone decides.
    Original,
    /// Patched TIMELY: gradient and absolute delay together.
    Patched,
}

/// The parameters of TIMELY.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimelyConfig {
    /// The limits of the rate, and the window.
    pub limits: RateLimits,
    /// The rule between the two thresholds.
    pub form: TimelyForm,
    /// The weight of a new difference of round-trip times.
    pub alpha: f64,
    /// The weight of a decrease.
    pub beta: f64,
    /// Round-trip times below it raise the rate.
    pub t_low: Span,
    /// Round-trip times above it reduce the rate.
    pub t_high: Span,
    /// The round-trip time that makes differences a gradient.
    pub min_rtt: Span,
    /// R_AI, the paper's delta: the additive increase.
    pub ai_rate: Rate,
    /// R_HAI, the paper's N delta: the increase after five round trips in a row.
    pub hai_rate: Rate,
    /// HPCC-ns3: increases below `t_low` count towards R_HAI, and use it; the first five increases are R_AI. In the
    /// paper R_HAI belongs to gradients up to zero, from the fifth on.
    pub hai_after_any_increase: bool,
}

impl TimelyConfig {
    /// The values of the paper, for 10 Gbit/s, as bobzhuyb/ns3-rdma has them (branch timely, 123df9e; N = 5).
    pub const fn sigcomm15(line_rate: Rate) -> Self {
        Self {
            limits: RateLimits::new(line_rate),
            form: TimelyForm::Original,
            alpha: 0.875,
            beta: 0.8,
            t_low: Span::from_us(50),
            t_high: Span::from_us(500),
            min_rtt: Span::from_us(20),
            ai_rate: Rate::from_bits_per_second(10_000_000),
            hai_rate: Rate::from_bits_per_second(50_000_000),
            hai_after_any_increase: false,
        }
    }

    /// The values of HPCC-ns3: R_AI 10 and R_HAI 50 Mbit/s per 10 Gbit/s and MIN_RATE 1 Gbit/s in `run.py`, the
    /// other values the attributes of `rdma-hw.cc`.
    pub const fn hpcc_ns3(line_rate: Rate) -> Self {
        let line = line_rate.bits_per_second();
        let base = Self::sigcomm15(line_rate);
        let least = if line < 1_000_000_000 {
            line
        } else {
            1_000_000_000
        };
        Self {
            limits: RateLimits {
                min_rate: Rate::from_bits_per_second(least),
                ..base.limits
            },
            ai_rate: Rate::from_bits_per_second(line / 1_000),
            hai_rate: Rate::from_bits_per_second(line / 200),
            hai_after_any_increase: true,
            ..base
        }
    }

    /// Patched TIMELY: its beta is 0.008, the other values are the paper's.
    pub const fn patched(line_rate: Rate) -> Self {
        Self {
            form: TimelyForm::Patched,
            beta: 0.008,
            ..Self::sigcomm15(line_rate)
        }
    }

    fn check(&self) {
        self.limits.check();
        assert!(0.0 < self.alpha && self.alpha <= 1.0, "0 < alpha <= 1");
        assert!(0.0 < self.beta && self.beta <= 1.0, "0 < beta <= 1");
        assert!(
            Span::ZERO < self.t_low && self.t_low <= self.t_high,
            "0 < t_low <= t_high"
        );
        assert!(self.min_rtt > Span::ZERO, "min_rtt is above zero");
    }
}

/// The new rate of a round trip.
enum Change {
    /// The rate grows by this.
    Raise(Rate),
    /// It is multiplied by this.
    Cut(f64),
    /// It is this (Patched TIMELY).
    Set(Rate),
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Timely {
    config: TimelyConfig,
    rate: Rate,
    /// The rate that the next change starts from: the same, but for the start of HPCC-ns3.
    reference: Rate,
    /// SND.NXT at the last change; 0 before the first sample.
    last_update: u64,
    last_rtt: Span,
    /// The smoothed difference of round-trip times, in nanoseconds.
    rtt_diff: f64,
    /// Round trips in a row that count towards R_HAI.
    stage: u32,
}

/// Nanoseconds, the unit in which HPCC-ns3 calculates.
fn ns(span: Span) -> f64 {
    span.as_ps() as f64 / 1_000.0
}

impl Timely {
    /// A controller at the beginning of a queue pair, at `max_rate`.
    pub fn new(config: TimelyConfig) -> Self {
        config.check();
        Self {
            rate: config.limits.max_rate,
            reference: config.limits.reference(),
            config,
            last_update: 0,
            last_rtt: Span::ZERO,
            rtt_diff: 0.0,
            stage: 0,
        }
    }

    /// Algorithm 1 of the paper, for one sample.
    fn update(&mut self, rtt: Span) {
        let config = self.config;
        let newest = ns(rtt) - ns(self.last_rtt);
        self.rtt_diff = (1.0 - config.alpha) * self.rtt_diff + config.alpha * newest;
        let gradient = self.rtt_diff / ns(config.min_rtt);
        let change = if rtt < config.t_low {
            self.raise(gradient, false)
        } else if rtt > config.t_high {
            Change::Cut(1.0 - config.beta * (1.0 - ns(config.t_high) / ns(rtt)))
        } else {
            match config.form {
                TimelyForm::Patched => self.patched(rtt, gradient),
                TimelyForm::Original if gradient <= 0.0 => self.raise(gradient, true),
                TimelyForm::Original => Change::Cut((1.0 - config.beta * gradient).max(0.0)),
            }
        };
        self.apply(&change);
        self.count(gradient, &change);
    }

    /// The additive increase, or the hyper-active one.
    fn raise(&self, gradient: f64, between: bool) -> Change {
        let Self { config, stage, .. } = self;
        let hyper = if config.hai_after_any_increase {
            *stage >= HAI_AFTER
        } else {
            // This round trip is the fifth.
            between && gradient <= 0.0 && *stage + 1 >= HAI_AFTER
        };
        Change::Raise(if hyper {
            config.hai_rate
        } else {
            config.ai_rate
        })
    }

    /// Algorithm 2 of Zhu et al. (2016): the weight moves from increase to decrease as the gradient grows.
    fn patched(&self, rtt: Span, gradient: f64) -> Change {
        let config = &self.config;
        let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
        let low = ns(config.t_low);
        let error = (ns(rtt) - low) / low;
        let kept = scale(
            self.reference,
            (1.0 - config.beta * weight * error).max(0.0),
        );
        Change::Set(add(scale(config.ai_rate, 1.0 - weight), kept))
    }

    fn apply(&mut self, change: &Change) {
        let limits = &self.config.limits;
        self.rate = match *change {
            Change::Raise(by) => add(self.reference, by).min(limits.max_rate),
            // Without a bound above: HPCC-ns3 cuts a reference that may exceed `max_rate`.
            Change::Cut(factor) => scale(self.reference, factor).max(limits.min_rate),
            Change::Set(rate) => rate.clamp(limits.min_rate, limits.max_rate),
        };
        self.reference = self.rate;
    }

    fn count(&mut self, gradient: f64, change: &Change) {
        let counts = if self.config.hai_after_any_increase {
            !matches!(change, Change::Cut(_))
        } else {
            gradient <= 0.0
        };
        self.stage = if counts {
            self.stage.saturating_add(1)
        } else {
            0
        };
    }
}

impl Controller for Timely {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        let Some(rtt) = ack.rtt else {
            return;
        };
        // Once per round trip: when data sent after the last change are acknowledged.
        if cx.snd_una <= self.last_update {
            return;
        }
        if self.last_update != 0 {
            self.update(rtt);
        }
        if cx.snd_nxt > self.last_update {
            self.last_update = cx.snd_nxt;
            self.last_rtt = rtt;
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
