//! Measurements in real time: the time-weighted queue length, and the lateness of departures.

use incastle_units::{Span, Time};
use serde::Serialize;

/// How long the queue had each length.
#[derive(Debug, Clone, Default)]
pub struct QueueLength {
    since: Time,
    length: usize,
    /// Time at each length, by its index.
    spans: Vec<Span>,
}

/// A queue's mean and quantiles, in packets, weighted by time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QueueSummary {
    /// For how long it was watched.
    pub seconds: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
    /// The median.
    pub p50: usize,
    /// 95 % of the time it was not longer.
    pub p95: usize,
    /// 99 % of the time it was not longer.
    pub p99: usize,
    /// The longest.
    pub max: usize,
}

impl QueueLength {
    /// The queue has this length from `now` on.
    pub fn set(&mut self, now: Time, length: usize) {
        let passed = now.saturating_since(self.since);
        if passed > Span::ZERO {
            if self.spans.len() <= self.length {
                self.spans.resize(self.length + 1, Span::ZERO);
            }
            let total = self.spans[self.length].as_ps() + passed.as_ps();
            self.spans[self.length] = Span::from_ps(total);
            self.since = now;
        }
        self.length = length;
    }

    /// Watches from `now` on.
    pub fn restart(&mut self, now: Time) {
        self.since = now;
        self.spans.clear();
    }

    /// Mean and quantiles; zero where nothing was watched.
    pub fn summary(&self) -> QueueSummary {
        let total: f64 = self.spans.iter().map(|span| span.as_secs_lossy()).sum();
        let moment = |power: i32| {
            let terms = self.spans.iter().enumerate();
            let sum: f64 = terms
                .map(|(length, span)| (length as f64).powi(power) * span.as_secs_lossy())
                .sum();
            if total > 0.0 { sum / total } else { 0.0 }
        };
        let mean = moment(1);
        QueueSummary {
            seconds: total,
            mean,
            deviation: (moment(2) - mean * mean).max(0.0).sqrt(),
            p50: self.quantile(0.50 * total),
            p95: self.quantile(0.95 * total),
            p99: self.quantile(0.99 * total),
            max: self.quantile(total),
        }
    }

    /// The least length that was not exceeded for this many seconds.
    fn quantile(&self, seconds: f64) -> usize {
        let mut passed = 0.0;
        for (length, span) in self.spans.iter().enumerate() {
            passed += span.as_secs_lossy();
            if passed >= seconds {
                return length;
            }
        }
        self.spans.len().saturating_sub(1)
    }
}

/// How late departures were: the machine's error.
#[derive(Debug, Clone, Default)]
pub struct Lateness {
    /// Departures by powers of two of microseconds: index 0 is below 1 us, 1 below 2, 2 below 4.
    classes: [u64; 32],
    count: u64,
    total: u128,
    max: Span,
}

/// Lateness in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatenessSummary {
    /// The mean.
    pub mean_us: f64,
    /// Half were less late than this power of two.
    pub p50_below_us: u64,
    /// 99 % were less late than this power of two.
    pub p99_below_us: u64,
    /// The latest.
    pub max_us: f64,
}

impl Lateness {
    /// One departure.
    pub fn add(&mut self, late: Span) {
        let us = late.as_ps() / 1_000_000;
        let class = (u64::BITS - us.leading_zeros()) as usize;
        self.classes[class.min(self.classes.len() - 1)] += 1;
        self.count += 1;
        self.total += u128::from(late.as_ps());
        self.max = self.max.max(late);
    }

    /// Mean, quantiles and the worst; zero where nothing left.
    pub fn summary(&self) -> LatenessSummary {
        LatenessSummary {
            mean_us: self.total as f64 / 1e6 / self.count.max(1) as f64,
            p50_below_us: self.quantile(self.count.div_ceil(2)),
            p99_below_us: self.quantile((self.count * 99).div_ceil(100)),
            max_us: self.max.as_ps() as f64 / 1e6,
        }
    }

    fn quantile(&self, wanted: u64) -> u64 {
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return 1 << class;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn lengths_are_weighted_by_their_time() {
        let mut queue = QueueLength::default();
        queue.restart(at(100));
        queue.set(at(100), 2);
        queue.set(at(400), 10);
        queue.set(at(500), 0);
        queue.set(at(1_100), 0);
        // 300 us of 2, 100 us of 10, 600 us of 0. The mean is (600 + 1000) / 1000 = 1.6, the mean square
        // (1200 + 10000) / 1000 = 11.2, the deviation sqrt(11.2 - 2.56) = 2.939.
        let summary = queue.summary();
        assert!((summary.seconds - 0.001).abs() < 1e-12);
        assert!((summary.mean - 1.6).abs() < 1e-9);
        assert!((summary.deviation - 8.64_f64.sqrt()).abs() < 1e-9);
        assert_eq!(
            (summary.p50, summary.p95, summary.p99, summary.max),
            (0, 10, 10, 10)
        );
    }

    #[test]
    fn lateness_has_classes_of_powers_of_two() {
        let mut lateness = Lateness::default();
        for us in [0, 0, 1, 3, 100] {
            lateness.add(Span::from_us(us));
        }
        let summary = lateness.summary();
        // The third of five is 1 us: below 2. The last is 100: below 128.
        assert_eq!((summary.p50_below_us, summary.p99_below_us), (2, 128));
        assert!((summary.mean_us - 20.8).abs() < 1e-9);
        assert!((summary.max_us - 100.0).abs() < 1e-9);
    }
}
