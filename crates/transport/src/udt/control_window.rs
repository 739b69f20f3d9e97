//! The numbers of received control packets (Ye, Mhamdi and Hamdi, section III.B): each has a 31-bit number,
//! by which duplicates are known. A window of the last 64, as in RFC 4303, section 3.4.3.
//!
//! A number far ahead is refused: one forged packet could make all real ones look old. Leaves out:
//! numbers older than the window, which count as duplicates.

use super::sequence::{Number, Numbering};

/// Numbers that the window remembers.
const WIDTH: u64 = 64;
/// The maximum advance of a number: that many consecutive control packets may be lost.
const AHEAD: u64 = 1 << 16;

/// Why a number is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Seen before, or older than the window.
    Duplicate,
    /// Further ahead than the limit.
    TooFarAhead,
}

/// The received numbers of one direction.
#[derive(Debug, Clone)]
pub(super) struct ControlWindow {
    numbering: Numbering,
    /// The next number after the largest seen.
    next: u64,
    /// Bit i: number `next - 1 - i` was seen.
    seen: u64,
}

impl ControlWindow {
    /// A direction whose first control packet has the number `first`.
    pub(super) const fn new(first: Number) -> Self {
        Self {
            numbering: Numbering::new(first),
            next: 0,
            seen: 0,
        }
    }

    /// Looks a number up and remembers it; gives its place in the order of sending.
    pub(super) fn admit(&mut self, number: Number) -> Result<u64, Refusal> {
        let index = self.numbering.index(number, self.next);
        let index = index.ok_or(Refusal::Duplicate)?;
        if index >= self.next {
            let ahead = index - self.next;
            if ahead >= AHEAD {
                return Err(Refusal::TooFarAhead);
            }
            let shift = u32::try_from(ahead + 1).unwrap_or(u32::MAX);
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.next = index + 1;
            assert_eq!(self.seen & 1, 1, "the largest number was seen");
            return Ok(index);
        }
        let back = self.next - 1 - index;
        if back >= WIDTH || self.seen >> back & 1 == 1 {
            return Err(Refusal::Duplicate);
        }
        self.seen |= 1 << back;
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::sequence::MAX_SEQUENCE;
    use super::*;

    proptest! {
        #[test]
        fn each_number_is_admitted_once(
            first in prop_oneof![Just(0), Just(MAX_SEQUENCE - 5), 0..=MAX_SEQUENCE],
            order in prop::collection::vec(0_u64..90, 1..200),
        ) {
            let first = Number::from_word(first);
            let mut window = ControlWindow::new(first);
            let mut seen = BTreeSet::new();
            for index in order {
                let old = seen.last().is_some_and(|last| index + WIDTH <= *last);
                let expected = if old || seen.contains(&index) {
                    Err(Refusal::Duplicate)
                } else {
                    Ok(index)
                };
                prop_assert_eq!(window.admit(first.plus(index)), expected);
                if expected.is_ok() {
                    seen.insert(index);
                }
            }
        }
    }

    #[test]
    fn a_number_far_ahead_is_refused() {
        let first = Number::from_word(7);
        let mut window = ControlWindow::new(first);
        assert_eq!(window.admit(first.plus(AHEAD)), Err(Refusal::TooFarAhead));
        assert_eq!(window.admit(first.plus(AHEAD - 1)), Ok(AHEAD - 1));
        assert_eq!(window.admit(first), Err(Refusal::Duplicate));
        // Before the first there was nothing.
        let before = Number::from_word(6);
        assert_eq!(
            ControlWindow::new(first).admit(before),
            Err(Refusal::Duplicate)
        );
    }
}
