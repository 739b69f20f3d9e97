//! The reaction point of Mellanox's NICs, from `rdma-hw.cc` of HPCC-ns3 (the methods `*Mlx`); the byte counter
//! and its part in the stages from google/isekai, `rdma_cc_dcqcn.cc`.
//!
//! Periodic timers that change nothing cause no events. Updates of alpha that are due are made up for before
//! alpha is used, and the check for CNPs has a timer only while one waits for it.

use incastle_units::{Rate, Span, Time};

use super::recovery::{Recovery, after, decay, next_alpha};
use super::{DcqcnConfig, MellanoxForm};
use crate::Reaction;
use crate::rdma_rate::scale;

/// The check for CNPs comes this much after the update of alpha at the same multiple of both periods
/// (`ScheduleDecreaseRateMlx`).
const CHECK_AFTER_ALPHA: Span = Span::from_ns(1);

#[derive(Debug, Clone)]
pub(super) struct Mellanox {
    form: MellanoxForm,
    /// Absent before the first CNP.
    clock: Option<Clock>,
}

/// The two periodic timers, which run from the first CNP on.
#[derive(Debug, Clone)]
struct Clock {
    alpha: f64,
    update_at: Time,
    /// A CNP since the last update.
    update_cnp: bool,
    check_at: Time,
    /// A CNP since the last check.
    check_cnp: bool,
}

impl Mellanox {
    pub(super) const fn new(form: MellanoxForm) -> Self {
        Self { form, clock: None }
    }

    /// Alpha at an instant, or at a later one up to which it was made up for.
    pub(super) fn alpha_at(&self, config: &DcqcnConfig, now: Time) -> f64 {
        let Some(mut clock) = self.clock.clone() else {
            return config.initial_alpha;
        };
        clock.update(config, now);
        clock.alpha
    }

    pub(super) fn next_cut(&self) -> Option<Time> {
        let clock = self.clock.as_ref().filter(|clock| clock.check_cnp)?;
        Some(clock.check_at)
    }

    pub(super) fn catch_up(&mut self, config: &DcqcnConfig, now: Time) {
        if let Some(clock) = &mut self.clock {
            clock.update(config, now);
        }
    }

    /// `cnp_received_mlx`.
    pub(super) fn on_cnp(
        &mut self,
        config: &DcqcnConfig,
        recovery: &mut Recovery,
        now: Time,
    ) -> Reaction {
        let period = self.form.rate_reduce_monitor_period;
        let Some(clock) = &mut self.clock else {
            recovery.rate = scale(recovery.rate, self.form.rate_on_first_cnp);
            recovery.rate = recovery.rate.max(config.limits.min_rate);
            recovery.target = recovery.rate;
            self.clock = Some(Clock {
                alpha: config.initial_alpha,
                update_at: now + config.alpha_timer,
                // The first CNP is in alpha's first value already.
                update_cnp: false,
                check_at: now + period + CHECK_AFTER_ALPHA,
                check_cnp: true,
            });
            return Reaction::Reduced;
        };
        clock.update(config, now);
        clock.update_cnp = true;
        if !clock.check_cnp {
            clock.check_at = after(clock.check_at, period, now);
            clock.check_cnp = true;
        }
        Reaction::Ignored
    }

    /// `CheckRateDecreaseMlx`, where a CNP waits for it.
    pub(super) fn check_for_cnps(
        &mut self,
        config: &DcqcnConfig,
        recovery: &mut Recovery,
        now: Time,
    ) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        if !clock.check_cnp || clock.check_at > now {
            return;
        }
        clock.update(config, clock.check_at);
        let by_time = self.form.clamp_tgt_rate_after_time_inc && recovery.time_stage > 0;
        if self.form.clamp_tgt_rate || recovery.byte_stage > 0 || by_time {
            recovery.target = recovery.rate;
        }
        recovery.cut(config, clock.alpha, now);
        clock.check_cnp = false;
        clock.check_at += self.form.rate_reduce_monitor_period;
    }
}

impl Clock {
    /// `UpdateAlphaMlx`, as often as it is due. A CNP at the instant of an update counts for the next.
    fn update(&mut self, config: &DcqcnConfig, now: Time) {
        if self.update_at > now {
            return;
        }
        let period = config.alpha_timer;
        self.alpha = next_alpha(config.g, self.alpha, self.update_cnp);
        self.update_cnp = false;
        let next = self.update_at + period;
        self.update_at = decay(&mut self.alpha, config.g, next, period, now);
    }
}

/// `RateIncEventMlx`: the stages count after the increase.
pub(super) fn increase(config: &DcqcnConfig, recovery: &mut Recovery, by_bytes: bool) {
    let most = recovery.time_stage.max(recovery.byte_stage);
    let least = match config.rpg_byte_reset {
        Some(_) => recovery.time_stage.min(recovery.byte_stage),
        None => recovery.time_stage,
    };
    let gain = if least > config.rpg_threshold {
        config.rpg_hai_rate
    } else if most >= config.rpg_threshold {
        config.rpg_ai_rate
    } else {
        Rate::from_bits_per_second(0)
    };
    recovery.count(by_bytes);
    recovery.raise(config, gain);
}
