//! The reaction point of the paper: each CNP cuts the rate at once.
//!
//! Alpha decays without a timer event: the decays due are made up for when alpha is next needed.

use incastle_units::{Rate, Time};

use super::DcqcnConfig;
use super::recovery::{Recovery, decay, next_alpha};
use crate::Reaction;

#[derive(Debug, Clone)]
pub(super) struct Paper {
    alpha: f64,
    /// The next decay; absent before the first CNP.
    decay_at: Option<Time>,
}

impl Paper {
    pub(super) const fn new(initial_alpha: f64) -> Self {
        Self {
            alpha: initial_alpha,
            decay_at: None,
        }
    }

    /// Alpha at an instant, or at a later one up to which it was made up for.
    pub(super) fn alpha_at(&self, config: &DcqcnConfig, now: Time) -> f64 {
        let mut then = self.clone();
        then.catch_up(config, now);
        then.alpha
    }

    /// Equation 2: each K without a CNP.
    pub(super) fn catch_up(&mut self, config: &DcqcnConfig, now: Time) {
        if let Some(at) = self.decay_at.filter(|at| *at <= now) {
            let next = decay(&mut self.alpha, config.g, at, config.alpha_timer, now);
            self.decay_at = Some(next);
        }
    }

    /// Equation 1: the cut uses alpha as it was before this CNP.
    pub(super) fn on_cnp(
        &mut self,
        config: &DcqcnConfig,
        recovery: &mut Recovery,
        now: Time,
    ) -> Reaction {
        self.catch_up(config, now);
        recovery.target = recovery.rate;
        recovery.cut(config, self.alpha, now);
        self.alpha = next_alpha(config.g, self.alpha, true);
        self.decay_at = Some(now + config.alpha_timer);
        Reaction::Reduced
    }
}

/// The state machine of the paper: fast recovery while both counts are at most F, hyper increase once both exceed it, additive
/// increase between. The steps of hyper increase grow as in QCN, to whose increase the paper refers.
pub(super) fn increase(config: &DcqcnConfig, recovery: &mut Recovery, by_bytes: bool) {
    recovery.count(by_bytes);
    let most = recovery.time_stage.max(recovery.byte_stage);
    let least = match config.rpg_byte_reset {
        Some(_) => recovery.time_stage.min(recovery.byte_stage),
        None => recovery.time_stage,
    };
    let hyper = u64::from(least.saturating_sub(config.rpg_threshold));
    let gain = if most <= config.rpg_threshold {
        Rate::from_bits_per_second(0)
    } else if hyper > 0 {
        let step = config.rpg_hai_rate.bits_per_second();
        Rate::from_bits_per_second(step.saturating_mul(hyper))
    } else {
        config.rpg_ai_rate
    };
    recovery.raise(config, gain);
}
