//! Event counts: who waits until something has happened so many times, and is told.
//!
//! Source: D. P. Reed, R. K. Kanodia, "Synchronization with eventcounts and sequencers", CACM 22(2),
//! 1979: `advance` adds one, `await` waits until the count has reached a value. A count never falls,
//! so that who needs several may wait for one after the other. So a transfer begins when those before
//! it have arrived, whichever application makes them. Leaves out: sequencers, reading a count.

use std::collections::BTreeMap;

use crate::core::{AppIndex, EventCountIndex};

/// What an application waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wait {
    pub(crate) count: EventCountIndex,
    pub(crate) value: u64,
    /// What the application calls the wait.
    pub(crate) tag: u32,
}

/// All counts of a run, and who waits for them.
#[derive(Debug, Default)]
pub(crate) struct EventCounts {
    values: Vec<u64>,
    /// By count, then by the value that is waited for, then first come, first served: the application,
    /// and what it calls the wait.
    waiting: BTreeMap<(EventCountIndex, u64, u64), (AppIndex, u32)>,
    /// Waits so far.
    waits: u64,
}

impl EventCounts {
    /// How many counts there are.
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

    /// Waits until a count has reached a value; whether it has already.
    pub(crate) fn wait(&mut self, app: AppIndex, Wait { count, value, tag }: Wait) -> bool {
        let reached = self.values[count.index()] >= value;
        if !reached {
            self.waiting.insert((count, value, self.waits), (app, tag));
            self.waits += 1;
        }
        reached
    }

    /// The next one who need not wait for a count any longer.
    pub(crate) fn take_reached(&mut self, count: EventCountIndex) -> Option<(AppIndex, u32)> {
        let reached = (count, self.values[count.index()], u64::MAX);
        let (&first, _) = self.waiting.range((count, 0, 0)..=reached).next()?;
        self.waiting.remove(&first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: AppIndex = AppIndex(3);

    fn reached(counts: &mut EventCounts, count: EventCountIndex) -> Vec<u32> {
        let taken = std::iter::from_fn(|| counts.take_reached(count));
        taken.map(|(_, tag)| tag).collect()
    }

    #[test]
    fn who_waits_is_told_once_in_the_order_of_values_then_of_coming() {
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
