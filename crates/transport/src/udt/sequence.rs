//! Numbers that wrap on the wire: 31 bits for packets, acknowledgements and control packets, 29 or
//! 27 for messages (draft-gg-udt-03, section 3). Inside, everything is numbered from 0 in 64 bits, so
//! that no comparison ever meets the wrap.
//!
//! After 2^31 - 1 comes 0. Leaves out: nothing; UDT's messages wrap likewise, and skip 0.

/// The largest packet number on the wire.
pub const MAX_SEQUENCE: u32 = (1 << 31) - 1;

/// A 31-bit number as the wire carries it; the top bit is clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Number(u32);

impl Number {
    /// The number in the low 31 bits of a word; the top bit is not looked at.
    pub const fn from_word(word: u32) -> Self {
        Self(word & MAX_SEQUENCE)
    }

    /// The number as a word with a clear top bit.
    pub const fn word(self) -> u32 {
        self.0
    }

    /// The number `distance` further on.
    #[must_use]
    pub const fn plus(self, distance: u64) -> Self {
        Self(self.0.wrapping_add(distance as u32) & MAX_SEQUENCE)
    }

    /// How far `other` lies ahead (positive) or behind (negative), by the shorter way round:
    /// from -2^30 to 2^30 - 1.
    pub const fn distance_to(self, other: Self) -> i32 {
        // Two's complement of 31 bits, sign-extended to 32.
        (other.0.wrapping_sub(self.0) << 1).cast_signed() >> 1
    }
}

/// A direction of numbering: where its wire numbers begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbering {
    first: Number,
}

impl Numbering {
    /// A direction whose first packet has the wire's number `first`.
    pub const fn new(first: Number) -> Self {
        Self { first }
    }

    /// The wire's number of the first packet.
    pub const fn first(self) -> Number {
        self.first
    }

    /// The wire's number of packet `index`.
    pub const fn wire(self, index: u64) -> Number {
        self.first.plus(index)
    }

    /// The packet with that wire number that lies nearest to packet `near`; absent where that would
    /// be before the first.
    pub const fn index(self, number: Number, near: u64) -> Option<u64> {
        near.checked_add_signed(self.wire(near).distance_to(number) as i64)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn after_the_largest_number_comes_zero() {
        let last = Number::from_word(MAX_SEQUENCE);
        assert_eq!(last.plus(1), Number::from_word(0));
        assert_eq!(last.distance_to(Number::from_word(0)), 1);
        assert_eq!(Number::from_word(0).distance_to(last), -1);
        assert_eq!(Number::from_word(5).distance_to(Number::from_word(5)), 0);
    }

    #[test]
    fn half_the_circle_is_the_border_between_ahead_and_behind() {
        let zero = Number::from_word(0);
        assert_eq!(zero.distance_to(zero.plus((1 << 30) - 1)), (1 << 30) - 1);
        assert_eq!(zero.distance_to(zero.plus(1 << 30)), -(1 << 30));
    }

    #[test]
    fn packets_before_the_first_do_not_exist() {
        let numbering = Numbering::new(Number::from_word(10));
        assert_eq!(numbering.index(Number::from_word(9), 0), None);
        assert_eq!(numbering.index(Number::from_word(9), 1), None);
        assert_eq!(numbering.index(Number::from_word(10), 0), Some(0));
        // Far behind packet 5: what was before the first.
        assert_eq!(numbering.index(Number::from_word(MAX_SEQUENCE), 5), None);
    }

    proptest! {
        #[test]
        fn the_nearest_packet_is_found_again_across_wraps(
            first in 0..=MAX_SEQUENCE,
            near in 0_u64..1 << 40,
            distance in -(1_i64 << 30)..1 << 30,
        ) {
            let numbering = Numbering::new(Number::from_word(first));
            let index = near.checked_add_signed(distance);
            if let Some(index) = index {
                prop_assert_eq!(numbering.index(numbering.wire(index), near), Some(index));
                let back = numbering.wire(near).distance_to(numbering.wire(index));
                prop_assert_eq!(i64::from(back), distance);
            }
        }
    }
}
