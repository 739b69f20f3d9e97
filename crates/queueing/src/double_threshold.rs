//! Marking between two thresholds: a relay that one crossing turns on and another turns off.
//!
//! Sources: DT-DCTCP, Chen et al., "Ease the Queue Oscillation: Analysis and Enhancement of DCTCP",
//! ICDCS 2013; DT-CWA, Sreekumari, Future Internet 2018, section 2.1. The section and the numbers of
//! the latter disagree ([`DoubleThresholdConfig`] names the readings). Like the threshold it sees the
//! queue in front of each arriving packet, and no other instants. Leaves out: averages, marking on
//! departure.

use incastle_units::{Amount, Packets};
use rand_core::Rng;

use crate::{Arrival, Discipline, DropCause, QueueState, Verdict};

/// The parameters of [`DoubleThreshold`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubleThresholdConfig {
    /// Marking begins when the queue rises above this.
    pub k1: Amount,
    /// Marking ends when the queue falls to this or below. In the unit of `k1`.
    pub k2: Amount,
    /// Drop packets that would be marked and cannot be, as some real switches do.
    pub drop_not_ect: bool,
}

/// An error in a [`DoubleThresholdConfig`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DoubleThresholdError {
    /// One threshold counts packets, the other bytes.
    #[error("`k1` and `k2` must have the same unit: both packets or both bytes")]
    MixedUnits,
}

impl DoubleThresholdConfig {
    /// Sreekumari 2018, section 3, as printed (K1 = 35, K2 = 30): marking holds on below the
    /// threshold that began it (hysteresis).
    pub const AS_PRINTED: Self = Self::packets(35, 30);
    /// Its origin, DT-DCTCP, with K1 < K2: marking begins early while the queue rises and ends
    /// early while it falls (phase lead).
    pub const DT_DCTCP: Self = Self::packets(30, 35);
    /// The thresholds that meet the aim of the 2018 paper, marks earlier than those of K = 20:
    /// around that K.
    pub const AROUND_K: Self = Self::packets(15, 25);

    /// Two thresholds; packets that are not ECN-capable are left alone.
    pub const fn new(k1: Amount, k2: Amount) -> Self {
        Self {
            k1,
            k2,
            drop_not_ect: false,
        }
    }

    const fn packets(k1: u64, k2: u64) -> Self {
        Self::new(
            Amount::Packets(Packets::new(k1)),
            Amount::Packets(Packets::new(k2)),
        )
    }

    /// Whether the parameters make sense together.
    pub const fn check(&self) -> Result<(), DoubleThresholdError> {
        match (self.k1, self.k2) {
            (Amount::Packets(_), Amount::Packets(_)) | (Amount::Bytes(_), Amount::Bytes(_)) => {
                Ok(())
            }
            _ => Err(DoubleThresholdError::MixedUnits),
        }
    }
}

/// The position of the queue relative to the thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// Not above either.
    Below,
    /// Above one of them.
    Between,
    /// Above both.
    Above,
}

/// The relay of one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DoubleThreshold {
    k1: Amount,
    k2: Amount,
    not_ect: Verdict,
    /// The zone of the queue at the last arrival.
    zone: Zone,
    marking: bool,
}

impl DoubleThreshold {
    /// A relay over an empty queue. The configuration must pass [`DoubleThresholdConfig::check`].
    pub fn new(config: DoubleThresholdConfig) -> Self {
        assert_eq!(config.check(), Ok(()), "the thresholds were checked");
        Self {
            k1: config.k1,
            k2: config.k2,
            not_ect: if config.drop_not_ect {
                Verdict::Drop(DropCause::NotEcnCapable)
            } else {
                Verdict::Admit
            },
            zone: Zone::Below,
            marking: false,
        }
    }

    /// Whether the relay is on.
    pub const fn is_marking(&self) -> bool {
        self.marking
    }

    /// The crossings since the last arrival. Above both thresholds the relay is on, below both it is
    /// off; between them it depends on where the queue comes from.
    #[inline]
    fn follow(&mut self, queue: &QueueState) {
        let (above_k1, above_k2) = (queue.exceeds(self.k1), queue.exceeds(self.k2));
        let zone = match (above_k1, above_k2) {
            (false, false) => Zone::Below,
            (true, true) => Zone::Above,
            _ => Zone::Between,
        };
        self.marking = match (zone, self.zone) {
            (Zone::Below, _) => false,
            (Zone::Above, _) => true,
            // k1 < k2: upwards across k1 turns on, downwards across k2 turns off. k1 >
            // k2: neither threshold in question has been crossed.
            (Zone::Between, Zone::Below) => above_k1,
            (Zone::Between, Zone::Above) => !above_k1,
            (Zone::Between, Zone::Between) => self.marking,
        };
        self.zone = zone;
    }
}

impl Discipline for DoubleThreshold {
    #[inline]
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, _: &mut dyn Rng) -> Verdict {
        self.follow(queue);
        if !self.marking {
            Verdict::Admit
        } else if packet.ecn.is_capable() {
            Verdict::Mark
        } else {
            self.not_ect
        }
    }

    /// The relay follows every arrival, those that the buffer refuses too.
    fn on_refused(&mut self, queue: &QueueState, _: &Arrival) {
        self.follow(queue);
    }
}
