//! The event queue and the total order of events.
//!
//! An event is (time, kind, source). At one instant the kinds come in the order of [`Kind`], then
//! the sources by their index; a source's own events come in the order in which it made them,
//! because each source keeps at most its earliest event here (a link the arrival of its first
//! packet, an endpoint its earliest deadline). The order therefore never depends on addresses,
//! hashes or the shape of the heap. A source may leave an outdated event behind; it then finds
//! nothing due and ignores it.

use incastle_units::Time;

/// The kinds of events in their order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A general port has finished sending a packet.
    Departure = 0,
    /// The first packet on a link arrives at its far end.
    Arrival = 1,
    /// An endpoint's deadline has come.
    Timer = 3,
    /// A host hands a batch of coalesced arrivals to its endpoint.
    Batch = 4,
    /// An application has something to do.
    Application = 5,
    /// A probe looks.
    Probe = 6,
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) at: Time,
    pub(crate) kind: Kind,
    pub(crate) source: u32,
}

impl Event {
    fn key(self) -> u128 {
        u128::from(self.at.as_ps()) << 64
            | u128::from(self.kind as u8) << 32
            | u128::from(self.source)
    }

    fn from_key(key: u128) -> Self {
        let kind = match (key >> 32) as u8 {
            0 => Kind::Departure,
            1 => Kind::Arrival,
            3 => Kind::Timer,
            4 => Kind::Batch,
            5 => Kind::Application,
            _ => Kind::Probe,
        };
        Self {
            at: Time::from_ps((key >> 64) as u64),
            kind,
            source: key as u32,
        }
    }
}

/// Children of a heap node.
const ARITY: usize = 4;

/// A 4-ary min-heap of event keys.
///
/// `take` leaves a hole at the root, and the first `push` after it fills the hole: most events cause
/// exactly one other, and this saves half of the sifting.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    keys: Vec<u128>,
    hole: bool,
}

impl EventQueue {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, event: Event) {
        let key = event.key();
        if self.hole {
            self.hole = false;
            self.sift_down(key);
        } else {
            self.keys.push(key);
            self.sift_up(self.keys.len() - 1, key);
        }
    }

    /// Takes the first event if it lies at or before `until`.
    #[inline]
    pub(crate) fn take(&mut self, until: Time) -> Option<Event> {
        self.fill_hole();
        let key = *self.keys.first()?;
        if (key >> 64) as u64 > until.as_ps() {
            return None;
        }
        self.hole = true;
        Some(Event::from_key(key))
    }

    /// Events held, outdated ones included.
    pub(crate) fn len(&self) -> usize {
        self.keys.len() - usize::from(self.hole)
    }

    fn fill_hole(&mut self) {
        if !self.hole {
            return;
        }
        self.hole = false;
        let last = self
            .keys
            .pop()
            .expect("a hole is in a heap that is not empty");
        if !self.keys.is_empty() {
            self.sift_down(last);
        }
    }

    fn sift_up(&mut self, mut at: usize, key: u128) {
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.keys[parent] <= key {
                break;
            }
            self.keys[at] = self.keys[parent];
            at = parent;
        }
        self.keys[at] = key;
    }

    /// Puts `key` at the root and restores the order.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut at = 0;
        loop {
            let first = at * ARITY + 1;
            let Some(children) = keys.get(first..first + ARITY) else {
                break;
            };
            let left = usize::from(children[1] < children[0]);
            let right = 2 + usize::from(children[3] < children[2]);
            let least = if children[right] < children[left] {
                right
            } else {
                left
            };
            if key <= children[least] {
                keys[at] = key;
                return;
            }
            keys[at] = children[least];
            at = first + least;
        }
        Self::sift_down_last(keys, at, key);
    }

    /// The last level, where a node has fewer than four children.
    fn sift_down_last(keys: &mut [u128], mut at: usize, key: u128) {
        loop {
            let first = (at * ARITY + 1).min(keys.len());
            let end = (first + ARITY).min(keys.len());
            let least = (first..end).min_by_key(|&child| keys[child]);
            match least {
                Some(child) if keys[child] < key => {
                    keys[at] = keys[child];
                    at = child;
                }
                _ => break,
            }
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [Kind; 6] = [
        Kind::Departure,
        Kind::Arrival,
        Kind::Timer,
        Kind::Batch,
        Kind::Application,
        Kind::Probe,
    ];

    fn event(at: u64, kind: usize, source: u32) -> Event {
        Event {
            at: Time::from_ps(at),
            kind: KINDS[kind],
            source,
        }
    }

    #[test]
    fn kinds_order_events_of_one_instant() {
        let mut queue = EventQueue::default();
        for kind in (0..6).rev() {
            queue.push(event(7, kind, 1));
            queue.push(event(7, kind, 0));
        }
        for kind in 0..6 {
            for source in 0..2 {
                assert_eq!(queue.take(Time::NEVER), Some(event(7, kind, source)));
            }
        }
        assert_eq!(queue.take(Time::NEVER), None);
    }

    #[test]
    fn an_event_beyond_the_horizon_stays() {
        let mut queue = EventQueue::default();
        queue.push(event(10, 1, 0));
        assert_eq!(queue.take(Time::from_ps(9)), None);
        assert_eq!(queue.take(Time::from_ps(10)), Some(event(10, 1, 0)));
        assert_eq!(queue.len(), 0);
    }

    proptest! {
        // Any mix of pushes and takes gives what a sorted list gives.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((any::<bool>(), 0..50_u64, 0..6_usize, 0..20_u32), 1..400)
        ) {
            let mut queue = EventQueue::default();
            let mut list: Vec<u128> = Vec::new();
            for (push, at, kind, source) in steps {
                if push {
                    queue.push(event(at, kind, source));
                    list.push(event(at, kind, source).key());
                    list.sort_unstable();
                } else {
                    let expected = (!list.is_empty()).then(|| list.remove(0));
                    prop_assert_eq!(queue.take(Time::NEVER).map(Event::key), expected);
                }
                prop_assert_eq!(queue.len(), list.len());
            }
        }
    }
}
