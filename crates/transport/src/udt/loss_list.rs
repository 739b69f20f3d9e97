//! Lists of lost packets as ranges (draft-gg-udt-03, sections 5.2 and 6.2; the compressed form of its
//! appendix is in `wire`). Packets are numbered without wrapping.
//!
//! A list has a maximum number of ranges: an insertion that would exceed it changes nothing and is
//! an error. A peer therefore cannot make us use more memory.

use std::collections::VecDeque;

/// `start` to `end`, exclusive; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossRange {
    /// The first lost packet.
    pub start: u64,
    /// The packet after the last.
    pub end: u64,
}

impl LossRange {
    /// The number of packets in it.
    pub const fn packets(self) -> u64 {
        self.end - self.start
    }
}

/// There was no room for one more range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// Sorted, disjoint, non-adjacent ranges. An empty list owns no memory.
#[derive(Debug, Clone)]
pub(super) struct LossList {
    ranges: VecDeque<LossRange>,
    packets: u64,
    max_ranges: usize,
}

impl LossList {
    pub(super) fn new(max_ranges: usize) -> Self {
        assert!(max_ranges > 0, "a loss list holds at least one range");
        Self {
            ranges: VecDeque::new(),
            packets: 0,
            max_ranges,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of packets in the list.
    pub(super) const fn packets(&self) -> u64 {
        self.packets
    }

    #[cfg(test)]
    fn ranges(&self) -> impl Iterator<Item = LossRange> + '_ {
        self.ranges.iter().copied()
    }

    pub(super) fn first(&self) -> Option<u64> {
        self.ranges.front().map(|range| range.start)
    }

    #[cfg(test)]
    fn contains(&self, packet: u64) -> bool {
        let one = LossRange {
            start: packet,
            end: packet + 1,
        };
        self.within(one).next().is_some()
    }

    /// The parts of `range` in the list.
    pub(super) fn within(&self, range: LossRange) -> impl Iterator<Item = LossRange> + '_ {
        let index = self
            .ranges
            .partition_point(|other| other.end <= range.start);
        let from = self.ranges.range(index..);
        from.take_while(move |other| other.start < range.end)
            .map(move |other| LossRange {
                start: other.start.max(range.start),
                end: other.end.min(range.end),
            })
    }

    /// The first range that does not end before `start`. The newest losses are last: mostly no range
    /// is found.
    fn first_from(&self, start: u64) -> usize {
        if self.ranges.back().is_none_or(|range| range.end < start) {
            return self.ranges.len();
        }
        self.ranges.partition_point(|range| range.end < start)
    }

    /// Adds `start..end`; gives how many packets are new.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Result<u64, Full> {
        if start >= end {
            return Ok(0);
        }
        // Those that touch the new one, neighbours without a gap included, merge with it.
        let first = self.first_from(start);
        let touched = self.ranges.range(first..);
        let last = first + touched.take_while(|range| range.start <= end).count();
        if first == last {
            if self.ranges.len() == self.max_ranges {
                return Err(Full);
            }
            self.ranges.insert(first, LossRange { start, end });
            self.packets += end - start;
            assert!(self.ranges.len() <= self.max_ranges, "the list is bounded");
            return Ok(end - start);
        }
        let merged = LossRange {
            start: start.min(self.ranges[first].start),
            end: end.max(self.ranges[last - 1].end),
        };
        let touched = self.ranges.range(first..last);
        let before: u64 = touched.map(|range| range.packets()).sum();
        self.ranges[first] = merged;
        if last > first + 1 {
            self.ranges.drain(first + 1..last);
        }
        assert!(before <= merged.packets(), "merging loses no packet");
        self.packets += merged.packets() - before;
        Ok(merged.packets() - before)
    }

    /// Removes one packet; gives whether it was there. Splits a range if the maximum number of ranges
    /// permits it. Otherwise the packet stays in the list, which costs one useless report at most.
    pub(super) fn remove(&mut self, packet: u64) -> bool {
        let index = self.ranges.partition_point(|range| range.end <= packet);
        let Some(range) = self.ranges.get(index).copied() else {
            return false;
        };
        if range.start > packet {
            return false;
        }
        if range.packets() == 1 {
            self.ranges.remove(index);
        } else if range.start == packet {
            self.ranges[index].start += 1;
        } else if range.end == packet + 1 {
            self.ranges[index].end -= 1;
        } else {
            if self.ranges.len() == self.max_ranges {
                return false;
            }
            self.ranges[index].end = packet;
            let rest = LossRange {
                start: packet + 1,
                end: range.end,
            };
            self.ranges.insert(index + 1, rest);
        }
        self.packets -= 1;
        true
    }

    /// Removes everything below `packet`.
    pub(super) fn remove_below(&mut self, packet: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end > packet {
                let cut = packet.saturating_sub(first.start);
                first.start += cut;
                self.packets -= cut;
                return;
            }
            self.packets -= first.packets();
            self.ranges.pop_front();
        }
    }

    /// Takes the first packet.
    pub(super) fn pop_first(&mut self) -> Option<u64> {
        let first = self.first()?;
        self.remove_below(first + 1);
        assert_eq!(
            self.ranges.is_empty(),
            self.packets == 0,
            "the list counts what it holds"
        );
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn plain(list: &LossList) -> BTreeSet<u64> {
        list.ranges()
            .flat_map(|range| range.start..range.end)
            .collect()
    }

    fn check(list: &LossList, model: &BTreeSet<u64>) {
        assert_eq!(&plain(list), model);
        assert_eq!(list.packets(), model.len() as u64);
        assert_eq!(list.first(), model.first().copied());
        assert_eq!(list.is_empty(), model.is_empty());
        let ranges: Vec<_> = list.ranges().collect();
        assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(ranges.iter().all(|range| range.start < range.end));
        assert!(ranges.len() <= list.max_ranges);
    }

    /// The number of ranges in a plain set.
    fn runs(model: &BTreeSet<u64>) -> usize {
        let begins = |packet: &&u64| **packet == 0 || !model.contains(&(**packet - 1));
        model.iter().filter(begins).count()
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_set_within_its_bound(
            max_ranges in 1_usize..12,
            steps in prop::collection::vec((0_u64..80, 0_u64..12, 0_u8..8), 0..60),
        ) {
            let mut list = LossList::new(max_ranges);
            let mut model = BTreeSet::new();
            for (start, len, kind) in steps {
                match kind {
                    0 => {
                        list.remove_below(start);
                        model.retain(|packet| *packet >= start);
                    }
                    1 => prop_assert_eq!(list.pop_first(), model.pop_first()),
                    2..4 => {
                        prop_assert_eq!(list.contains(start), model.contains(&start));
                        let mut less = model.clone();
                        let there = less.remove(&start);
                        let fits = runs(&less) <= max_ranges;
                        prop_assert_eq!(list.remove(start), there && fits);
                        if fits {
                            model = less;
                        }
                    }
                    _ => {
                        let mut more = model.clone();
                        more.extend(start..start + len);
                        let new = (more.len() - model.len()) as u64;
                        let fits = runs(&more) <= max_ranges;
                        let expected = if fits { Ok(new) } else { Err(Full) };
                        prop_assert_eq!(list.insert(start, start + len), expected);
                        if fits {
                            model = more;
                        }
                    }
                }
                check(&list, &model);
            }
        }
    }

    #[test]
    fn a_huge_range_takes_one_place() {
        let mut list = LossList::new(1);
        assert_eq!(list.insert(0, 1 << 60), Ok(1 << 60));
        assert_eq!(list.insert(5, 9), Ok(0));
        assert_eq!(list.pop_first(), Some(0));
        assert_eq!(list.packets(), (1 << 60) - 1);
    }

    #[test]
    fn a_full_list_returns_an_error_and_does_not_change() {
        let mut list = LossList::new(2);
        assert_eq!(list.insert(1, 2), Ok(1));
        assert_eq!(list.insert(5, 8), Ok(3));
        assert_eq!(list.insert(10, 11), Err(Full));
        // The middle of a range cannot leave, its ends can.
        assert!(!list.remove(6));
        assert!(list.remove(7));
        assert_eq!(plain(&list), BTreeSet::from([1, 5, 6]));
        // Filling the gap frees a range.
        assert_eq!(list.insert(2, 5), Ok(3));
        assert_eq!(list.insert(10, 11), Ok(1));
    }
}
