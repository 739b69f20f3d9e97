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

/// Bytes per bin of time.
#[derive(Debug, Clone, Default)]
pub struct Series {
    pub(super) bins: Vec<BinBytes>,
    /// When the last bin ends.
    pub(super) ends: Time,
}

impl Series {
    #[inline]
    pub(super) fn bin(&mut self, at: Time, width: Span) -> &mut BinBytes {
        while at >= self.ends {
            self.bins.push(BinBytes::default());
            self.ends += width;
        }
        self.bins.last_mut().expect("a bin was just made sure of")
    }

    /// The bins from time zero on; the last one is cut at the end of the run.
    pub fn bins(&self) -> &[BinBytes] {
        &self.bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_fills_quiet_bins_with_zero() {
        let mut series = Series::default();
        let width = Span::from_ps(10);
        series.bin(Time::from_ps(3), width).ip += 1;
        series.bin(Time::from_ps(30), width).ip += 2;
        let ip: Vec<_> = series.bins().iter().map(|bin| bin.ip).collect();
        assert_eq!(ip, [1, 0, 0, 2]);
    }
}
