//! A port whose link leads from one partition of a network into another: its queue is in one partition, and what
//! arrives is in both, in rows of their own.

use incastle_units::Time;

use super::Port;
use crate::layout::Slot;
use crate::network::{InFlight, Packet, Pool};
use crate::probe::Probe;

impl Port {
    /// Makes it one, in the part that it sends from.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
        self.special = true;
        self.gate.judge_all();
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether departures are known beforehand.
    pub(crate) fn is_fast(&self) -> bool {
        self.scheduled.is_none() && !self.unwatched
    }

    /// The last packet on the link, where there is one.
    pub(crate) fn last(&self) -> Slot {
        self.row.last()
    }

    /// Takes the first packet off the link if it has arrived by `now`.
    #[inline(never)]
    pub(crate) fn take_arrived<P: Probe>(
        &mut self,
        now: Time,
        pool: &mut Pool,
        probe: &mut P,
    ) -> Option<Packet> {
        let arrives = self.row.first_arrival()?;
        if arrives > now {
            return None;
        }
        let (slot, _) = self.arrive(arrives, pool, probe);
        Some(pool.take(slot))
    }

    /// In the part that it leads into: a packet is on the link. Returns whether it is the first.
    pub(crate) fn take_over(&mut self, flight: &InFlight, pool: &mut Pool) -> bool {
        let slot = pool.put(flight.packet);
        self.row.push(slot, flight.arrives, pool)
    }

    /// In the part that it leads into: when the first packet arrives.
    pub(crate) fn first_arrival(&self) -> Option<Time> {
        self.row.first_arrival()
    }

    /// In the part that it leads into: the first packet on the link will not arrive, if it had left by
    /// `now`. The sender may have gone on, and sent more.
    pub(crate) fn forget_arrival(&mut self, now: Time, pool: &mut Pool) -> Option<Packet> {
        if self.first_arrival()? - self.delay > now {
            return None;
        }
        let (slot, _) = self.row.pop(pool)?;
        Some(pool.take(slot))
    }

    /// What waits and has not been handed over to the other partition: what a queue with departure events
    /// stores.
    pub(crate) fn stored(&self) -> impl Iterator<Item = &Packet> {
        self.scheduled.iter().flat_map(|queue| queue.stored())
    }
}
