//! A set of sequence numbers as sorted, disjoint, non-adjacent intervals in a vector.
//!
//! Both the receiver's reassembly and the sender's scoreboard are such sets. A set holds an
//! interval per hole, a few in practice. Binary search and moving the tail of a small vector are
//! then faster than any tree. An empty set owns no memory.

/// `start` to `end`, exclusive; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// The first number.
    pub start: u64,
    /// The number after the last.
    pub end: u64,
}

/// Numbers that are not in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first number that is missing.
    pub start: u64,
    /// The beginning of the next interval; absent above the last one.
    pub end: Option<u64>,
}

/// The set.
#[derive(Debug, Clone, Default)]
pub struct RangeSet {
    intervals: Vec<Interval>,
}

impl RangeSet {
    /// Whether it has no number.
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// The intervals, in ascending order.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// The end of the last interval.
    pub fn highest(&self) -> Option<u64> {
        self.intervals.last().map(|last| last.end)
    }

    /// Adds `start..end`; gives how many numbers are new.
    pub fn insert(&mut self, start: u64, end: u64) -> u64 {
        if start >= end {
            return 0;
        }
        // Those that touch the new one, neighbours without a gap included, merge with it.
        let first = self.intervals.partition_point(|i| i.end < start);
        let last = self.intervals.partition_point(|i| i.start <= end);
        if first == last {
            self.intervals.insert(first, Interval { start, end });
            return end - start;
        }
        let touched = &self.intervals[first..last];
        let before: u64 = touched.iter().map(|i| i.end - i.start).sum();
        let merged = Interval {
            start: start.min(touched[0].start),
            end: end.max(touched[touched.len() - 1].end),
        };
        self.intervals[first] = merged;
        self.intervals.drain(first + 1..last);
        merged.end - merged.start - before
    }

    /// Removes everything below `seq`.
    pub fn remove_below(&mut self, seq: u64) {
        if self.intervals.is_empty() {
            return;
        }
        let gone = self.intervals.partition_point(|i| i.end <= seq);
        self.intervals.drain(..gone);
        if let Some(first) = self.intervals.first_mut() {
            first.start = first.start.max(seq);
        }
    }

    /// The interval that holds `seq`.
    pub fn containing(&self, seq: u64) -> Option<Interval> {
        let index = self.intervals.partition_point(|i| i.end <= seq);
        self.intervals
            .get(index)
            .copied()
            .filter(|i| i.start <= seq)
    }

    /// Counts the numbers of `from..to` in the set; `from` is at most `to`.
    pub fn covered(&self, from: u64, to: u64) -> u64 {
        let first = self.intervals.partition_point(|i| i.end <= from);
        self.intervals[first..]
            .iter()
            .take_while(|i| i.start < to)
            .map(|i| i.end.min(to) - i.start.max(from))
            .sum()
    }

    /// The first gap at or after `from`.
    pub fn gap_after(&self, from: u64) -> Gap {
        let index = self.intervals.partition_point(|i| i.end <= from);
        let start = |index: usize| self.intervals.get(index).map(|i| i.start);
        match self.intervals.get(index) {
            Some(i) if i.start <= from => Gap {
                start: i.end,
                end: start(index + 1),
            },
            _ => Gap {
                start: from,
                end: start(index),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn plain(set: &RangeSet) -> BTreeSet<u64> {
        set.intervals()
            .iter()
            .flat_map(|i| i.start..i.end)
            .collect()
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(
            steps in prop::collection::vec((0_u64..60, 0_u64..12, 0_u64..10), 0..40),
            probe in (0_u64..80, 0_u64..80),
        ) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len, kind) in steps {
                if kind == 0 {
                    set.remove_below(start);
                    model.retain(|seq| *seq >= start);
                } else {
                    let before = model.len();
                    model.extend(start..start + len);
                    let new = set.insert(start, start + len);
                    prop_assert_eq!(new, (model.len() - before) as u64);
                }
                prop_assert_eq!(&plain(&set), &model);
                let apart = set.intervals().windows(2).all(|pair| pair[0].end < pair[1].start);
                prop_assert!(apart && set.intervals().iter().all(|i| i.start < i.end));
            }
            let (from, to) = (probe.0.min(probe.1), probe.0.max(probe.1));
            let covered = model.iter().filter(|seq| (from..to).contains(*seq)).count();
            prop_assert_eq!(set.covered(from, to), covered as u64);
            prop_assert_eq!(set.containing(from).is_some(), model.contains(&from));
            let start = (from..200).find(|seq| !model.contains(seq)).expect("the set is finite");
            let end = model.iter().copied().find(|seq| *seq > start);
            prop_assert_eq!(set.gap_after(from), Gap { start, end });
            prop_assert_eq!(set.highest(), model.last().map(|last| last + 1));
        }
    }

    #[test]
    fn an_empty_set_owns_no_memory() {
        assert_eq!(RangeSet::default().intervals.capacity(), 0);
    }
}
