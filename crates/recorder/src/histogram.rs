//! Time-weighted histograms of queue lengths in packets.
//!
//! Lengths up to a thousand have a bin each; beyond, bins double, and only the mean is exact. A port has a row of cache
//! lines: its present length, then the bins of short queues. A change touches one line or two, whose places are known
//! beforehand. Rows of a large network are short; longer lengths, which few of its ports reach, are in a separate list.

use incastle_units::{Span, Time};

/// Up to this many packets each length has a separate bin; beyond, bins double.
const SINGLE_BINS: usize = 1024;
/// Words in a cache line.
const WORDS: usize = 8;
/// Words of a row before its bins.
const HEAD: usize = 2;
/// Cache lines of all rows together, where there are few ports: half a megabyte.
const LINES_IN_ALL: usize = 1 << 13;
/// The minimum and maximum number of lines in a row. Odd numbers: the first lines of rows then use all sets of a cache.
const MIN_LINES: usize = 5;
const MAX_LINES: usize = 127;
const _: () = assert!(MAX_LINES * WORDS - HEAD <= SINGLE_BINS);

/// The histograms of all ports.
#[derive(Debug, Default)]
pub(super) struct QueueHistograms {
    /// By port, `lines` of each.
    rows: Vec<Line>,
    lines: usize,
    /// Lengths below this have their bins in the row.
    bins: usize,
    /// By port: the bins beyond its row, once one was needed.
    long: Vec<Option<Box<Long>>>,
}

/// A line of a row. The first one begins with the instant of the last change and the longest and the present length;
/// picoseconds by length follow.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
struct Line([u64; WORDS]);

/// The bins of a queue beyond its row.
#[derive(Debug, Clone, Default)]
struct Long {
    /// Picoseconds by bin.
    spans: Vec<u64>,
    /// Packet-picoseconds at lengths that share a bin.
    area: u128,
}

impl Line {
    const SINCE: usize = 0;
    const LENGTHS: usize = 1;

    /// The longest and the present length.
    #[inline(always)]
    const fn lengths(&self) -> (u32, u32) {
        let both = self.0[Self::LENGTHS];
        ((both >> u32::BITS) as u32, both as u32)
    }

    #[inline(always)]
    fn set_lengths(&mut self, longest: u32, length: u32) {
        self.0[Self::LENGTHS] = u64::from(longest) << u32::BITS | u64::from(length);
    }
}

/// The time-weighted histogram of a queue.
#[derive(Debug, Clone, Copy)]
pub struct QueueHistogram<'a> {
    row: &'a [Line],
    long: Option<&'a Long>,
}

/// A bin of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueBin {
    /// Its minimum length, in packets.
    pub packets: u64,
    /// The time at its lengths.
    pub span: Span,
}

impl QueueHistograms {
    /// Histograms of this many ports.
    pub(super) fn new(ports: usize) -> Self {
        let lines = LINES_IN_ALL.checked_div(ports).unwrap_or(0) | 1;
        let lines = lines.clamp(MIN_LINES, MAX_LINES);
        Self {
            rows: vec![Line::default(); ports * lines],
            lines,
            bins: lines * WORDS - HEAD,
            long: vec![None; ports],
        }
    }

    /// Prefetches a queue's present length and its first bins.
    #[inline(always)]
    pub(super) fn prefetch(&self, port: usize) {
        incastle_memory::prefetch::element(&self.rows, port * self.lines);
    }

    /// Prefetches the bin of a queue's present length.
    #[inline(always)]
    pub(super) fn prefetch_bin(&self, port: usize) {
        let first = port * self.lines;
        let (_, length) = self.rows[first].lengths();
        incastle_memory::prefetch::element(&self.rows, first + (HEAD + length as usize) / WORDS);
    }

    /// Enters the time at the present length, and sets the next length.
    #[inline]
    pub(super) fn change(&mut self, port: usize, at: Time, length: u32) {
        let first = port * self.lines;
        let head = &mut self.rows[first];
        let span = (at - Time::from_ps(head.0[Line::SINCE])).as_ps();
        let (longest, before) = head.lengths();
        head.0[Line::SINCE] = at.as_ps();
        head.set_lengths(longest.max(length), length);
        let before = before as usize;
        if before < self.bins {
            let word = HEAD + before;
            self.rows[first + word / WORDS].0[word % WORDS] += span;
        } else {
            self.change_long(port, before, span);
        }
    }

    #[inline(never)]
    fn change_long(&mut self, port: usize, length: usize, span: u64) {
        let bin = bin_of(length) - self.bins;
        let long = self.long[port].get_or_insert_default();
        if bin >= long.spans.len() {
            long.spans.resize(bin + 1, 0);
        }
        long.spans[bin] += span;
        if length > SINGLE_BINS {
            long.area += length as u128 * u128::from(span);
        }
    }

    /// Enters the time since the last change of every queue.
    pub(super) fn settle_all(&mut self, at: Time) {
        for port in 0..self.long.len() {
            let (_, length) = self.rows[port * self.lines].lengths();
            self.change(port, at, length);
        }
    }

    /// Clears everything except the present lengths.
    pub(super) fn restart(&mut self, at: Time) {
        self.long.fill(None);
        for row in self.rows.chunks_mut(self.lines.max(1)) {
            let (_, length) = row[0].lengths();
            row.fill(Line::default());
            row[0].0[Line::SINCE] = at.as_ps();
            row[0].set_lengths(length, length);
        }
    }

    /// Takes the histogram of a port over from another record of the same ports.
    pub(super) fn take(&mut self, port: usize, other: &mut Self) {
        let row = self.row(port);
        self.rows[row.clone()].clone_from_slice(&other.rows[row]);
        self.long[port] = other.long[port].take();
    }

    fn row(&self, port: usize) -> std::ops::Range<usize> {
        port * self.lines..(port + 1) * self.lines
    }

    pub(super) fn of(&self, port: usize) -> QueueHistogram<'_> {
        QueueHistogram {
            row: &self.rows[self.row(port)],
            long: self.long[port].as_deref(),
        }
    }
}

impl QueueHistogram<'_> {
    fn spans(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let short = self.row.iter().flat_map(|line| &line.0).skip(HEAD);
        let long = self.long.map_or(&[][..], |long| &long.spans);
        short.chain(long).copied().enumerate()
    }

    /// The bins with any time.
    pub fn bins(&self) -> impl Iterator<Item = QueueBin> + '_ {
        let bins = self.spans().filter(|&(_, span)| span > 0);
        bins.map(|(bin, span)| QueueBin {
            packets: min_length(bin),
            span: Span::from_ps(span),
        })
    }

    /// Packet-picoseconds: the integral of the length over time.
    pub fn area(&self) -> u128 {
        let single = self.spans().take(SINGLE_BINS + 1);
        let short: u128 = single
            .map(|(length, span)| length as u128 * u128::from(span))
            .sum();
        short + self.long.map_or(0, |long| long.area)
    }

    /// The maximum length, in packets.
    pub fn longest(&self) -> u32 {
        self.row[0].lengths().0
    }
}

fn bin_of(length: usize) -> usize {
    if length <= SINGLE_BINS {
        return length;
    }
    // 1025..=2047 is bin 1025, 2048..=4095 bin 1026, ...
    SINGLE_BINS + 1 + (length.ilog2() - SINGLE_BINS.ilog2()) as usize
}

fn min_length(bin: usize) -> u64 {
    match bin.checked_sub(SINGLE_BINS + 1) {
        None => bin as u64,
        Some(0) => SINGLE_BINS as u64 + 1,
        Some(doublings) => (SINGLE_BINS as u64) << doublings,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn bins_of(queue: QueueHistogram<'_>) -> Vec<(u64, u64)> {
        queue
            .bins()
            .map(|bin| (bin.packets, bin.span.as_ps()))
            .collect()
    }

    #[test]
    fn a_histogram_weighs_by_time() {
        let mut queues = QueueHistograms::new(3);
        queues.change(1, Time::from_ps(10), 2);
        queues.change(1, Time::from_ps(40), 1);
        queues.settle_all(Time::from_ps(45));
        // 10 ps at 0, 30 ps at 2, 5 ps at 1; area 60 + 5.
        let queue = queues.of(1);
        assert_eq!(bins_of(queue), [(0, 10), (1, 5), (2, 30)]);
        assert_eq!(queue.area(), 65);
        assert_eq!(queue.longest(), 2);
        assert_eq!(bins_of(queues.of(0)), [(0, 45)]);
    }

    #[test]
    fn bins_double_beyond_a_thousand() {
        for length in [
            0,
            1,
            1023,
            1024,
            1025,
            2047,
            2048,
            4095,
            4096,
            u32::MAX as usize,
        ] {
            let bin = bin_of(length);
            assert!(min_length(bin) <= length as u64);
            assert!((length as u64) < min_length(bin + 1));
        }
    }

    proptest! {
        // For any number of ports, and so for any length of a row.
        #[test]
        fn the_length_of_a_row_changes_nothing(
            ports in prop_oneof![1..4_usize, 60..5_000_usize],
            changes in prop::collection::vec((0..3_usize, 0..1_000_u64, 0..3_000_u32), 1..100),
            restart in 0..150_usize,
        ) {
            let mut queues = QueueHistograms::new(ports.max(3));
            let mut expected = vec![(BTreeMap::<u64, u64>::new(), 0_u128); 3];
            let mut lengths = [(0_u32, 0_u32); 3];
            let mut now = 0;
            for (count, &(port, after, length)) in changes.iter().enumerate() {
                for ((bins, area), (present, _)) in expected.iter_mut().zip(&lengths) {
                    if after > 0 {
                        *bins.entry(min_length(bin_of(*present as usize))).or_default() += after;
                    }
                    *area += u128::from(*present) * u128::from(after);
                }
                now += after;
                queues.change(port, Time::from_ps(now), length);
                lengths[port] = (length, lengths[port].1.max(length));
                if count == restart {
                    queues.settle_all(Time::from_ps(now));
                    queues.restart(Time::from_ps(now));
                    expected.fill((BTreeMap::new(), 0));
                    lengths = lengths.map(|(length, _)| (length, length));
                }
            }
            queues.settle_all(Time::from_ps(now));
            let mut other = QueueHistograms::new(ports.max(3));
            for (port, ((bins, area), (_, longest))) in expected.iter().zip(lengths).enumerate() {
                let bins: Vec<(u64, u64)> = bins.iter().map(|(&length, &span)| (length, span)).collect();
                prop_assert_eq!(bins_of(queues.of(port)), bins.clone());
                prop_assert_eq!(queues.of(port).area(), *area);
                prop_assert_eq!(queues.of(port).longest(), longest);
                other.take(port, &mut queues);
                prop_assert_eq!(bins_of(other.of(port)), bins);
            }
        }
    }
}
