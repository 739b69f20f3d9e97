//! Bytes per bin of time, without empty bins: long silences cost no memory.

use incastle_units::{Span, Time};

/// The bytes of one bin of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinBytes {
    /// In-order application bytes.
    pub delivered: u64,
    /// IP bytes, headers and acknowledgements included.
    pub ip: u64,
}

/// A bin that is not empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bin {
    /// Its number, counted from time zero.
    pub index: u64,
    /// Its bytes.
    pub bytes: BinBytes,
}

/// Bytes per bin of time, in one cache line except the past bins.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Series {
    over: Vec<Bin>,
    /// The bin after them; meaningless before the first.
    last: BinBytes,
    /// Its number.
    index: u64,
    /// Its end; time zero before the first.
    ends: Time,
}

impl Series {
    /// The bin of an instant, no earlier than in the call before, for bins of this width. `begun` counts new bins.
    #[inline]
    pub(super) fn bin(&mut self, at: Time, width: Option<Span>, begun: &mut u64) -> &mut BinBytes {
        if at >= self.ends {
            self.begin(at, width.expect("bins have a width"));
            *begun += 1;
        }
        &mut self.last
    }

    #[cold]
    fn begin(&mut self, at: Time, width: Span) {
        if !self.is_empty() {
            self.over.push(Bin {
                index: self.index,
                bytes: std::mem::take(&mut self.last),
            });
        }
        self.index = at.as_ps() / width.as_ps();
        self.ends = Time::ZERO + width.saturating_mul(self.index + 1);
    }

    /// Whether there is no bin.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends == Time::ZERO
    }

    /// The bins that are not empty, in order; the last one ends with the run.
    pub fn bins(&self) -> impl Iterator<Item = Bin> + '_ {
        let last = (!self.is_empty()).then_some(Bin {
            index: self.index,
            bytes: self.last,
        });
        self.over.iter().copied().chain(last)
    }

    /// Adds the bytes of another one to each bin.
    pub(super) fn add(&mut self, other: &Self) {
        let mut sums: Vec<Bin> = self.bins().chain(other.bins()).collect();
        sums.sort_by_key(|bin| bin.index);
        sums.dedup_by(|next, bin| {
            let same = next.index == bin.index;
            if same {
                bin.bytes.delivered += next.bytes.delivered;
                bin.bytes.ip += next.bytes.ip;
            }
            same
        });
        if let Some(last) = sums.pop() {
            (self.index, self.last) = (last.index, last.bytes);
        }
        self.over = sums;
        self.ends = self.ends.max(other.ends);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: Span = Span::from_ps(10);

    fn series(bytes: &[(u64, u64)]) -> Series {
        let mut series = Series::default();
        for &(at, ip) in bytes {
            series.bin(Time::from_ps(at), Some(WIDTH), &mut 0).ip += ip;
        }
        series
    }

    fn ip(series: &Series) -> Vec<(u64, u64)> {
        let bins = series.bins();
        bins.map(|bin| (bin.index, bin.bytes.ip)).collect()
    }

    #[test]
    fn a_series_has_no_empty_bins() {
        assert_eq!(ip(&Series::default()), []);
        assert_eq!(ip(&series(&[(3, 1)])), [(0, 1)]);
        assert_eq!(ip(&series(&[(3, 1), (9, 1), (30, 2)])), [(0, 2), (3, 2)]);
        assert_eq!(ip(&series(&[(29, 5)])), [(2, 5)]);
    }

    #[test]
    fn silence_costs_no_memory() {
        let (second, year) = (Span::from_secs(1), Span::from_secs(100 * 86_400));
        let mut series = Series::default();
        let mut begun = 0;
        for at in [Time::ZERO, Time::ZERO + year, Time::ZERO + year + second] {
            series.bin(at, Some(Span::from_ns(1)), &mut begun).ip += 1;
        }
        assert_eq!((series.bins().count(), begun), (3, 3));
        assert!(series.over.capacity() <= 4, "{}", series.over.capacity());
    }

    #[test]
    fn the_last_bin_of_time_has_no_end() {
        let mut series = Series::default();
        let width = Span::from_ps(u64::MAX - 1);
        for at in [0, u64::MAX - 1] {
            series.bin(Time::from_ps(at), Some(width), &mut 0).ip += 1;
        }
        assert_eq!(ip(&series), [(0, 1), (1, 1)]);
    }

    #[test]
    fn series_of_any_lengths_are_added() {
        for (one, other) in [
            ([(3, 1), (12, 2)], [(5, 4), (35, 8)]),
            ([(3, 1), (35, 2)], [(5, 4), (12, 8)]),
        ] {
            let mut sum = series(&one);
            sum.add(&series(&other));
            let mut both = [one, other].concat();
            both.sort_unstable();
            assert_eq!(ip(&sum), ip(&series(&both)));
            sum.bin(Time::from_ps(36), Some(WIDTH), &mut 0).ip += 1;
            assert_eq!(ip(&sum).len(), 3);
            sum.bin(Time::from_ps(41), Some(WIDTH), &mut 0).ip += 1;
            assert_eq!(ip(&sum).len(), 4);
        }
        let mut sum = Series::default();
        sum.add(&Series::default());
        assert!(sum.is_empty());
        sum.add(&series(&[(12, 2)]));
        assert_eq!(ip(&sum), [(1, 2)]);
    }
}
