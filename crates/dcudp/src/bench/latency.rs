//! Round-trip times and their distribution.

use std::time::Duration;

use serde::Serialize;

/// Summary statistics of round-trip times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latencies {
    /// How many.
    pub count: usize,
    /// The shortest.
    pub min_us: f64,
    /// The mean.
    pub mean_us: f64,
    /// The median.
    pub p50_us: f64,
    /// So long or shorter are 99 of 100.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

impl Latencies {
    /// Summarises at least one round trip.
    pub fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let (first, last) = (*times.first()?, *times.last()?);
        let sum: Duration = times.iter().sum();
        Some(Self {
            count: times.len(),
            min_us: micros(first),
            mean_us: micros(sum) / times.len() as f64,
            p50_us: micros(quantile(&times, 50)),
            p99_us: micros(quantile(&times, 99)),
            max_us: micros(last),
        })
    }
}

/// The nearest rank: the smallest value that at least `percent` of all do not exceed.
fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank.max(1) - 1]
}

/// In microseconds.
pub fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        // 100, 99, ... 1 us: the 50th and the 99th of them in order.
        let times = (1..=100).rev().map(Duration::from_micros).collect();
        let found = Latencies::of(times).unwrap();
        let whole = |micros: f64| micros.round() as u64;
        let rounded = [found.min_us, found.p50_us, found.p99_us, found.max_us].map(whole);
        assert_eq!(rounded, [1, 50, 99, 100]);
        // (1 + ... + 100) / 100 = 50.5
        assert!((found.mean_us - 50.5).abs() < 1e-6);
        let one = Latencies::of(vec![Duration::from_micros(7)]).unwrap();
        assert_eq!((one.count, whole(one.p50_us), whole(one.p99_us)), (1, 7, 7));
        assert_eq!(Latencies::of(Vec::new()), None);
    }
}
