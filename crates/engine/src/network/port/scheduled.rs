//! A queue with an event for each departure: the general FIFO, the fair queue, or the two queues of DualPI2.
//!
//! The port has one field for all: another kind there would turn the branch on every packet's path into a jump table.

use incastle_queueing::{DualQueue, FairQueue, FifoQueue, JudgedLate};
use incastle_units::{Serializer, Time};

use super::Backlog;
use super::exchange::Sent;
use super::priority::{NO_ACCOUNT, PriorityLanes};
use crate::layout::Slot;
use crate::network::{Packet, Pool};

/// The queue. The port has it behind one pointer.
#[expect(
    clippy::large_enum_variant,
    reason = "a second pointer would be one more wait for memory"
)]
pub(super) enum ScheduledQueue {
    General(FifoQueue<Packet>),
    Fair(FairQueue<Packet>),
    Dual(DualQueue<Packet>),
    Priority(PriorityLanes),
}

impl ScheduledQueue {
    /// The departure of the last packet taken so far, where that is computed ahead.
    pub(super) fn busy_until(&self) -> Option<Time> {
        match self {
            Self::General(queue) => Some(queue.busy_until()),
            Self::Fair(_) | Self::Dual(_) | Self::Priority(_) => None,
        }
    }

    /// The instant since which the line is idle.
    pub(super) fn idle_since(&self) -> Time {
        match self {
            Self::General(queue) => queue.idle_since(),
            Self::Fair(queue) => queue.idle_since(),
            Self::Dual(queue) => queue.idle_since(),
            Self::Priority(lanes) => lanes.idle_since(),
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        match self {
            Self::General(queue) => {
                Backlog::of_lanes(queue.waiting(), queue.sending().map(|packet| packet.size))
            }
            Self::Fair(queue) => {
                Backlog::of_lanes(queue.waiting(), queue.sending().map(|packet| packet.size))
            }
            Self::Dual(queue) => Backlog::of_dual(queue),
            Self::Priority(lanes) => lanes.backlog(),
        }
    }

    /// The backlog for the gate when this packet arrives.
    pub(super) fn in_front_of(&self, packet: &Packet) -> Backlog {
        match self {
            Self::Fair(queue) => self.backlog().waiting_in(queue.in_front_of(packet)),
            Self::General(_) | Self::Dual(_) | Self::Priority(_) => self.backlog(),
        }
    }

    /// Takes an admitted packet, out of its slot but for priorities; returns its departure if it is sent immediately.
    pub(super) fn push(
        &mut self,
        ready: Time,
        slot: Slot,
        pool: &mut Pool,
        line: &mut Serializer,
    ) -> Option<Time> {
        match self {
            Self::General(queue) => queue.push(ready, pool.take(slot), line),
            Self::Fair(queue) => queue.push(ready, pool.take(slot), line),
            Self::Dual(queue) => queue.push(ready, pool.take(slot), line),
            Self::Priority(lanes) => {
                lanes.push(ready, slot, &pool.at(slot).packet, NO_ACCOUNT, line)
            }
        }
    }

    /// The packet being sent has left. Nothing where the event is outdated.
    #[inline(always)]
    pub(super) fn depart(
        &mut self,
        now: Time,
        pool: &mut Pool,
        line: &mut Serializer,
    ) -> Option<Sent> {
        let (packet, next) = match self {
            Self::General(queue) => queue.depart(now, line),
            Self::Fair(queue) => queue.depart(now, line),
            Self::Dual(queue) => queue.depart(now, line),
            Self::Priority(lanes) => return lanes.depart(now, line),
        }?;
        Some(Sent {
            slot: pool.put(packet),
            next,
            arrives: None,
            announced: false,
            passage: None,
        })
    }

    /// Takes the next packet that was judged when it was taken out of its queue.
    pub(super) fn take_judged(&mut self) -> Option<JudgedLate<Packet>> {
        match self {
            Self::General(_) | Self::Fair(_) => None,
            Self::Dual(queue) => queue.take_judged(),
            Self::Priority(lanes) => lanes.take_judged(),
        }
    }

    /// Whether it has dropped packets that it took out.
    pub(super) fn has_dropped(&self) -> bool {
        matches!(self, Self::Dual(queue) if queue.has_judged())
    }

    /// Whether there is a packet that was judged late.
    pub(super) fn has_judged(&self) -> bool {
        match self {
            Self::General(_) | Self::Fair(_) => false,
            Self::Dual(queue) => queue.has_judged(),
            Self::Priority(lanes) => lanes.has_judged(),
        }
    }

    /// The line has another rate; returns the moved departure.
    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        match self {
            Self::General(queue) => queue.change_rate(now, line),
            Self::Fair(queue) => queue.change_rate(now, line),
            Self::Dual(queue) => queue.change_rate(now, line),
            Self::Priority(lanes) => lanes.change_rate(now, line),
        }
    }

    /// The line fails: returns all packets of the queue, which is empty now.
    pub(super) fn cut(&mut self, now: Time, pool: &mut Pool) -> Vec<Packet> {
        match self {
            Self::General(queue) => queue.cut(now),
            Self::Fair(queue) => queue.cut(now),
            Self::Dual(queue) => queue.cut(now),
            Self::Priority(lanes) => lanes.cut(now, pool),
        }
    }

    /// Packets waiting or being sent.
    pub(super) fn stored<'a>(
        &'a self,
        pool: &'a Pool,
    ) -> Box<dyn Iterator<Item = &'a Packet> + 'a> {
        match self {
            Self::General(queue) => Box::new(queue.stored()),
            Self::Fair(queue) => Box::new(queue.stored()),
            Self::Dual(queue) => Box::new(queue.stored()),
            Self::Priority(lanes) => Box::new(lanes.stored(pool)),
        }
    }
}
