//! The fast path through a port: into a fast queue, past a gate whose verdict is certain.

use incastle_units::{Ecn, Time};

use super::{Backlog, FastPath, Port, Sampler, Wakes};
use crate::layout::Slot;
use crate::network::{Arenas, Pool};
use crate::probe::Probe;

impl Port {
    /// The fast path into a fast queue, for a packet that certainly passes the gate.
    #[inline(always)]
    pub(crate) fn pass<P: Probe>(
        &mut self,
        now: Time,
        slot: Slot,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> FastPath {
        if self.detours {
            return self.pass_otherwise(now, slot, Arenas { pool, extras }, probe);
        }
        self.let_depart_unstamped(now, pool, probe);
        self.enter_fast(now, slot, pool, probe)
    }

    /// As [`Self::pass`], where packets leave the shortest way.
    #[inline(never)]
    fn pass_otherwise<P: Probe>(
        &mut self,
        now: Time,
        slot: Slot,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> FastPath {
        let packet = &pool.at(slot).packet;
        // No notification is sent for a notification.
        let frame = (!packet.is_cnm()).then(|| packet.size());
        let is_sampled = |sampler: &Sampler| frame.is_some_and(|size| !sampler.lets_pass(size));
        if self.scheduled.is_some() || self.sampler.as_deref().is_some_and(is_sampled) {
            return FastPath::Closed;
        }
        self.let_depart(now, Arenas { pool, extras }, probe);
        let idle = self.fast.stored().packets == 0;
        let passage = self.enter_fast(now, slot, pool, probe);
        let passed = !matches!(passage, FastPath::Closed);
        if passed && let (Some(sampler), Some(size)) = (&mut self.sampler, frame) {
            sampler.pass(size);
        }
        if passed && idle && self.telemetry {
            self.stamp_begun(now, pool, extras);
        }
        passage
    }

    /// Takes a packet that certainly passes the gate into a fast queue that is up to date.
    #[inline(always)]
    fn enter_fast<P: Probe>(
        &mut self,
        now: Time,
        slot: Slot,
        pool: &mut Pool,
        probe: &mut P,
    ) -> FastPath {
        let packet = &mut pool.at_mut(slot).packet;
        let stored = self.fast.stored();
        if !self.gate.passes_clearly(now, stored, packet) {
            return FastPath::Closed;
        }
        match self.admit(now, slot, pool, probe) {
            Some(arrives) => FastPath::First(arrives),
            None => FastPath::Behind,
        }
    }

    /// Takes a packet for which [`Self::pass`] is closed into a fast queue, if it is certainly marked; returns the events
    /// that follow.
    pub(crate) fn pass_marked<P: Probe>(
        &mut self,
        now: Time,
        slot: Slot,
        pool: &mut Pool,
        probe: &mut P,
    ) -> Option<Wakes> {
        let backlog = self.fast_backlog(pool);
        let packet = &mut pool.at_mut(slot).packet;
        if !self.gate.marks_certainly(now, backlog, packet) {
            return None;
        }
        packet.marks.set_ecn(Ecn::Ce);
        Some(Wakes {
            arrival: self.admit(now, slot, pool, probe),
            departure: None,
        })
    }

    /// Stores a packet that has passed the gate in a fast queue; returns its arrival if it is the first on the link.
    #[inline(always)]
    fn admit<P: Probe>(
        &mut self,
        now: Time,
        slot: Slot,
        pool: &mut Pool,
        probe: &mut P,
    ) -> Option<Time> {
        let packet = &mut pool.at_mut(slot).packet;
        packet.marks.pass();
        let size = packet.size;
        let stored = self.fast.stored();
        if self.observed && stored.packets > 0 {
            probe.queue_changed(self.index, now, stored.packets);
        }
        let span = self.span(size);
        let departs = self.fast.occupy(now, span);
        self.fast.push(departs, slot, size);
        let arrives = departs + self.delay;
        self.row.push(slot, arrives, pool).then_some(arrives)
    }

    /// The packets of a fast queue that is up to date.
    pub(super) fn fast_backlog(&self, pool: &Pool) -> Backlog {
        let (stored, sending) = (self.fast.stored(), self.fast.sending_size(pool));
        let waiting = stored.packets - u32::from(sending.is_some());
        let bytes = stored.bytes - u64::from(sending.unwrap_or(0));
        Backlog::of(waiting, bytes, sending)
    }
}
