//! Event counts: waiters wait until a count has reached a value.
//!
//! Source: D. P. Reed, R. K. Kanodia, "Synchronization with eventcounts and sequencers", CACM 22(2),
//! 1979: `advance` adds one, `await` waits until the count has reached a value. A count never falls:
//! an application that needs several waits for one after the other. A transfer thus begins when those before
//! it have arrived, whichever application makes them. Leaves out: sequencers, reading a count.

use std::collections::BTreeMap;

/// The place of a waiter: by count, then by value, then first come, first served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    count: usize,
    value: u64,
    /// Its number among all waits.
    number: u64,
}

/// Counts by their numbers, and who waits for them.
#[derive(Debug)]
pub struct EventCounts<Waiter> {
    values: Vec<u64>,
    waiting: BTreeMap<Place, Waiter>,
    /// Waits so far.
    waits: u64,
}

impl<Waiter> Default for EventCounts<Waiter> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            waiting: BTreeMap::new(),
            waits: 0,
        }
    }
}

impl<Waiter> EventCounts<Waiter> {
    /// The number of counts.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no counts.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// A new count, at zero.
    pub fn add(&mut self) {
        self.values.push(0);
    }

    /// Adds one to a count.
    pub fn advance(&mut self, count: usize) {
        self.values[count] += 1;
    }

    /// Waits until a count has reached a value; gives the waiter back if it has already.
    pub fn wait(&mut self, count: usize, value: u64, waiter: Waiter) -> Option<Waiter> {
        if self.values[count] >= value {
            return Some(waiter);
        }
        let number = self.waits;
        self.waits += 1;
        let place = Place {
            count,
            value,
            number,
        };
        self.waiting.insert(place, waiter);
        None
    }

    /// Takes the next waiter whose value a count has reached.
    pub fn take_reached(&mut self, count: usize) -> Option<Waiter> {
        let first = self.waiting.range(Place::first(count)..).next();
        let place = *first?.0;
        let reached = place.count == count && place.value <= self.values[count];
        reached.then(|| self.waiting.remove(&place)).flatten()
    }
}

impl Place {
    /// No waiter for a count has an earlier place.
    const fn first(count: usize) -> Self {
        Self {
            count,
            value: 0,
            number: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: usize = 0;
    const SECOND: usize = 1;

    fn reached(counts: &mut EventCounts<u32>, count: usize) -> Vec<u32> {
        std::iter::from_fn(|| counts.take_reached(count)).collect()
    }

    #[test]
    fn waiters_are_taken_once_in_the_order_of_values_then_of_coming() {
        let mut counts = EventCounts::default();
        counts.add();
        counts.add();
        let waits = [(FIRST, 2), (FIRST, 1), (SECOND, 1), (FIRST, 1), (FIRST, 2)];
        for (waiter, (count, value)) in (0..).zip(waits) {
            assert_eq!(counts.wait(count, value, waiter), None);
        }
        counts.advance(FIRST);
        assert_eq!(reached(&mut counts, FIRST), [1, 3]);
        assert_eq!(reached(&mut counts, FIRST), []);
        assert_eq!(counts.wait(FIRST, 1, 9), Some(9), "it is reached already");
        counts.advance(FIRST);
        counts.advance(FIRST);
        assert_eq!(reached(&mut counts, FIRST), [0, 4]);
        assert_eq!(reached(&mut counts, SECOND), []);
        counts.advance(SECOND);
        assert_eq!(reached(&mut counts, SECOND), [2]);
        assert_eq!(counts.waiting.len(), 0);
    }
}
