//! The window of seen counters (RFC 6479): a ring of words in which the bits of old counters are
//! cleared as the window advances.
//!
//! It covers the reordering of a fast NIC: 8,192 packets are 8 ms of 1,500 bytes at 12 Gbit/s, and
//! 128 batches of 64.

const WORDS: u64 = 129;
/// The maximum distance of a counter behind the highest: one word of the ring is always being
/// filled.
pub(crate) const WIDTH: u64 = (WORDS - 1) * 64;

/// The set of counters that have arrived.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// One beyond the highest counter seen.
    next: u64,
    bits: [u64; WORDS as usize],
}

impl Window {
    pub(crate) const fn new() -> Self {
        Self {
            next: 0,
            bits: [0; WORDS as usize],
        }
    }

    /// Whether that counter has not arrived, and would be known if it had.
    pub(crate) fn is_new(&self, counter: u64) -> bool {
        if counter >= self.next {
            return true;
        }
        self.next - counter <= WIDTH && self.bits[word(counter)] & bit(counter) == 0
    }

    /// A new counter has arrived, and its packet is authentic.
    pub(crate) fn mark(&mut self, counter: u64) {
        if counter >= self.next {
            // The words between the old highest counter's and this one's are used again.
            let used = self.next.div_ceil(64);
            let first = used.max((counter / 64).saturating_sub(WORDS - 1));
            for index in first..=counter / 64 {
                self.bits[word(index * 64)] = 0;
            }
            self.next = counter + 1;
        }
        self.bits[word(counter)] |= bit(counter);
    }

    /// The oldest counter that may still be new.
    pub(crate) const fn oldest(&self) -> u64 {
        self.next.saturating_sub(WIDTH)
    }
}

const fn word(counter: u64) -> usize {
    (counter / 64 % WORDS) as usize
}

const fn bit(counter: u64) -> u64 {
    1 << (counter % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_counter_is_new_once() {
        let mut window = Window::new();
        assert!(window.is_new(0));
        window.mark(0);
        assert!(!window.is_new(0));
        // Far ahead: all between are new as far as the window goes.
        window.mark(100_000);
        assert!(window.is_new(100_001 - WIDTH));
        assert!(!window.is_new(100_000 - WIDTH), "too old to tell");
        assert_eq!(window.oldest(), 100_001 - WIDTH);
        assert!(!window.is_new(100_000));
    }

    proptest! {
        /// Against a set of all that ever arrived.
        #[test]
        fn as_a_set_of_everything(steps in vec((0_u64..40_000, any::<bool>()), 1..600)) {
            let mut window = Window::new();
            let mut seen = BTreeSet::new();
            let mut highest: Option<u64> = None;
            for (step, ahead) in steps {
                let counter = match (highest, ahead) {
                    (None, _) => step,
                    (Some(highest), true) => highest + step % 300,
                    (Some(highest), false) => highest.saturating_sub(step % (WIDTH + 100)),
                };
                let old = highest.is_some_and(|highest| counter + WIDTH <= highest);
                let new = !old && !seen.contains(&counter);
                prop_assert_eq!(window.is_new(counter), new);
                if new {
                    window.mark(counter);
                    seen.insert(counter);
                    highest = highest.max(Some(counter));
                }
            }
        }
    }
}
