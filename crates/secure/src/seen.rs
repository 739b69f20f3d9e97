//! The handshakes that had a response, so that a recorded first message does not get another.
//!
//! Two sets, of which the older is forgotten when the newer is full: the last 32,768 handshakes at least
//! are known. An older one can get a second response: it costs one Diffie-Hellman, and its session never
//! becomes real.

use std::collections::BTreeSet;

use crate::noise::PublicKey;

const GENERATION: usize = 1 << 15;

/// Public keys are random, so half of one identifies it.
type Mark = u128;

#[derive(Default)]
pub(crate) struct Seen {
    newer: BTreeSet<Mark>,
    older: BTreeSet<Mark>,
}

impl Seen {
    pub(crate) fn contains(&self, key: &PublicKey) -> bool {
        let mark = mark(key);
        self.newer.contains(&mark) || self.older.contains(&mark)
    }

    pub(crate) fn insert(&mut self, key: &PublicKey) {
        if self.newer.len() == GENERATION {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(mark(key));
    }
}

fn mark(key: &PublicKey) -> Mark {
    Mark::from_be_bytes(*key.first_chunk().expect("longer than a mark"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> PublicKey {
        let mut key = [0; 32];
        key[..4].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn the_latest_are_known_and_memory_is_bounded() {
        let mut seen = Seen::default();
        let most = GENERATION as u32;
        for number in 0..5 * most {
            assert!(!seen.contains(&key(number)));
            seen.insert(&key(number));
            assert!(seen.contains(&key(number.saturating_sub(most - 1))));
            assert!(seen.newer.len() + seen.older.len() <= 2 * GENERATION);
        }
        assert!(!seen.contains(&key(0)));
    }
}
