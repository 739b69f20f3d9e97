//! Amounts of data: bytes, packets, and "either of the two" as scenarios give them.

use std::ops::{Add, AddAssign, Mul, Sub, SubAssign};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

/// A number of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Packets(u64);

/// A length of a queue or a capacity of a buffer, in the unit that the scenario gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Amount {
    /// Counted in packets of any size.
    Packets(Packets),
    /// Counted in bytes.
    Bytes(Bytes),
}

macro_rules! count {
    ($name:ident, $what:literal) => {
        impl $name {
            /// None.
            pub const ZERO: Self = Self(0);
            /// More than any network holds.
            pub const MAX: Self = Self(u64::MAX);

            #[doc = concat!("This many ", $what, ".")]
            pub const fn new(count: u64) -> Self {
                Self(count)
            }

            #[doc = concat!("The number of ", $what, ".")]
            pub const fn count(self) -> u64 {
                self.0
            }

            /// `self + other`, or `MAX`.
            #[must_use]
            pub const fn saturating_add(self, other: Self) -> Self {
                Self(self.0.saturating_add(other.0))
            }

            /// `self - other`, or none.
            #[must_use]
            pub const fn saturating_sub(self, other: Self) -> Self {
                Self(self.0.saturating_sub(other.0))
            }
        }

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(
                    self.0
                        .checked_add(other.0)
                        .expect("amounts of data fit 64 bits"),
                )
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(
                    self.0
                        .checked_sub(other.0)
                        .expect("an amount of data is never negative"),
                )
            }
        }

        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, factor: u64) -> Self {
                Self(
                    self.0
                        .checked_mul(factor)
                        .expect("amounts of data fit 64 bits"),
                )
            }
        }
    };
}

count!(Bytes, "bytes");
count!(Packets, "packets");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_calculate() {
        let mut bytes = Bytes::new(1_500);
        bytes += Bytes::new(40);
        bytes -= Bytes::new(20);
        assert_eq!(bytes * 2, Bytes::new(3_040));
        assert_eq!((bytes + bytes - Bytes::new(1)).count(), 3_039);
        assert_eq!(bytes.saturating_sub(Bytes::MAX), Bytes::ZERO);
        assert!(Packets::ZERO < Packets::new(1));
    }

    #[test]
    #[should_panic(expected = "an amount of data is never negative")]
    fn an_amount_below_zero_is_a_defect() {
        let _ = Bytes::ZERO - Bytes::new(1);
    }

    #[test]
    #[should_panic(expected = "amounts of data fit 64 bits")]
    fn a_sum_that_overflows_is_a_defect() {
        let _ = Packets::MAX + Packets::new(1);
    }

    #[test]
    #[should_panic(expected = "amounts of data fit 64 bits")]
    fn a_product_that_overflows_is_a_defect() {
        let _ = Bytes::MAX * 2;
    }
}
