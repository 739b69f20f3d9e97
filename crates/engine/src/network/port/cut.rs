//! A port whose link leads from one partition into another. Its queue is in the sending partition; the packets on the
//! link are in both, each with its own row.

use incastle_units::Time;

use super::Port;
use crate::core::PortIndex;
use crate::layout::Slot;
use crate::network::{Arenas, InFlight, Packet, Pool};
use crate::probe::Probe;

impl Port {
    /// Makes it one, in the sending partition.
    pub(crate) fn cut(&mut self) {
        self.cut = true;
        self.never_late();
        // A packet with its record is posted when it leaves, one of a fast queue on arrival.
        if self.telemetry && self.is_fast() {
            self.schedule();
            self.adds_departures = true;
        }
        self.special = true;
        self.gate.judge_all();
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether its departures are events for the sake of the other partition alone.
    pub(crate) fn adds_departures(&self) -> bool {
        self.adds_departures
    }

    /// Whether departures are computed on arrival.
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
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> Option<Packet> {
        let arrives = self.row.first_arrival()?;
        if arrives > now {
            return None;
        }
        let arrived = self.arrive(arrives, Arenas { pool, extras }, probe);
        Some(pool.take(arrived.slot))
    }

    /// In the receiving partition: a packet is on the link. Returns whether it is the first.
    pub(crate) fn take_over(&mut self, flight: &InFlight, pool: &mut Pool) -> bool {
        let slot = pool.put(flight.packet);
        self.row.push(slot, flight.arrives, pool)
    }

    /// In the receiving partition: the arrival of the first packet.
    pub(crate) fn first_arrival(&self) -> Option<Time> {
        self.row.first_arrival()
    }

    /// In the receiving partition: the first packet on the link is lost, if it had left by `now`. Later packets may
    /// be on the link already.
    pub(crate) fn forget_arrival(&mut self, now: Time, pool: &mut Pool) -> Option<Packet> {
        if self.first_arrival()? - self.delay > now {
            return None;
        }
        let first = self.row.pop(pool)?;
        Some(pool.take(first.slot))
    }

    /// Another packet is the first on the link.
    pub(super) fn forget_next_hop(&mut self) {
        self.cached_next_hop = PortIndex::NONE;
    }

    /// After a run: takes over the counters of the same port in the partition that it belongs to.
    pub(crate) fn take_counters(&mut self, other: Self) {
        (self.gate, self.sampler) = (other.gate, other.sampler);
        self.scheduled = other.scheduled;
    }

    /// The packets in a queue with departure events; those of other queues are on the link already.
    pub(crate) fn stored<'a>(&'a self, pool: &'a Pool) -> impl Iterator<Item = &'a Packet> {
        self.scheduled.iter().flat_map(|queue| queue.stored(pool))
    }
}
