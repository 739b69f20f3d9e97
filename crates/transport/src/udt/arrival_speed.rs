//! What a receiver measures of the packets that arrive: their rate, and the capacity of the path by
//! packet pairs (draft-gg-udt-03, section 4; Gu and Grossman 2007). Integers throughout: picoseconds,
//! and packets per second as the ACK carries them.
//!
//! Packets may share an instant, where several are taken from a socket at once or an adapter joins
//! them. The instant is that of the last of them in the one case and of the first in the other, so
//! they came within the time since the instant before or within that until the next. The longer of
//! the two is divided among them, and taken once for each: a handful that gathered while nobody read,
//! with one more right behind it, must not pass for a rate that no link has. Of the interval within a
//! pair they tell nothing.
//!
//! Leaves out: who sends pairs, and when an ACK reports. Until 16 intervals are there nothing is
//! reported; the library fills its windows with guesses instead.

use incastle_units::{Span, Time};

use super::{MAX_SEQUENCE, Number};

/// Intervals that count.
const INTERVALS: usize = 16;

/// Fewer intervals near the median say nothing.
const MORE_THAN: usize = 8;

/// What lies further than this factor from the median is left out.
const FACTOR: u128 = 8;

/// A pair begins at every 16th number.
const PAIR_EVERY: u32 = 16;

/// The last 16 intervals.
#[derive(Debug, Clone, Default)]
struct Intervals {
    /// Picoseconds; the next one replaces the oldest.
    values: [u64; INTERVALS],
    next: usize,
    full: bool,
}

impl Intervals {
    fn take(&mut self, interval: Span) {
        self.values[self.next] = interval.as_ps();
        self.next = (self.next + 1) % INTERVALS;
        self.full |= self.next == 0;
    }

    /// The sum of the two in the middle: twice the median. Absent before there are 16.
    fn twice_median(&self) -> Option<u128> {
        if !self.full {
            return None;
        }
        let mut sorted = self.values;
        sorted.sort_unstable();
        let [lower, upper] = [sorted[INTERVALS / 2 - 1], sorted[INTERVALS / 2]];
        Some(u128::from(lower) + u128::from(upper))
    }
}

/// The receiver's two estimates.
#[derive(Debug, Clone, Default)]
pub struct ArrivalSpeed {
    arrivals: Intervals,
    pairs: Intervals,
    last: Option<Arrival>,
}

/// The last packet that arrived.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: Time,
    number: Number,
    /// Since the instant before it; nothing for the first.
    after: Span,
    /// Packets that arrived at that instant, itself included.
    together: u64,
}

impl Arrival {
    /// What each of its packets took, given the time until the next instant.
    fn share(&self, until_next: Span) -> Span {
        match self.together {
            1 => until_next,
            together => until_next.max(self.after) / together,
        }
    }
}

impl ArrivalSpeed {
    /// A data packet arrived, new or not.
    pub fn on_arrival(&mut self, now: Time, number: Number) {
        if let Some(last) = self.last.as_mut().filter(|last| now <= last.at) {
            last.together += 1;
            last.number = number;
            return;
        }
        let interval = self.last.map(|last| now.saturating_since(last.at));
        let before = self.last.replace(Arrival {
            at: now,
            number,
            after: interval.unwrap_or(Span::ZERO),
            together: 1,
        });
        let (Some(before), Some(interval)) = (before, interval) else {
            return;
        };
        assert!(before.together > 0, "an instant has a packet");
        let share = before.share(interval);
        for _ in 0..before.together.min(INTERVALS as u64) {
            self.arrivals.take(share);
        }
        // A pair that lost one of its packets, or came with others between, says nothing about the
        // path's capacity.
        let begins_pair = before.number.word().is_multiple_of(PAIR_EVERY);
        if begins_pair && before.number.plus(1) == number && before.together == 1 {
            self.pairs.take(interval);
        }
    }

    /// Packets per second: the inverse of the mean of those intervals that lie within a factor of 8
    /// of the median, where more than 8 do.
    pub fn receiving_rate(&self) -> Option<u32> {
        let median = self.arrivals.twice_median()?;
        let (mut count, mut sum) = (0, 0);
        for interval in self.arrivals.values.map(u128::from) {
            // AI / 8 <= x <= 8 AI, in halves.
            if median <= 2 * interval * FACTOR && 2 * interval <= median * FACTOR {
                count += 1;
                sum += interval;
            }
        }
        if count <= MORE_THAN {
            return None;
        }
        per_second(count as u128, sum)
    }

    /// The path's capacity in packets per second: the inverse of the median of the pairs' intervals.
    pub fn capacity(&self) -> Option<u32> {
        per_second(2, self.pairs.twice_median()?)
    }
}

/// So many packets in so many picoseconds, per second, to the nearest number that the wire holds.
/// Absent for packets that all came at once.
fn per_second(packets: u128, ps: u128) -> Option<u32> {
    let second = u128::from(Span::from_secs(1).as_ps());
    let rate = (2 * packets * second + ps).checked_div(2 * ps)?;
    Some(rate.min(u128::from(MAX_SEQUENCE)) as u32)
}

/// The fraction's bits of a smoothed estimate: what rounding leaves over stays below a thousandth.
const FRACTION: u32 = 16;

/// An estimate that the sender smooths: 7/8 of what it was and 1/8 of what an ACK reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Smoothed {
    /// In 2^-16 packets per second.
    value: Option<u64>,
}

impl Smoothed {
    /// An ACK reported so many packets per second. The first report counts in full; none is written
    /// as zero, and is left out.
    pub fn report(&mut self, packets_per_second: u32) {
        if packets_per_second == 0 {
            return;
        }
        let sample = u64::from(packets_per_second) << FRACTION;
        self.value = Some(self.value.map_or(sample, |value| (7 * value + sample) / 8));
    }

    /// Packets per second, to the nearest.
    pub fn packets_per_second(self) -> Option<u32> {
        let half = 1 << (FRACTION - 1);
        self.value.map(|value| ((value + half) >> FRACTION) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Arrivals that are so many microseconds apart, none of which is a pair.
    fn after(intervals: &[u64]) -> ArrivalSpeed {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        speed.on_arrival(now, Number::from_word(5));
        for &us in intervals {
            now += Span::from_us(us);
            speed.on_arrival(now, Number::from_word(5));
        }
        speed
    }

    fn rate(intervals: &[u64]) -> Option<u32> {
        after(intervals).receiving_rate()
    }

    #[test]
    fn sixteen_even_intervals_give_the_rate_and_fewer_none() {
        // 12 us each: 83,333.3 packets per second.
        assert_eq!(rate(&[12; 15]), None);
        assert_eq!(rate(&[12; 16]), Some(83_333));
        // Only the last 16 count, wherever the window begins.
        for before in 1..40 {
            let intervals = [vec![500; before], vec![12; 16]].concat();
            assert_eq!(rate(&intervals), Some(83_333), "{before}");
        }
        assert_eq!(after(&[12; 40]).capacity(), None);
    }

    #[test]
    fn the_median_is_that_of_the_two_in_the_middle() {
        // Sorted 7 x 2, 4, 10, 7 x 60: the median is 7. 56 = 8 x 7 is not left out, 57 is:
        // 2 lies above 7/8. (7 x 2 + 4 + 10) / 9 = 28/9 us: 321,428.6 per second.
        let intervals = |most| [vec![2; 7], vec![4, 10], vec![most; 7]].concat();
        assert_eq!(rate(&intervals(57)), Some(321_429));
        // 16 in (28 + 7 x 56) = 420 us: 38,095.2.
        assert_eq!(rate(&intervals(56)), Some(38_095));
    }

    #[test]
    fn what_is_too_short_for_the_median_is_left_out() {
        // The median is 16 us: 2 = 16/8 counts, 1 does not.
        // (9 x 16 + 7 x 2) = 158 us for 16: 101,265.8. Without the seven: 9 in 144: 62,500.
        let intervals = |least| [vec![16; 9], vec![least; 7]].concat();
        assert_eq!(rate(&intervals(2)), Some(101_266));
        assert_eq!(rate(&intervals(1)), Some(62_500));
    }

    #[test]
    fn eight_that_are_left_say_nothing() {
        // Sorted 8 x 1, 8 x 20: the median is 10.5; 1 < 10.5 / 8 = 1.31 is left out, 8 are left.
        assert_eq!(rate(&[vec![1; 8], vec![20; 8]].concat()), None);
        // 9 x 20: the median is 20: (9 x 20) / 9.
        assert_eq!(rate(&[vec![1; 7], vec![20; 9]].concat()), Some(50_000));
    }

    #[test]
    fn packets_that_come_at_once_share_the_time_around_them() {
        assert_eq!(rate(&[0; 16]), None);
        // Four at once every 48 us: 12 us each, as if they had come one by one. The first four tell
        // their rate with the fifth.
        let batches = |count| [0, 0, 0, 48].repeat(count);
        assert_eq!(rate(&batches(3)), None);
        assert_eq!(rate(&batches(4)), Some(83_333));
        assert_eq!(rate(&[batches(9), vec![0; 3]].concat()), Some(83_333));
        // More than the window holds: 440 us for 44.
        assert_eq!(rate(&[vec![0; 43], vec![440]].concat()), Some(100_000));
    }

    #[test]
    fn packets_that_gathered_are_no_faster_for_one_right_behind_them() {
        // One after 120 us, then 32 that gathered for 3840 us, and 10 us later the next read.
        let gathered = [vec![120, 3840], vec![0; 31], vec![10]].concat();
        assert_eq!(rate(&gathered), Some(8333));
        // 32 that an adapter joined as they came, stamped with the first, 10 us after another.
        let joined = [vec![120, 10], vec![0; 31], vec![3840]].concat();
        assert_eq!(rate(&joined), Some(8333));
    }

    #[test]
    fn a_pair_that_comes_at_once_with_another_packet_does_not_count() {
        // 16 n - 1, 16 n and 16 n + 1: each at an instant of its own, or with its neighbour.
        let pairs = |before: u64, within: u64| {
            let mut speed = ArrivalSpeed::default();
            let mut now = Time::ZERO;
            for round in 1..40 {
                for (offset, us) in [(15, 100), (16, before), (17, within)] {
                    now += Span::from_us(us);
                    speed.on_arrival(now, Number::from_word(16 * round + offset));
                }
            }
            speed.capacity()
        };
        assert_eq!(pairs(5, 3), Some(333_333));
        assert_eq!(pairs(5, 0), None);
        // When the first of the pair came is not known: with the packet before it.
        assert_eq!(pairs(0, 3), None);
    }

    #[test]
    fn a_clock_that_runs_back_says_nothing() {
        let mut speed = ArrivalSpeed::default();
        for us in [10, 5, 30] {
            speed.on_arrival(Time::ZERO + Span::from_us(us), Number::from_word(0));
        }
        let ten = Span::from_us(10).as_ps();
        assert_eq!(speed.arrivals.values[..3], [ten, ten, 0]);
    }

    #[test]
    fn a_rate_beyond_the_wire_is_the_wires_greatest() {
        let mut speed = ArrivalSpeed::default();
        for ps in 0..17 {
            speed.on_arrival(Time::from_ps(ps), Number::from_word(0));
        }
        assert_eq!(speed.receiving_rate(), Some(MAX_SEQUENCE));
    }

    /// Arrivals of consecutive numbers from `first` on, 3 us within a pair that begins at a multiple
    /// of 16 and 100 us otherwise.
    fn in_pairs(first: u32, count: u32) -> ArrivalSpeed {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        for index in 0..count {
            let number = Number::from_word(first).plus(u64::from(index));
            let second = number.word() % 16 == 1;
            now += Span::from_us(if second { 3 } else { 100 });
            speed.on_arrival(now, number);
        }
        speed
    }

    #[test]
    fn sixteen_pairs_give_the_capacity() {
        // 3 us: 333,333.3 per second. The 16th pair ends with packet 15 x 16 + 1, the 242nd.
        assert_eq!(in_pairs(0, 241).capacity(), None);
        assert_eq!(in_pairs(0, 242).capacity(), Some(333_333));
        // Across the wrap: 2^31 - 32 is a multiple of 16.
        assert_eq!(in_pairs(MAX_SEQUENCE - 31, 242).capacity(), Some(333_333));
        assert_eq!(in_pairs(MAX_SEQUENCE - 31, 241).capacity(), None);
    }

    #[test]
    fn a_torn_pair_does_not_count() {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        for round in 0..40 {
            // 16 n, then 16 n + 2: one was lost. 16 n + 1 after 16 n + 5: it came late.
            for offset in [0, 2, 5, 1] {
                now += Span::from_us(1);
                speed.on_arrival(now, Number::from_word(16 * round + offset));
            }
        }
        assert_eq!(speed.capacity(), None);
    }

    #[test]
    fn the_median_of_pairs_forgives_some() {
        let mut speed = ArrivalSpeed::default();
        let mut now = Time::ZERO;
        // Nine pairs of 12 us and seven of 1 us: 83,333.3 per second. With eight and eight the
        // median is 6.5 us: 153,846.2.
        for (round, us) in [vec![12; 9], vec![1; 7], vec![1]]
            .concat()
            .into_iter()
            .enumerate()
        {
            if round == 16 {
                assert_eq!(speed.capacity(), Some(83_333));
            }
            let number = Number::from_word(16 * round as u32);
            speed.on_arrival(now, number);
            now += Span::from_us(us);
            speed.on_arrival(now, number.plus(1));
            now += Span::from_us(50);
        }
        assert_eq!(speed.capacity(), Some(153_846));
    }

    #[test]
    fn reports_are_smoothed_by_an_eighth() {
        let mut smoothed = Smoothed::default();
        smoothed.report(0);
        assert_eq!(smoothed.packets_per_second(), None);
        let mut seen = Vec::new();
        // 800; 700 + 200 = 900; 787.5 + 0 is no report; 787.5 + 12.5 = 800; 700 + 0.125.
        for report in [800, 1600, 0, 100, 1] {
            smoothed.report(report);
            seen.push(smoothed.packets_per_second());
        }
        assert_eq!(seen, [800, 900, 900, 800, 700].map(Some));
    }

    #[test]
    fn a_smoothed_estimate_arrives_where_the_reports_are() {
        for (first, then) in [(1, 1000), (1000, 1), (1, MAX_SEQUENCE), (MAX_SEQUENCE, 7)] {
            let mut smoothed = Smoothed::default();
            smoothed.report(first);
            for _ in 0..400 {
                smoothed.report(then);
            }
            assert_eq!(smoothed.packets_per_second(), Some(then));
        }
    }

    proptest! {
        /// Whatever arrives when: an estimate lies between the inverses of the least and the greatest
        /// interval, and depends on the last 16 only.
        #[test]
        fn estimates_stay_within_what_arrived(
            steps in prop::collection::vec((1_u64..1_000_000_000, 0_u32..40), 0..200)
        ) {
            let mut speed = ArrivalSpeed::default();
            let mut now = Time::ZERO;
            let mut intervals = Vec::new();
            for (index, (ps, number)) in steps.into_iter().enumerate() {
                now += Span::from_ps(ps);
                speed.on_arrival(now, Number::from_word(number));
                if index > 0 {
                    intervals.push(ps);
                }
                let last = &intervals[intervals.len().saturating_sub(16)..];
                let Some(rate) = speed.receiving_rate() else { continue };
                prop_assert_eq!(last.len(), 16);
                let inverse = |ps: u64| 1e12 / ps as f64;
                let least = inverse(*last.iter().max().expect("16"));
                let most = inverse(*last.iter().min().expect("16"));
                let rate = f64::from(rate);
                prop_assert!(rate >= (least - 1.0).min(2e9) && rate <= most + 1.0);
            }
        }
    }
}
