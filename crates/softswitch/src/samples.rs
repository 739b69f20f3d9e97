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

    /// How long the queue had each length, by its index.
    pub fn spans(&self) -> &[Span] {
        &self.spans
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

/// Classes of lateness in each doubling: quantiles are exact to an eighth.
const PER_OCTAVE: u64 = 8;
const CLASSES: usize = 64 * PER_OCTAVE as usize;

/// How late departures were: the machine's error.
#[derive(Debug, Clone)]
pub struct Lateness {
    /// Departures by classes of nanoseconds.
    classes: Box<[u64; CLASSES]>,
    count: u64,
    total: u128,
    max: Span,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            classes: Box::new([0; CLASSES]),
            count: 0,
            total: 0,
            max: Span::ZERO,
        }
    }
}

/// Lateness in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct LatenessSummary {
    /// The mean.
    pub mean_us: f64,
    /// Half were less late, to an eighth.
    pub p50_us: f64,
    /// 99 % were less late, to an eighth.
    pub p99_us: f64,
    /// The latest.
    pub max_us: f64,
}

impl Lateness {
    /// One departure.
    pub fn add(&mut self, late: Span) {
        self.classes[class_of(late.as_ps() / 1_000)] += 1;
        self.count += 1;
        self.total += u128::from(late.as_ps());
        self.max = self.max.max(late);
    }

    /// Adds the departures of another port.
    pub fn merge(&mut self, other: &Self) {
        for (own, more) in self.classes.iter_mut().zip(other.classes.iter()) {
            *own += more;
        }
        self.count += other.count;
        self.total += other.total;
        self.max = self.max.max(other.max);
    }

    /// Mean, quantiles and the worst; zero where nothing left.
    pub fn summary(&self) -> LatenessSummary {
        LatenessSummary {
            mean_us: self.total as f64 / 1e6 / self.count.max(1) as f64,
            p50_us: self.quantile_us(self.count.div_ceil(2)),
            p99_us: self.quantile_us((self.count * 99).div_ceil(100)),
            max_us: self.max.as_ps() as f64 / 1e6,
        }
    }

    /// The upper limit of the class that holds this departure in order, at most the latest.
    fn quantile_us(&self, wanted: u64) -> f64 {
        let mut seen = 0;
        for (class, count) in self.classes.iter().enumerate() {
            seen += count;
            if seen >= wanted && seen > 0 {
                return (limit_of(class) as f64).min(self.max.as_ps() as f64 / 1e3) / 1e3;
            }
        }
        0.0
    }
}

/// The class of a number of nanoseconds: exact below eight, then eight to each doubling.
fn class_of(ns: u64) -> usize {
    let Some(shift) = ns.checked_ilog2().and_then(|log| log.checked_sub(3)) else {
        return ns as usize;
    };
    (u64::from(shift) * PER_OCTAVE + (ns >> shift)) as usize
}

/// The number of nanoseconds at which a class ends.
const fn limit_of(class: usize) -> u64 {
    let class = class as u64;
    if class < 2 * PER_OCTAVE {
        return class + 1;
    }
    let shift = class / PER_OCTAVE - 1;
    (class % PER_OCTAVE + PER_OCTAVE + 1) << shift
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
    fn quantiles_of_lateness_are_exact_to_an_eighth() {
        let mut lateness = Lateness::default();
        for us in 1..=1_000 {
            lateness.add(Span::from_us(us));
        }
        let summary = lateness.summary();
        assert!((500.0..=562.5).contains(&summary.p50_us), "{summary:?}");
        assert!((990.0..=1_000.0).contains(&summary.p99_us), "{summary:?}");
        assert!((summary.mean_us - 500.5).abs() < 1e-9);
        assert!((summary.max_us - 1_000.0).abs() < 1e-9);
        let mut both = Lateness::default();
        both.merge(&lateness);
        both.add(Span::from_ms(2));
        assert!((both.summary().max_us - 2_000.0).abs() < 1e-9);
        assert!((both.summary().p50_us - summary.p50_us).abs() < 1e-9);
    }

    #[test]
    fn classes_follow_each_other() {
        for ns in (0..4_096).chain([1 << 40, u64::MAX >> 1]) {
            let class = class_of(ns);
            assert!(ns < limit_of(class), "{ns} in class {class}");
            assert!(
                class == 0 || limit_of(class - 1) <= ns,
                "{ns} in class {class}"
            );
        }
    }
}
