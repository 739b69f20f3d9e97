//! Marking by the instantaneous queue: certain above Kmax, with a probability between Kmin and Kmax.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (DCQCN), SIGCOMM 2015, section 3.1
//! and figure 5, as RED without an average. The comparisons are those of HPCC's simulator
//! (alibaba-edu/High-Precision-Congestion-Control, switch-mmu.cc: `ShouldSendCN`). Packets that are not ECN-capable pass,
//! where that simulator sets CE in every packet. Leaves out: averages and drops (see `red`).

use incastle_units::{Bytes, Ecn, random};
use rand_core::Rng;

use crate::{Arrival, Discipline, QueueState, Verdict};

/// The parameters of a [`LinearMarker`]. They have no defaults: they belong to a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearMarkerConfig {
    /// Up to this queue nothing is marked.
    pub k_min: Bytes,
    /// Above this queue everything is marked.
    pub k_max: Bytes,
    /// The probability of a mark at `k_max`.
    pub p_max: f64,
}

/// An error in a [`LinearMarkerConfig`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum LinearMarkerError {
    /// The thresholds are in the wrong order.
    #[error("`k_min` must not be above `k_max`")]
    MinAboveMax,
    /// Not a probability.
    #[error("`p_max` must be above 0 and at most 1, not {0}")]
    PMax(f64),
}

impl LinearMarkerConfig {
    /// Everything is marked above `k`, nothing below: DCTCP's switch.
    pub const fn step(k: Bytes) -> Self {
        Self {
            k_min: k,
            k_max: k,
            p_max: 1.0,
        }
    }

    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), LinearMarkerError> {
        if self.k_min > self.k_max {
            return Err(LinearMarkerError::MinAboveMax);
        }
        if !(self.p_max > 0.0 && self.p_max <= 1.0) {
            return Err(LinearMarkerError::PMax(self.p_max));
        }
        Ok(())
    }
}

/// The marker of one queue. It has no state: it serves arrivals and departures alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinearMarker {
    config: LinearMarkerConfig,
}

impl LinearMarker {
    /// The configuration must pass [`LinearMarkerConfig::check`].
    pub fn new(config: LinearMarkerConfig) -> Self {
        assert_eq!(config.check(), Ok(()), "the thresholds were checked");
        Self { config }
    }

    /// The longest queue in front of a packet that is certainly not marked.
    pub(crate) const fn k_min(&self) -> Bytes {
        self.config.k_min
    }

    /// The longest queue in front of a packet that is not certainly marked.
    pub(crate) const fn k_max(&self) -> Bytes {
        self.config.k_max
    }

    /// Figure 5: the probability of a mark in a queue of this length.
    pub fn probability(&self, queue: Bytes) -> f64 {
        let LinearMarkerConfig {
            k_min,
            k_max,
            p_max,
        } = self.config;
        if queue > k_max {
            1.0
        } else if queue > k_min {
            // The order of the operations is the simulator's.
            p_max * (queue - k_min).count() as f64 / (k_max - k_min).count() as f64
        } else {
            0.0
        }
    }

    /// `Mark` or `Admit` for a packet with `queue` bytes in front of it (judged at enqueue) or behind it (at dequeue).
    /// Only a queue between both thresholds takes a random draw.
    pub fn judge(&self, queue: Bytes, ecn: Ecn, rng: &mut dyn Rng) -> Verdict {
        if !ecn.is_capable() || queue <= self.config.k_min {
            return Verdict::Admit;
        }
        if queue > self.config.k_max || random::uniform(rng) < self.probability(queue) {
            Verdict::Mark
        } else {
            Verdict::Admit
        }
    }
}

impl Discipline for LinearMarker {
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, rng: &mut dyn Rng) -> Verdict {
        self.judge(queue.waiting_bytes, packet.ecn, rng)
    }
}
