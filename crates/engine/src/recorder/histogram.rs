//! How long a queue had each length: the time-weighted histogram of its packets.
//!
//! Lengths up to a thousand have a bin each; beyond, bins double, and only the mean is exact.

use incastle_units::{Span, Time};

use crate::fetch::fetch_element;

/// Up to this many packets each length has a bin of its own; beyond, bins double.
const SINGLE_BINS: u32 = 1024;

/// How long a queue had each length.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct QueueHistogram {
    /// Picoseconds by bin.
    spans: Vec<u64>,
    /// Packets times picoseconds at lengths that share a bin.
    long_area: u128,
    length: u32,
    longest: u32,
    since: Time,
}

impl QueueHistogram {
    /// Fetches the bin of the present length.
    #[inline(always)]
    pub(super) fn fetch_bins(&self) {
        fetch_element(&self.spans, self.length as usize);
    }

    #[inline]
    pub(super) fn change(&mut self, at: Time, length: u32) {
        self.settle(at);
        self.length = length;
        self.longest = self.longest.max(length);
    }

    /// Enters the time since the last change.
    #[inline]
    pub(super) fn settle(&mut self, at: Time) {
        let span = (at - self.since).as_ps();
        self.since = at;
        if let Some(single) = self.spans.get_mut(self.length as usize)
            && self.length <= SINGLE_BINS
        {
            *single += span;
        } else {
            self.settle_long(span);
        }
    }

    /// A length that never occurred before, or one that shares its bin with others.
    #[cold]
    fn settle_long(&mut self, span: u64) {
        let bin = bin_of(self.length);
        if bin >= self.spans.len() {
            self.spans.resize(bin + 1, 0);
        }
        self.spans[bin] += span;
        if self.length > SINGLE_BINS {
            self.long_area += u128::from(self.length) * u128::from(span);
        }
    }

    /// Forgets everything but the length now.
    pub(super) fn restart(&mut self, at: Time) {
        let length = self.length;
        *self = Self {
            length,
            longest: length,
            since: at,
            ..Self::default()
        };
    }

    /// (least length in packets of the bin, time at it), for bins that occurred.
    pub fn bins(&self) -> impl Iterator<Item = (u64, Span)> + '_ {
        let occurred = self.spans.iter().enumerate().filter(|&(_, &span)| span > 0);
        occurred.map(|(bin, &span)| (least_of(bin), Span::from_ps(span)))
    }

    /// Packet-picoseconds: the integral of the length over time.
    pub fn area(&self) -> u128 {
        let single = self.spans.iter().enumerate().take(SINGLE_BINS as usize + 1);
        let short: u128 = single
            .map(|(length, &span)| length as u128 * u128::from(span))
            .sum();
        short + self.long_area
    }

    /// The longest the queue was, in packets.
    pub fn longest(&self) -> u32 {
        self.longest
    }
}

fn bin_of(length: u32) -> usize {
    if length <= SINGLE_BINS {
        return length as usize;
    }
    // 1025..=2047 is bin 1025, 2048..=4095 bin 1026, ...
    (SINGLE_BINS + 1 + (length.ilog2() - SINGLE_BINS.ilog2())) as usize
}

fn least_of(bin: usize) -> u64 {
    let single = SINGLE_BINS as usize;
    match bin.checked_sub(single + 1) {
        None => bin as u64,
        Some(0) => u64::from(SINGLE_BINS) + 1,
        Some(doublings) => u64::from(SINGLE_BINS) << doublings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_weighs_by_time() {
        let mut queue = QueueHistogram::default();
        queue.change(Time::from_ps(10), 2);
        queue.change(Time::from_ps(40), 1);
        queue.settle(Time::from_ps(45));
        // 10 ps at 0, 30 ps at 2, 5 ps at 1; area 60 + 5.
        let bins: Vec<_> = queue
            .bins()
            .map(|(packets, span)| (packets, span.as_ps()))
            .collect();
        assert_eq!(bins, [(0, 10), (1, 5), (2, 30)]);
        assert_eq!(queue.area(), 65);
        assert_eq!(queue.longest(), 2);
    }

    #[test]
    fn bins_double_beyond_a_thousand() {
        for length in [0, 1, 1023, 1024, 1025, 2047, 2048, 4095, 4096, u32::MAX] {
            let bin = bin_of(length);
            assert!(least_of(bin) <= u64::from(length));
            assert!(u64::from(length) < least_of(bin + 1));
        }
    }
}
