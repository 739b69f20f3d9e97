//! Departures without events, at one port (`network::late`).
//!
//! The arrival of a packet at the other end has an event in any case. It is entered as soon as the packet is the only one on
//! its way there: while the packet is being sent, or when the one before it arrives. Leaves out: when departures have
//! events, which the switch decides.

use incastle_queueing::Lossless;
use incastle_units::Time;

use super::{InSlot, lanes};
use crate::layout::Slot;
use crate::network::Arenas;
use crate::network::port::scheduled::ScheduledQueue;
use crate::network::port::{Port, Wakes};
use crate::probe::Probe;

impl Port {
    /// Processes the departures until `now` of a port whose departures have no events: packets leave the accounts of the
    /// switch, and are on the link. Returns the number of departures.
    #[inline(always)]
    pub(crate) fn settle<P: Probe>(
        &mut self,
        now: Time,
        lossless: &mut Lossless,
        Arenas { pool, extras }: Arenas<'_>,
        probe: &mut P,
    ) -> u64 {
        let lanes = lanes(&mut self.scheduled);
        let mut departures = 0;
        while let Some(departs) = lanes.queue.departs()
            && departs <= now
        {
            departures += 1;
            let passage = lanes.passage();
            let sent = lanes.queue.depart(departs, &mut self.line);
            let (InSlot { slot, .. }, next) = sent.expect("a packet departs at its instant");
            if let Some(passage) = passage {
                lossless.release(departs, &passage);
            }
            let first = self.row.push(slot, departs + self.delay, pool);
            assert!(
                std::mem::replace(&mut lanes.announced, false) || !first,
                "the event of an arrival precedes a departure without one"
            );
            if next.is_some() {
                if self.observed {
                    let waiting = lanes.backlog().waiting_packets;
                    probe.queue_changed(self.index, departs, waiting);
                }
                let arenas = Arenas { pool, extras };
                lanes.begin(departs, &self.line, &mut self.gate, arenas);
            }
        }
        departures
    }

    /// The event for a packet whose sending has begun: its departure, or its arrival where the departure has none.
    #[inline(always)]
    pub(crate) fn wake(&mut self, departure: Option<Time>) -> Wakes {
        if departure.is_none() {
            return Wakes::default();
        }
        let arrival = self.late.then(|| self.announce()).flatten();
        Wakes {
            arrival,
            departure: self.wake_next(departure),
        }
    }

    /// The event for the next departure, unless it has none. Its packet is not the only one on its way.
    #[inline(always)]
    pub(crate) fn wake_next(&mut self, next: Option<Time>) -> Option<Time> {
        let next = next.filter(|_| !self.late);
        lanes(&mut self.scheduled).entered = next.is_some();
        next
    }

    /// The arrival of the packet being sent, where its event has to be entered: the departure has none, and no other packet
    /// is on the link.
    #[inline(always)]
    pub(crate) fn announce(&mut self) -> Option<Time> {
        let alone = self.row.first() == Slot::NONE;
        alone.then(|| self.announce_next())?
    }

    /// As [`Self::announce`], before the only packet on the link leaves it.
    #[inline(always)]
    pub(crate) fn announce_behind(&mut self) -> Option<Time> {
        let alone = self.row.first() == self.row.last();
        alone.then(|| self.announce_next())?
    }

    #[inline(always)]
    fn announce_next(&mut self) -> Option<Time> {
        let lanes = lanes(&mut self.scheduled);
        if lanes.announced || lanes.entered {
            return None;
        }
        let departs = lanes.queue.departs()?;
        lanes.announced = true;
        Some(departs + self.delay)
    }

    /// The packet of the next arrival at the other end, where that has an event.
    pub(crate) fn arriving(&self) -> Slot {
        let first = self.row.first();
        match self.scheduled.as_deref() {
            Some(ScheduledQueue::Priority(lanes)) if first == Slot::NONE => {
                let sending = lanes.queue.sending();
                sending.map_or(Slot::NONE, |stored| stored.slot)
            }
            _ => first,
        }
    }

    /// The departure of the packet being sent, if it has left by `now`.
    #[inline(always)]
    pub(crate) fn departs_by(&self, now: Time) -> Option<Time> {
        let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref() else {
            return None;
        };
        lanes.queue.departs().filter(|departs| *departs <= now)
    }

    /// Departures have events from now on; returns that of the packet being sent, if it has to be entered.
    pub(crate) fn end_lateness(&mut self) -> Option<Time> {
        self.late = false;
        let lanes = lanes(&mut self.scheduled);
        let departs = lanes.queue.departs().filter(|_| !lanes.entered)?;
        lanes.entered = true;
        Some(departs)
    }

    /// Whether its departures need no events, as far as the port itself is concerned: nothing is paused.
    pub(crate) fn may_be_late(&self) -> bool {
        match self.scheduled.as_deref() {
            Some(ScheduledQueue::Priority(lanes)) => {
                lanes.may_be_late && lanes.receiver.is_at_rest()
            }
            _ => false,
        }
    }

    /// Departures keep their events from the beginning.
    pub(crate) fn never_late(&mut self) {
        self.late = false;
        if let Some(ScheduledQueue::Priority(lanes)) = self.scheduled.as_deref_mut() {
            lanes.may_be_late = false;
        }
    }
}
