//! The packets in ports and on links: one array of slots, a cache line each, and lists through it.
//!
//! A packet keeps its slot from the sending to the receiving host; ports pass on the slot alone. The slot emptied
//! last is filled next: the memory in use is that of the packets in flight.

use std::hint::select_unpredictable;

use incastle_units::Time;

/// The place of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(u32);

impl Slot {
    /// No place.
    pub const NONE: Self = Self(u32::MAX);

    /// The place with that number.
    pub const fn of_number(number: u32) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// An element of a list through the pool: it has the slot of the one behind it. Its default is an unused slot.
pub trait Linked: Copy + Default {
    /// The slot of the packet behind it.
    fn behind(&self) -> Slot;

    /// Puts another packet behind it.
    fn set_behind(&mut self, slot: Slot);

    /// Its bytes on the wire.
    fn size(&self) -> u16;
}

/// A packet in a port or on a link.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct InFlight<P> {
    /// The arrival of the packet behind it on their link; for the last packet, its own. The packet that is taken off a
    /// link thus has the next arrival.
    pub arrives: Time,
    /// The packet.
    pub packet: P,
}

/// All slots.
#[derive(Debug)]
pub struct Pool<P> {
    slots: Vec<InFlight<P>>,
    /// The first of the list of empty slots.
    empty: Slot,
}

impl<P> Default for Pool<P> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            empty: Slot::NONE,
        }
    }
}

impl<P: Linked> Pool<P> {
    /// A slot to be written; it holds some old packet.
    #[inline(always)]
    pub fn reserve(&mut self) -> Slot {
        let slot = self.empty;
        if slot == Slot::NONE {
            return self.grow();
        }
        self.empty = self.at(slot).packet.behind();
        slot
    }

    #[cold]
    fn grow(&mut self) -> Slot {
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 packets in flight");
        assert!(slot < u32::MAX, "fewer than 2^32 - 1 packets in flight");
        let unused = InFlight {
            arrives: Time::NEVER,
            packet: P::default(),
        };
        self.slots.push(unused);
        Slot(slot)
    }

    /// Empties a slot.
    #[inline(always)]
    pub fn free(&mut self, slot: Slot) {
        self.slots[slot.0 as usize].packet.set_behind(self.empty);
        self.empty = slot;
    }

    /// Writes a packet into a slot.
    #[inline]
    pub fn put(&mut self, packet: P) -> Slot {
        let slot = self.reserve();
        self.at_mut(slot).packet = packet;
        slot
    }

    /// Takes a packet out of its slot.
    #[inline(always)]
    pub fn take(&mut self, slot: Slot) -> P {
        let flight = &mut self.slots[slot.0 as usize];
        let packet = flight.packet;
        flight
            .packet
            .set_behind(std::mem::replace(&mut self.empty, slot));
        packet
    }

    /// The content of a slot; nothing in [`Slot::NONE`].
    #[inline(always)]
    pub fn get(&self, slot: Slot) -> Option<&InFlight<P>> {
        self.slots.get(slot.0 as usize)
    }

    /// Prefetches a slot, unless it is [`Slot::NONE`].
    #[inline(always)]
    pub fn prefetch(&self, slot: Slot) {
        incastle_memory::prefetch::element(&self.slots, slot.0 as usize);
    }

    /// The content of a slot in use.
    #[inline(always)]
    pub fn at(&self, slot: Slot) -> &InFlight<P> {
        &self.slots[slot.0 as usize]
    }

    /// The same, to be changed.
    #[inline(always)]
    pub fn at_mut(&mut self, slot: Slot) -> &mut InFlight<P> {
        &mut self.slots[slot.0 as usize]
    }
}

/// A list of packets, each with the slot of the next.
#[derive(Debug)]
pub struct Row {
    first: Slot,
    /// Meaningless where there is no first.
    last: Slot,
    /// The arrival of the first; likewise.
    arrives: Time,
}

/// The first packet of a row, which has left it.
#[derive(Debug, Clone, Copy)]
pub struct Front {
    /// Its slot.
    pub slot: Slot,
    /// Its arrival.
    pub arrives: Time,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            first: Slot::NONE,
            last: Slot::NONE,
            arrives: Time::ZERO,
        }
    }
}

impl Row {
    /// The first packet's slot, or [`Slot::NONE`].
    #[inline(always)]
    pub const fn first(&self) -> Slot {
        self.first
    }

    /// The last packet's slot; any if there is none.
    #[inline(always)]
    pub const fn last(&self) -> Slot {
        self.last
    }

    /// The arrival of the first packet, if there is one.
    #[inline(always)]
    pub fn first_arrival(&self) -> Option<Time> {
        (self.first != Slot::NONE).then_some(self.arrives)
    }

    /// Appends a packet that arrives at that instant; returns whether it is the first.
    #[inline(always)]
    pub fn push<P: Linked>(&mut self, slot: Slot, arrives: Time, pool: &mut Pool<P>) -> bool {
        pool.at_mut(slot).arrives = arrives;
        let before = std::mem::replace(&mut self.last, slot);
        let first = self.first == Slot::NONE;
        if first {
            self.first = slot;
            self.arrives = arrives;
        } else {
            let before = pool.at_mut(before);
            before.packet.set_behind(slot);
            before.arrives = arrives;
        }
        first
    }

    /// Inserts a packet behind another one, which arrives no later.
    pub fn insert<P: Linked>(
        &mut self,
        before: Slot,
        slot: Slot,
        arrives: Time,
        pool: &mut Pool<P>,
    ) {
        if before == self.last {
            self.push(slot, arrives, pool);
            return;
        }
        let former = pool.at_mut(before);
        let (behind, next) = (former.packet.behind(), former.arrives);
        former.packet.set_behind(slot);
        former.arrives = arrives;
        let inserted = pool.at_mut(slot);
        inserted.packet.set_behind(behind);
        inserted.arrives = next;
    }

    /// Puts a packet before all others, which arrive no earlier.
    pub fn push_front<P: Linked>(&mut self, slot: Slot, arrives: Time, pool: &mut Pool<P>) {
        if self.first == Slot::NONE {
            self.push(slot, arrives, pool);
            return;
        }
        let inserted = pool.at_mut(slot);
        inserted.packet.set_behind(self.first);
        inserted.arrives = self.arrives;
        self.first = slot;
        self.arrives = arrives;
    }

    /// Takes the first packet out of the row; it keeps its slot.
    #[inline(always)]
    pub fn pop<P: Linked>(&mut self, pool: &Pool<P>) -> Option<Front> {
        let slot = self.first;
        let flight = pool.get(slot)?;
        let last = slot == self.last;
        self.first = select_unpredictable(last, Slot::NONE, flight.packet.behind());
        let arrives = std::mem::replace(&mut self.arrives, flight.arrives);
        Some(Front { slot, arrives })
    }

    /// All packets, first to last.
    pub fn iter<'a, P: Linked>(&self, pool: &'a Pool<P>) -> impl Iterator<Item = &'a InFlight<P>> {
        let last = self.last;
        let first = (self.first != Slot::NONE).then_some(self.first);
        let next = move |slot: &Slot| (*slot != last).then(|| pool.at(*slot).packet.behind());
        std::iter::successors(first, next).map(|slot| pool.at(slot))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::test_packet::Packet;

    proptest! {
        // Three rows in one pool, against three double-ended queues.
        #[test]
        fn rows_agree_with_deques(steps in prop::collection::vec((0..3_usize, any::<Option<u16>>()), 1..300)) {
            let mut pool = Pool::<Packet>::default();
            let mut rows: [Row; 3] = Default::default();
            let mut deques: [VecDeque<u16>; 3] = Default::default();
            let mut most = 0;
            for (which, step) in steps {
                let (row, deque) = (&mut rows[which], &mut deques[which]);
                if let Some(size) = step {
                    let slot = pool.put(Packet::new(size));
                    let arrives = Time::from_ps(u64::from(size));
                    prop_assert_eq!(row.push(slot, arrives, &mut pool), deque.is_empty());
                    deque.push_back(size);
                } else if let Some(size) = deque.pop_front() {
                    let first = row.pop(&pool).map(|first| (pool.take(first.slot).size, first.arrives));
                    prop_assert_eq!(first, Some((size, Time::from_ps(u64::from(size)))));
                }
                for (row, deque) in rows.iter().zip(&deques) {
                    let sizes = row.iter(&pool).map(|flight| flight.packet.size);
                    prop_assert!(sizes.eq(deque.iter().copied()));
                    let first = deque.front().map(|size| Time::from_ps(u64::from(*size)));
                    prop_assert_eq!(row.first_arrival(), first);
                }
                most = most.max(deques.iter().map(VecDeque::len).sum());
                prop_assert_eq!(pool.slots.len(), most);
            }
        }
    }
}
