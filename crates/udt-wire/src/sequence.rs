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

    /// How far `other` lies ahead (positive) or behind (negative), the shorter distance:
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
