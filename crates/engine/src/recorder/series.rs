//! Bytes per bin of time.

use incastle_units::{Span, Time};

/// Bytes that reached something in one bin of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BinBytes {
    /// In-order application bytes.
    pub delivered: u64,
    /// IP bytes, headers and acknowledgements included.
    pub ip: u64,
}

/// Bytes per bin of time, in one cache line but for the bins that are over.
#[derive(Debug, Clone, Default)]
#[repr(align(64))]
pub struct Series {
    over: Vec<BinBytes>,
    /// The bin after them; meaningless before the first.
    last: BinBytes,
    /// When it ends; time zero before the first.
    ends: Time,
}

impl Series {
    #[inline]
    pub(super) fn bin(&mut self, at: Time, width: Span) -> &mut BinBytes {
        while at >= self.ends {
            self.begin(width);
        }
        &mut self.last
    }

    #[cold]
    fn begin(&mut self, width: Span) {
        if !self.is_empty() {
            self.over.push(std::mem::take(&mut self.last));
        }
        self.ends += width;
    }

    /// Whether there is no bin.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ends == Time::ZERO
    }

    /// The bins from time zero on; the last one is cut at the end of the run.
    pub fn bins(&self) -> impl Iterator<Item = BinBytes> + '_ {
        let last = (!self.is_empty()).then_some(self.last);
        self.over.iter().copied().chain(last)
    }

    /// Adds what another one has in each bin.
    pub(super) fn add(&mut self, other: &Self) {
        let endless = |series: &Self| {
            let bins: Vec<BinBytes> = series.bins().collect();
            bins.into_iter()
                .chain(std::iter::repeat(BinBytes::default()))
        };
        let both = endless(self).zip(endless(other));
        let sums = both.map(|(own, theirs)| BinBytes {
            delivered: own.delivered + theirs.delivered,
            ip: own.ip + theirs.ip,
        });
        let count = self.bins().count().max(other.bins().count());
        self.over = sums.take(count).collect();
        self.last = self.over.pop().unwrap_or_default();
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
            series.bin(Time::from_ps(at), WIDTH).ip += ip;
        }
        series
    }

    fn ip(series: &Series) -> Vec<u64> {
        series.bins().map(|bin| bin.ip).collect()
    }

    #[test]
    fn a_series_fills_quiet_bins_with_zero() {
        assert_eq!(ip(&Series::default()), []);
        assert_eq!(ip(&series(&[(3, 1)])), [1]);
        assert_eq!(ip(&series(&[(3, 1), (9, 1), (30, 2)])), [2, 0, 0, 2]);
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
            // And it goes on.
            sum.bin(Time::from_ps(41), WIDTH).ip += 1;
            assert_eq!(ip(&sum).len(), 5);
        }
        let mut sum = Series::default();
        sum.add(&Series::default());
        assert!(sum.is_empty());
        sum.add(&series(&[(12, 2)]));
        assert_eq!(ip(&sum), [0, 2]);
    }
}
