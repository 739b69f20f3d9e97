//! A receiver's measurements of arriving packets: their rate, and the path's capacity by packet pairs
//! (draft-gg-udt-03, section 4; Gu and Grossman 2007). Integers throughout: picoseconds, and packets
//! per second as the ACK carries them.
//!
//! Packets may share an instant, where several are taken from a socket together or a NIC coalesces
//! them. In the first case that instant is that of the last of them, in the second that of the first.
//! They therefore came within the interval before it, or within the one after it. The longer of the
//! two is divided among them, and counted once for each. A batch that gathered while the socket was
//! not read, with one packet right behind it, must not yield a rate that no link has. Packets
//! of one instant show nothing about the interval within a pair.
//!
//! Leaves out: who sends pairs, and when an ACK reports. Until 16 intervals are there nothing is
//! reported; the library fills its windows with guesses instead.

use incastle_units::{Span, Time};

use super::{MAX_SEQUENCE, Number};

/// Intervals that count.
const INTERVALS: usize = 16;

/// Fewer intervals near the median show nothing.
const MORE_THAN: usize = 8;

/// Intervals further than this factor from the median are left out.
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
    /// The interval of each of its packets, given the time until the next instant.
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
        // A pair that lost one of its packets, or came with others between, shows nothing about the
        // path's capacity.
        let begins_pair = before.number.word().is_multiple_of(PAIR_EVERY);
        if begins_pair && before.number.plus(1) == number && before.together == 1 {
            self.pairs.take(interval);
        }
    }

    /// Packets per second: the inverse of the mean of the intervals within a factor of 8 of the
    /// median, where more than 8 intervals are.
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

/// `packets` in `ps` picoseconds, per second, to the nearest number that the wire holds. Absent for
/// packets that all came at one instant.
fn per_second(packets: u128, ps: u128) -> Option<u32> {
    let second = u128::from(Span::from_secs(1).as_ps());
    let rate = (2 * packets * second + ps).checked_div(2 * ps)?;
    Some(rate.min(u128::from(MAX_SEQUENCE)) as u32)
}

/// The fraction's bits of a smoothed estimate: its rounding stays below a thousandth.
const FRACTION: u32 = 16;

/// An estimate that the sender smooths: 7/8 of its old value and 1/8 of an ACK's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Smoothed {
    /// In 2^-16 packets per second.
    value: Option<u64>,
}

impl Smoothed {
    /// An ACK reported this rate in packets per second. The first report counts in full; none is written
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
