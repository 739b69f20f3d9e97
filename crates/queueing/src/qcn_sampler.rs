//! QCN's congestion point with its random numbers and its count of notifications.

use incastle_units::Bytes;
use rand_core::Rng;

use crate::{CongestionPoint, CongestionPointConfig, Sample};

/// The congestion point of one queue, which draws from `R`.
#[derive(Debug, Clone)]
pub struct QcnSampler<R> {
    point: CongestionPoint,
    rng: R,
    notifications: u64,
}

impl<R: Rng> QcnSampler<R> {
    /// The congestion point of an empty queue.
    pub fn new(config: CongestionPointConfig, rng: R) -> Self {
        Self {
            point: CongestionPoint::new(config),
            rng,
            notifications: 0,
        }
    }

    /// Notifications that its samples have asked for.
    pub const fn notifications(&self) -> u64 {
        self.notifications
    }

    /// As [`CongestionPoint::on_arrival`].
    pub fn sample(&mut self, queue: Bytes, size: Bytes) -> Option<Sample> {
        let sample = self.point.on_arrival(queue, size, &mut self.rng)?;
        self.notifications += u64::from(sample.psi > 0);
        Some(sample)
    }

    /// As [`CongestionPoint::lets_pass`].
    pub fn lets_pass(&self, size: Bytes) -> bool {
        self.point.lets_pass(size)
    }

    /// As [`CongestionPoint::pass`].
    pub fn pass(&mut self, size: Bytes) {
        self.point.pass(size);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;
    use crate::{CongestionMemory, QcnSampling};

    fn sampling() -> impl Strategy<Value = QcnSampling> {
        prop_oneof![
            3 => Just(QcnSampling::V22),
            1 => Just(QcnSampling::Older),
            1 => Just(QcnSampling::EveryPacket),
        ]
    }

    proptest! {
        // A frame that is let pass whatever the queue is no sampling, and is counted as by its arrival.
        #[test]
        fn what_is_let_pass_is_counted_and_no_sampling(
            sampling in sampling(),
            remembers in prop::bool::weighted(0.2),
            frames in prop::collection::vec((0_u64..150_000, 64_u64..9_000), 1..300),
        ) {
            let config = CongestionPointConfig {
                sampling,
                memory: remembers.then(CongestionMemory::default),
                ..CongestionPointConfig::new(Bytes::new(150_000))
            };
            let rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let mut fast = QcnSampler::new(config, rng.clone());
            let mut slow = QcnSampler::new(config, rng);
            let mut passed = 0_u64;
            for (queue, size) in frames {
                let [queue, size] = [queue, size].map(Bytes::new);
                let answer = if fast.lets_pass(size) {
                    fast.pass(size);
                    passed += 1;
                    None
                } else {
                    fast.sample(queue, size)
                };
                prop_assert_eq!(answer, slow.sample(queue, size));
            }
            let may_pass = sampling == QcnSampling::V22 && !remembers;
            prop_assert_eq!(passed > 0, may_pass);
            prop_assert_eq!(fast.notifications(), slow.notifications());
        }
    }
}
