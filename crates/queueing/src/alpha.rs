//! The ratio alpha of a limit to the memory that is free, compared in integers.

use incastle_units::{Bytes, mul_div};

/// The ratio alpha is kept in whole billionths, so that the comparison is exact. Every alpha of up
/// to nine decimals is represented, the powers of two of real switches down to 1/512 among them.
const BILLION: f64 = 1e9;

/// The greatest alpha: a port alone may then hold all but a millionth of the memory.
const MAX: f64 = 1e6;

/// The ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Alpha {
    billionths: u64,
}

impl Alpha {
    /// Whether it rounds to a billionth or more, and is at most a million.
    pub(crate) fn is_valid(alpha: f64) -> bool {
        (0.5 / BILLION..=MAX).contains(&alpha)
    }

    /// A valid ratio, rounded to a billionth.
    pub(crate) fn new(alpha: f64) -> Self {
        assert!(Self::is_valid(alpha), "the ratio of a limit was checked");
        Self {
            billionths: (alpha * BILLION + 0.5) as u64,
        }
    }

    /// Whole bytes of alpha times the free memory.
    #[inline]
    pub(crate) fn of(self, free: Bytes) -> Bytes {
        let bytes = mul_div(self.billionths, free.count(), 1_000_000_000);
        Bytes::new(bytes.unwrap_or(u64::MAX))
    }

    /// `held` <= alpha `free`, exactly.
    #[inline]
    pub(crate) fn admits(self, held: Bytes, free: Bytes) -> bool {
        u128::from(held.count()) * 1_000_000_000
            <= u128::from(self.billionths) * u128::from(free.count())
    }

    /// Whether as much is held as [`Self::of`] gives, without its division.
    pub(crate) fn is_reached(self, held: Bytes, free: Bytes) -> bool {
        !self.admits(held + Bytes::new(1), free)
    }
}
