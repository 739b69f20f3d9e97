//! A queue with an event for each departure: the general FIFO or the fair queue.
//!
//! The port has one field for both: a third kind there would turn the branch on every packet's path into a jump table.

use incastle_units::{Serializer, Time};

use super::Backlog;
use super::exchange::Sent;
use super::fair::FairQueue;
use super::general::GeneralQueue;
use crate::network::Packet;

/// The queue.
pub(super) enum ScheduledQueue {
    General(GeneralQueue),
    Fair(FairQueue),
}

impl ScheduledQueue {
    /// The departure of the last packet taken so far, where that is computed ahead.
    pub(super) fn busy_until(&self) -> Option<Time> {
        match self {
            Self::General(queue) => Some(queue.busy_until()),
            Self::Fair(_) => None,
        }
    }

    /// The instant since which the line is idle.
    pub(super) fn idle_since(&self) -> Time {
        match self {
            Self::General(queue) => queue.idle_since(),
            Self::Fair(queue) => queue.idle_since(),
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        match self {
            Self::General(queue) => queue.backlog(),
            Self::Fair(queue) => queue.backlog(),
        }
    }

    /// The backlog for the gate when this packet arrives.
    pub(super) fn in_front_of(&self, packet: &Packet) -> Backlog {
        match self {
            Self::General(queue) => queue.backlog(),
            Self::Fair(queue) => queue.in_front_of(packet),
        }
    }

    /// Takes an admitted packet; returns its departure if it is sent immediately.
    pub(super) fn push(
        &mut self,
        ready: Time,
        packet: Packet,
        line: &mut Serializer,
    ) -> Option<Time> {
        match self {
            Self::General(queue) => queue.push(ready, packet, line),
            Self::Fair(queue) => queue.push(ready, packet, line),
        }
    }

    /// The packet being sent has left. Nothing where the event is outdated.
    pub(super) fn depart(&mut self, now: Time, line: &mut Serializer) -> Option<Sent> {
        match self {
            Self::General(queue) => queue.depart(now, line),
            Self::Fair(queue) => queue.depart(now, line),
        }
    }

    /// The line has another rate; returns the moved departure.
    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        match self {
            Self::General(queue) => queue.change_rate(now, line),
            Self::Fair(queue) => queue.change_rate(now, line),
        }
    }

    /// The line fails: returns all packets of the queue, which is empty now.
    pub(super) fn cut(&mut self, now: Time) -> Vec<Packet> {
        match self {
            Self::General(queue) => queue.cut(now),
            Self::Fair(queue) => queue.cut(now),
        }
    }

    /// Packets waiting or being sent.
    pub(super) fn stored(&self) -> Box<dyn Iterator<Item = &Packet> + '_> {
        match self {
            Self::General(queue) => Box::new(queue.stored()),
            Self::Fair(queue) => Box::new(queue.stored()),
        }
    }
}
