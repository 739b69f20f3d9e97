//! The two rates of DCQCN, and the increases of both forms: their stages, the timer and the byte counter.

use incastle_units::{Bytes, Rate, Span, Time};

use super::DcqcnConfig;
use crate::rdma_rate::{add, midpoint, scale};

/// The rates and the increase since the last cut.
#[derive(Debug, Clone)]
pub(super) struct Recovery {
    pub(super) rate: Rate,
    pub(super) target: Rate,
    /// Increases by the timer since the last cut.
    pub(super) time_stage: u32,
    /// Increases by the byte counter since then.
    pub(super) byte_stage: u32,
    /// Bytes sent since the last of these.
    sent: u64,
    /// The next increase by time. Absent before the first cut, and once nothing is left to gain.
    pub(super) timer: Option<Time>,
}

impl Recovery {
    pub(super) fn new(config: &DcqcnConfig) -> Self {
        Self {
            rate: config.limits.max_rate,
            target: config.limits.reference(),
            time_stage: 0,
            byte_stage: 0,
            sent: 0,
            timer: None,
        }
    }

    /// Cuts the rate by half of alpha, and begins the increase anew.
    pub(super) fn cut(&mut self, config: &DcqcnConfig, alpha: f64, now: Time) {
        let cut = scale(self.rate, 1.0 - alpha / 2.0);
        self.rate = cut.max(config.limits.min_rate);
        (self.time_stage, self.byte_stage, self.sent) = (0, 0, 0);
        self.timer = Some(now + config.rpg_time_reset);
    }

    /// The increases that `size` more bytes bring.
    pub(super) fn byte_events(&mut self, size: Bytes, cycle: Bytes) -> u64 {
        if self.timer.is_none() {
            return 0;
        }
        self.sent += size.count();
        let events = self.sent / cycle.count();
        self.sent %= cycle.count();
        events
    }

    /// Counts an increase.
    pub(super) fn count(&mut self, by_bytes: bool) {
        let stage = if by_bytes {
            &mut self.byte_stage
        } else {
            &mut self.time_stage
        };
        *stage = stage.saturating_add(1);
    }

    /// Raises the target by `gain`, and the rate to the mean of rate and target.
    ///
    /// The timer stops where further increases change nothing, so that a flow at full rate needs no events.
    pub(super) fn raise(&mut self, config: &DcqcnConfig, gain: Rate) {
        let bound = config.limits.reference();
        self.target = add(self.target, gain).min(bound);
        self.rate = midpoint(self.rate, self.target);
        if self.target == bound && midpoint(self.rate, bound) == self.rate {
            self.timer = None;
        }
    }
}

/// The part of alpha that a period without CNPs leaves, and what one with CNPs adds.
pub(super) fn next_alpha(g: f64, alpha: f64, notified: bool) -> f64 {
    let kept = (1.0 - g) * alpha;
    if notified { kept + g } else { kept }
}

/// An alpha below this part of `g` has no effect: rounding removes it from 1 - alpha / 2 and from the update at
/// the next CNP. It becomes zero, which bounds the steps after a long silence.
const NEGLIGIBLE: f64 = f64::EPSILON / 4.0;

/// Lets alpha decay at `at` and each `period` after it up to `now`; returns the next instant. A `g` of zero keeps alpha.
pub(super) fn decay(alpha: &mut f64, g: f64, at: Time, period: Span, now: Time) -> Time {
    let mut at = at;
    while at <= now && *alpha > 0.0 && g > 0.0 {
        *alpha = next_alpha(g, *alpha, false);
        if *alpha < NEGLIGIBLE * g {
            *alpha = 0.0;
        }
        at += period;
    }
    if at > now { at } else { after(at, period, now) }
}

/// The first instant after `now` among `at` and each `period` after it.
pub(super) fn after(at: Time, period: Span, now: Time) -> Time {
    if at > now {
        return at;
    }
    let periods = (now - at).as_ps() / period.as_ps() + 1;
    at + period * periods
}
