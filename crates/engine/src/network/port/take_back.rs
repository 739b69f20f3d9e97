//! Packets that a NIC takes back from its port, because a pause has come before their sending.
//!
//! A port without a backlog has put them on the link already, at the instants of their arrival. They leave the counters
//! of the port, and count once more when they return to it; its digest keeps the instant of the first time. Leaves out: ports with a
//! capacity, which have a queue for each priority where they can be paused.

use incastle_units::{Span, Time};

use super::scheduled::ScheduledQueue;
use super::{Port, Wakes};
use crate::core::PortIndex;
use crate::layout::{Row, Slot};
use crate::network::Pool;

/// A packet that was taken back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenBack {
    pub(crate) slot: Slot,
    /// Its first bit leaves not before this instant.
    pub(crate) ready: Time,
}

impl Port {
    /// Takes back the packets whose sending has not begun. Returns them with the arrival of the first packet on the link,
    /// if that is one of them.
    pub(crate) fn take_back(
        &mut self,
        now: Time,
        pool: &mut Pool,
    ) -> (Vec<TakenBack>, Option<Time>) {
        let (taken, arrival) = match self.scheduled.as_deref_mut() {
            Some(ScheduledQueue::General(queue)) => {
                let taken = queue.take_back(now).into_iter();
                let put = |(ready, packet)| TakenBack {
                    slot: pool.put(packet),
                    ready,
                };
                (taken.map(put).collect(), None)
            }
            Some(_) => unreachable!("the NIC of a queue pair or a pulling endpoint has one queue"),
            None => self.take_off_the_link(now, pool),
        };
        for TakenBack { slot, .. } in &taken {
            self.gate.take_back(&pool.at(*slot).packet);
        }
        (taken, arrival)
    }

    /// Sends a packet that was taken back, once the line is free.
    pub(crate) fn send_again(&mut self, taken: TakenBack, now: Time, pool: &mut Pool) -> Wakes {
        let TakenBack { slot, ready } = taken;
        let (packet, ready) = (pool.at(slot).packet, ready.max(now));
        self.gate.take_again(&packet);
        if let Some(queue) = &mut self.scheduled {
            return Wakes {
                arrival: None,
                departure: queue.push(ready, slot, pool, &mut self.line),
            };
        }
        let span = self.span(packet.size);
        let arrives = self.fast.occupy(ready, span) + self.delay;
        Wakes {
            arrival: self.row.push(slot, arrives, pool).then_some(arrives),
            departure: None,
        }
    }

    fn take_off_the_link(&mut self, now: Time, pool: &mut Pool) -> (Vec<TakenBack>, Option<Time>) {
        let mut taken = Vec::new();
        if self.fast.busy_until() <= now
            || self.begins(self.fast.busy_until(), self.row.last(), pool) <= now
        {
            return (taken, None);
        }
        let first = self.row.first_arrival();
        let mut kept = Row::default();
        let (mut free_at, mut before) = (now, now);
        while let Some(front) = self.row.pop(pool) {
            let ends = front.arrives - self.delay;
            let begins = self.begins(ends, front.slot, pool);
            if begins <= now {
                kept.push(front.slot, front.arrives, pool);
                free_at = ends;
            } else {
                // Behind a gap it has waited for its jitter alone.
                let ready = if begins > before { begins } else { now };
                taken.push(TakenBack {
                    slot: front.slot,
                    ready,
                });
            }
            before = ends;
        }
        self.row = kept;
        self.fast.set_busy_until(free_at);
        let arrival = first.filter(|_| self.row.first() == Slot::NONE);
        if arrival.is_some() {
            self.cached_next_hop = PortIndex::NONE;
        }
        (taken, arrival)
    }

    /// The instant at which the sending of a packet begins that ends at `ends`; at a rate with fractions of a picosecond
    /// per byte, at most one earlier.
    fn begins(&self, ends: Time, slot: Slot, pool: &Pool) -> Time {
        let packet = &pool.at(slot).packet;
        let carried = Span::from_ps(u64::from(self.pace == 0));
        ends - (self.line.clone().span(packet.size()) + carried)
    }
}
