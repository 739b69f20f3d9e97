//! The eight priorities of a link (IEEE 802.1Q, clause 6.9.3), and sets of them.
//!
//! A number alone has no rank: the scheduler decides which priority goes first. Leaves out: the mapping of
//! DSCPs and VLAN tags.

use std::fmt;

/// A priority, 0 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Priority(u8);

impl Priority {
    /// The number of priorities.
    pub const COUNT: usize = 8;
    /// Priority 0.
    pub const ZERO: Self = Self(0);
    /// All priorities, from 0 to 7.
    pub const ALL: [Self; Self::COUNT] = [
        Self(0),
        Self(1),
        Self(2),
        Self(3),
        Self(4),
        Self(5),
        Self(6),
        Self(7),
    ];

    /// The priority with this number; absent above 7.
    pub const fn new(number: u8) -> Option<Self> {
        if (number as usize) < Self::COUNT {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place in an array with an element per priority.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The priority this many numbers after it; 0 follows 7.
    #[must_use]
    pub const fn after(self, steps: u8) -> Self {
        Self((self.0 + steps % 8) % 8)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// A set of priorities: a bit for each, as the class-enable vector of a pause frame (802.1Qbb).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PrioritySet(u8);

impl PrioritySet {
    /// No priority.
    pub const EMPTY: Self = Self(0);
    /// All eight.
    pub const ALL: Self = Self(u8::MAX);

    /// The set with this bit mask: bit i is priority i.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Its bit mask.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// One priority.
    pub const fn only(priority: Priority) -> Self {
        Self(1 << priority.0)
    }

    /// Whether it has no priority.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The number of its priorities.
    pub const fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether it has this priority.
    pub const fn contains(self, priority: Priority) -> bool {
        self.0 >> priority.0 & 1 == 1
    }

    /// Adds a priority.
    pub const fn insert(&mut self, priority: Priority) {
        self.0 |= 1 << priority.0;
    }

    /// Removes a priority.
    pub const fn remove(&mut self, priority: Priority) {
        self.0 &= !(1 << priority.0);
    }

    /// The priorities of either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The priorities of both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Its priorities without those of the other set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Its greatest number.
    pub const fn highest(self) -> Option<Priority> {
        if self.0 == 0 {
            None
        } else {
            Some(Priority(7 - self.0.leading_zeros() as u8))
        }
    }

    /// Its priorities, from 0 to 7.
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        Priority::ALL
            .into_iter()
            .filter(move |&priority| self.contains(priority))
    }
}

impl FromIterator<Priority> for PrioritySet {
    fn from_iter<I: IntoIterator<Item = Priority>>(priorities: I) -> Self {
        let mut set = Self::EMPTY;
        for priority in priorities {
            set.insert(priority);
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(numbers: &[u8]) -> PrioritySet {
        numbers
            .iter()
            .map(|&n| Priority::new(n).expect("it is below 8"))
            .collect()
    }

    #[test]
    fn there_are_eight_priorities() {
        assert_eq!(Priority::new(8), None);
        for (index, priority) in Priority::ALL.into_iter().enumerate() {
            assert_eq!(priority.index(), index);
            assert_eq!(Priority::new(priority.number()), Some(priority));
        }
        let seven = Priority::ALL[7];
        assert_eq!(seven.after(1), Priority::ZERO);
        assert_eq!(seven.after(8), seven);
        assert_eq!(Priority::ALL[3].after(6), Priority::ALL[1]);
        assert_eq!(seven.to_string(), "7");
    }

    #[test]
    fn sets_are_bit_masks() {
        // Priorities 0, 3 and 7: 1 + 8 + 128.
        let mut some = set(&[7, 0, 3]);
        assert_eq!(some.bits(), 137);
        assert_eq!(PrioritySet::from_bits(137), some);
        assert_eq!((some.count(), some.highest()), (3, Some(Priority::ALL[7])));
        assert_eq!(
            some.iter().map(Priority::number).collect::<Vec<_>>(),
            [0, 3, 7]
        );
        some.remove(Priority::ALL[7]);
        assert!(!some.contains(Priority::ALL[7]) && some.contains(Priority::ZERO));
        assert_eq!(some.highest(), Some(Priority::ALL[3]));
        assert_eq!(some.union(set(&[1])), set(&[0, 1, 3]));
        assert_eq!(some.intersection(set(&[1, 3])), set(&[3]));
        assert_eq!(
            some.without(set(&[1, 3])),
            PrioritySet::only(Priority::ZERO)
        );
        assert_eq!(PrioritySet::EMPTY.highest(), None);
        assert!(PrioritySet::EMPTY.is_empty() && !some.is_empty());
        assert_eq!(PrioritySet::ALL.iter().count(), Priority::COUNT);
    }
}
