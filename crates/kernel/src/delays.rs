//! Quantiles of delays, to an eighth.

use std::collections::BTreeMap;
use std::time::Duration;

/// Parts of each power of two.
const PARTS: u32 = 3;

/// How many delays there were of each length.
#[derive(Debug, Clone, Default)]
pub struct Delays {
    bins: BTreeMap<u64, u64>,
    count: u64,
}

impl Delays {
    /// Adds a delay.
    pub(crate) fn add(&mut self, ns: u64) {
        let drop = (u64::BITS - ns.leading_zeros()).saturating_sub(PARTS + 1);
        *self.bins.entry(ns >> drop << drop).or_default() += 1;
        self.count += 1;
    }

    /// The number of delays.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// A quantile; none without delays.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let wanted = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut sum = 0;
        for (&ns, count) in &self.bins {
            sum += count;
            if sum >= wanted {
                return Some(Duration::from_nanos(ns));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_delays_to_an_eighth() {
        let mut delays = Delays::default();
        assert_eq!(delays.quantile(0.5), None);
        (1..=1000).for_each(|us| delays.add(us * 1000));
        for (share, us) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = delays.quantile(share).unwrap().as_secs_f64() * 1e6;
            assert!(found <= us && found > us * 7.0 / 8.0, "{share}: {found}");
        }
    }
}
