//! The filters of the model: maxima over windows, the minimum of the round trips, the end of growth.

use incastle_units::{Rate, Span, Time};

/// BBR.MinRTTFilterLen.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
/// Rounds with little growth that end the growth (section 5.3.1.2).
const PLATEAU_ROUNDS: u32 = 3;

/// BBR.max_bw_filter: the maximum of this cycle and of the one before (section 5.5.3).
#[derive(Debug, Clone, Default)]
pub(super) struct MaxBandwidth {
    previous: Option<Rate>,
    current: Option<Rate>,
}

impl MaxBandwidth {
    pub(super) fn get(&self) -> Option<Rate> {
        self.current.max(self.previous)
    }

    /// UpdateMaxBw (section 5.5.5).
    pub(super) fn update(&mut self, sample: Rate, is_app_limited: bool) {
        if !is_app_limited || Some(sample) >= self.get() {
            self.current = self.current.max(Some(sample));
        }
    }

    /// AdvanceMaxBwFilter (section 5.5.6). A cycle without samples leaves the last maximum.
    pub(super) fn advance(&mut self) {
        if self.current.is_some() {
            self.previous = self.current.take();
        }
    }
}

/// A maximum over a window of rounds, by the best three samples (Kathleen Nichols' algorithm, which the
/// draft names in section 5.5.5).
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowedMax {
    best: [(u64, u64); 3],
}

impl WindowedMax {
    pub(super) const fn new() -> Self {
        Self { best: [(0, 0); 3] }
    }

    pub(super) const fn get(&self) -> u64 {
        self.best[0].1
    }

    /// A sample at `round`; those of `window` rounds before it no longer count.
    pub(super) fn update(&mut self, round: u64, value: u64, window: u64) {
        let sample = (round, value);
        let age = |(at, _): (u64, u64)| round - at;
        if value >= self.best[0].1 || age(self.best[2]) > window {
            self.best = [sample; 3];
            return;
        }
        if value >= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value >= self.best[2].1 {
            self.best[2] = sample;
        }
        if age(self.best[0]) > window {
            self.best = [self.best[1], self.best[2], sample];
            if age(self.best[0]) > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age(self.best[1]) > window / 4 {
            // A quarter of the window passed without a second-best sample.
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age(self.best[2]) > window / 2 {
            self.best[2] = sample;
        }
    }
}

/// BBR.min_rtt, and when ProbeRTT is due (section 5.3.4.3).
#[derive(Debug, Clone)]
pub(super) struct MinRtt {
    min: Option<Span>,
    at: Time,
    /// BBR.probe_rtt_min_delay, and its time.
    probe_min: Span,
    probe_at: Time,
    /// BBR.probe_rtt_expired.
    expired: bool,
}

impl MinRtt {
    pub(super) const fn new(now: Time, smoothed: Option<Span>) -> Self {
        Self {
            min: smoothed,
            at: now,
            probe_min: Span::MAX,
            probe_at: now,
            expired: false,
        }
    }

    pub(super) const fn get(&self) -> Option<Span> {
        self.min
    }

    pub(super) const fn is_expired(&self) -> bool {
        self.expired
    }

    /// UpdateMinRTT.
    pub(super) fn update(&mut self, now: Time, rtt: Option<Span>) {
        self.expired = now > self.probe_at.saturating_add(PROBE_RTT_INTERVAL);
        if let Some(rtt) = rtt
            && (rtt < self.probe_min || self.expired)
        {
            self.probe_min = rtt;
            self.probe_at = now;
        }
        let min_expired = now > self.at.saturating_add(MIN_RTT_WINDOW);
        let less = self.min.is_none_or(|min| self.probe_min < min);
        if self.probe_min < Span::MAX && (less || min_expired) {
            self.min = Some(self.probe_min);
            self.at = self.probe_at;
        }
    }

    /// ProbeRTT is over: the next one comes after the interval.
    pub(super) const fn schedule_probe(&mut self, now: Time) {
        self.probe_at = now;
    }
}

/// The estimator of a full pipe (section 5.3.1.2).
#[derive(Debug, Clone, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw.
    baseline: Option<Rate>,
    rounds: u32,
    /// BBR.full_bw_now.
    pub(super) now: bool,
    /// BBR.full_bw_reached.
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW, from a baseline.
    pub(super) const fn reset(&mut self, baseline: Option<Rate>) {
        self.baseline = baseline;
        self.rounds = 0;
        self.now = false;
    }

    /// CheckFullBWReached, at the start of a round that the application does not limit.
    pub(super) fn on_round(&mut self, sample: Option<Rate>) {
        if self.now {
            return;
        }
        let bits = |rate: Option<Rate>| u128::from(rate.map_or(0, Rate::bits_per_second));
        if bits(sample) * 4 >= bits(self.baseline) * 5 {
            self.reset(sample);
            return;
        }
        self.rounds += 1;
        self.now = self.rounds >= PLATEAU_ROUNDS;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn mbit(count: u64) -> Rate {
        Rate::from_bits_per_second(count * 1_000_000)
    }

    #[test]
    fn the_bandwidth_is_the_maximum_of_two_cycles() {
        let mut filter = MaxBandwidth::default();
        assert_eq!(filter.get(), None);
        filter.update(mbit(10), false);
        filter.update(mbit(8), false);
        filter.advance();
        filter.update(mbit(7), false);
        assert_eq!(filter.get(), Some(mbit(10)));
        // The application limits the sample: only a larger one counts.
        filter.advance();
        filter.update(mbit(5), true);
        assert_eq!(filter.get(), Some(mbit(7)));
        filter.advance();
        assert_eq!(filter.get(), Some(mbit(7)), "a cycle without samples");
        filter.update(mbit(9), true);
        assert_eq!(filter.get(), Some(mbit(9)));
    }

    #[test]
    fn the_windowed_maximum_forgets_after_its_window() {
        let mut filter = WindowedMax::new();
        filter.update(0, 50, 10);
        for round in 1..=10 {
            filter.update(round, 20 - round, 10);
            assert_eq!(filter.get(), 50, "round {round}");
        }
        // At round 11 the 50 of round 0 is older than ten rounds: what is left is below it, above the last.
        filter.update(11, 9, 10);
        assert!((9..20).contains(&filter.get()), "{}", filter.get());
        filter.update(12, 60, 10);
        assert_eq!(filter.get(), 60);
    }

    #[test]
    fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
        let mut full = FullPipe::default();
        for count in [100, 125, 157] {
            full.on_round(Some(mbit(count)));
        }
        // 157 x 1.25 = 196.25.
        for (count, now) in [(196, false), (190, false), (196, true)] {
            full.on_round(Some(mbit(count)));
            assert_eq!(full.now, now, "{count}");
        }
        full.reset(Some(mbit(196)));
        assert_eq!((full.now, full.reached), (false, true));
    }

    #[test]
    fn a_probe_is_due_after_five_seconds_without_a_lower_round_trip() {
        let second = |count: u64| Time::ZERO + Span::from_secs(count);
        let mut rtt = MinRtt::new(Time::ZERO, Some(Span::from_ms(20)));
        rtt.update(second(1), Some(Span::from_ms(10)));
        assert_eq!(rtt.get(), Some(Span::from_ms(10)));
        rtt.update(second(6), Some(Span::from_ms(15)));
        assert!(!rtt.is_expired(), "five seconds are not over");
        rtt.update(second(7), Some(Span::from_ms(15)));
        assert!(rtt.is_expired());
        // The minimum itself lasts for ten.
        assert_eq!(rtt.get(), Some(Span::from_ms(10)));
        rtt.update(second(12), Some(Span::from_ms(16)));
        assert_eq!(rtt.get(), Some(Span::from_ms(15)));
    }
}
