//! Event counts: applications wait until a count has reached a value.
//!
//! Source: D. P. Reed, R. K. Kanodia, "Synchronization with eventcounts and sequencers", CACM 22(2),
//! 1979: `advance` adds one, `await` waits until the count has reached a value. A count never falls:
//! an application that needs several waits for one after the other. A transfer thus begins when those before
//! it have arrived, whichever application makes them. Leaves out: sequencers, reading a count.

use std::collections::BTreeMap;

use crate::core::{AppIndex, EventCountIndex};

/// A wait of an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) count: EventCountIndex,
    pub(crate) value: u64,
    /// The application's own number of the wait.
    pub(crate) tag: u32,
}

/// An application that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waiter {
    pub(crate) app: AppIndex,
    /// The application's own number of the wait.
    pub(crate) tag: u32,
}

/// The place of a waiter: by count, then by value, then first come, first served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    count: EventCountIndex,
    value: u64,
    /// Its number among all waits of the run.
    number: u64,
}

/// All counts of a run, and the applications that wait for them.
#[derive(Debug, Default)]
pub(crate) struct EventCounts {
    values: Vec<u64>,
    waiting: BTreeMap<Place, Waiter>,
    /// Waits so far.
    waits: u64,
}

impl EventCounts {
    /// The number of counts.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.values.len()).expect("fewer than 2^32 event counts")
    }

    /// A new count, at zero.
    pub(crate) fn add(&mut self) {
        self.values.push(0);
    }

    /// Adds one to a count.
    pub(crate) fn advance(&mut self, count: EventCountIndex) {
        self.values[count.index()] += 1;
    }

    /// Waits until a count has reached a value; returns whether it has already.
    pub(crate) fn wait(&mut self, app: AppIndex, Wait { count, value, tag }: Wait) -> bool {
        let reached = self.values[count.index()] >= value;
        if !reached {
            let number = self.waits;
            let place = Place {
                count,
                value,
                number,
            };
            self.waiting.insert(place, Waiter { app, tag });
            self.waits += 1;
        }
        reached
    }

    /// Takes the next waiter whose value a count has reached.
    pub(crate) fn take_reached(&mut self, count: EventCountIndex) -> Option<Waiter> {
        let first = self.waiting.range(Place::first(count)..).next();
        let place = *first?.0;
        let reached = place.count == count && place.value <= self.values[count.index()];
        reached.then(|| self.waiting.remove(&place)).flatten()
    }
}

impl Place {
    /// No waiter for a count has an earlier place.
    const fn first(count: EventCountIndex) -> Self {
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

    const APP: AppIndex = AppIndex(3);

    fn reached(counts: &mut EventCounts, count: EventCountIndex) -> Vec<u32> {
        let taken = std::iter::from_fn(|| counts.take_reached(count));
        taken.map(|waiter| waiter.tag).collect()
    }

    #[test]
    fn waiters_are_taken_once_in_the_order_of_values_then_of_coming() {
        let [first, second] = [EventCountIndex(0), EventCountIndex(1)];
        let mut counts = EventCounts::default();
        counts.add();
        counts.add();
        for (tag, (count, value)) in [(first, 2), (first, 1), (second, 1), (first, 1), (first, 2)]
            .into_iter()
            .enumerate()
        {
            assert!(!counts.wait(
                APP,
                Wait {
                    count,
                    value,
                    tag: tag as u32
                }
            ));
        }
        counts.advance(first);
        assert_eq!(reached(&mut counts, first), [1, 3]);
        assert_eq!(reached(&mut counts, first), []);
        assert!(
            counts.wait(
                APP,
                Wait {
                    count: first,
                    value: 1,
                    tag: 9
                }
            ),
            "it is reached already"
        );
        counts.advance(first);
        counts.advance(first);
        assert_eq!(reached(&mut counts, first), [0, 4]);
        assert_eq!(reached(&mut counts, second), []);
        counts.advance(second);
        assert_eq!(reached(&mut counts, second), [2]);
        assert_eq!(counts.waiting.len(), 0);
    }
}
