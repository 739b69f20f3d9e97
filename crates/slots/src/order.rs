//! The order of packets on a link where one may overtake those sent before it.
//!
//! The packets stand in a row, as on every link. The index finds the place of a packet between them.

use std::collections::BTreeMap;

use incastle_units::Time;

use crate::{Linked, Pool, Row, Slot};

/// A packet on the link.
#[derive(Debug, Clone, Copy)]
struct OnLink {
    slot: Slot,
    /// When it left the port.
    left: Time,
}

/// The packets on a link by arrival, then by departure; those that have arrived are removed later.
#[derive(Debug, Default)]
pub struct Order {
    index: BTreeMap<(Time, u64), OnLink>,
    /// The number of packets so far.
    count: u64,
}

/// The events that follow from a packet on a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Inserted {
    /// Its arrival, if it is the first.
    pub arrival: Option<Time>,
    /// The arrival of the packet that was the first until now.
    pub overtaken: Option<Time>,
}

impl Order {
    /// Puts a packet on the link, which left the port at the first instant and arrives at the second one.
    pub fn insert<P: Linked>(
        &mut self,
        row: &mut Row,
        slot: Slot,
        [left, arrives]: [Time; 2],
        pool: &mut Pool<P>,
    ) -> Inserted {
        self.forget_arrived(row);
        let key = (arrives, self.count);
        self.count += 1;
        let before = self.index.range(..key).next_back().map(|(_, one)| one.slot);
        self.index.insert(key, OnLink { slot, left });
        if let Some(before) = before {
            row.insert(before, slot, arrives, pool);
            return Inserted::default();
        }
        let overtaken = row.first_arrival();
        row.push_front(slot, arrives, pool);
        Inserted {
            arrival: Some(arrives),
            overtaken,
        }
    }

    /// Removes the packets that had left the port by `now`.
    pub fn remove_left<P: Linked>(
        &mut self,
        row: &mut Row,
        now: Time,
        pool: &mut Pool<P>,
    ) -> Vec<P> {
        self.forget_arrived(row);
        let count = row.iter(pool).count();
        let arrived = self.index.len() - count;
        let on_link = std::mem::take(&mut self.index).into_iter().skip(arrived);
        *row = Row::default();
        let mut removed = Vec::new();
        for (key, one) in on_link {
            if one.left <= now {
                removed.push(pool.take(one.slot));
            } else {
                row.push(one.slot, key.0, pool);
                self.index.insert(key, one);
            }
        }
        removed
    }

    /// Packets that arrive together stay until the last of them has arrived.
    fn forget_arrived(&mut self, row: &Row) {
        match row.first_arrival() {
            None => self.index.clear(),
            Some(first) => {
                while let Some(entry) = self.index.first_entry()
                    && entry.key().0 < first
                {
                    entry.remove();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_packet::Packet;

    proptest! {
        // Against a sorted list: packets arrive, fail with the link, and overtake each other.
        #[test]
        fn packets_stand_in_the_order_of_their_arrivals(
            steps in prop::collection::vec(prop_oneof![
                6 => (1..40_u64).prop_map(Some),
                5 => Just(None),
            ], 1..200),
            cut in 0..200_usize,
        ) {
            let (mut order, mut row, mut pool) = (Order::default(), Row::default(), Pool::<Packet>::default());
            let mut list: Vec<(Time, u16, Time)> = Vec::new();
            let (mut now, mut size) = (Time::ZERO, 0);
            for (number, step) in steps.into_iter().enumerate() {
                if number == cut {
                    // The packets that had left until an instant in the past.
                    let until = Time::from_ps(now.as_ps().saturating_sub(5));
                    let removed = order.remove_left(&mut row, until, &mut pool);
                    let (gone, stays): (Vec<_>, Vec<_>) =
                        list.into_iter().partition(|one| one.2 <= until);
                    prop_assert!(removed.iter().map(|packet| packet.size).eq(gone.iter().map(|one| one.1)));
                    list = stays;
                }
                if let Some(delay) = step {
                    now = Time::from_ps(now.as_ps() + 1);
                    size += 1;
                    let arrives = Time::from_ps(now.as_ps() + delay);
                    let slot = pool.put(Packet::new(size));
                    let first = list.first().map(|one| one.0);
                    let inserted = order.insert(&mut row, slot, [now, arrives], &mut pool);
                    let place = list.partition_point(|one| one.0 <= arrives);
                    list.insert(place, (arrives, size, now));
                    let expected = if place == 0 {
                        Inserted { arrival: Some(arrives), overtaken: first }
                    } else {
                        Inserted::default()
                    };
                    prop_assert_eq!(inserted, expected);
                } else if !list.is_empty() {
                    let (arrives, size, _) = list.remove(0);
                    let front = row.pop(&pool).expect("the lists agree");
                    prop_assert_eq!((front.arrives, pool.take(front.slot).size), (arrives, size));
                    now = now.max(arrives);
                }
                let sizes = row.iter(&pool).map(|flight| flight.packet.size);
                prop_assert!(sizes.eq(list.iter().map(|one| one.1)));
                prop_assert_eq!(row.first_arrival(), list.first().map(|one| one.0));
            }
        }
    }
}
