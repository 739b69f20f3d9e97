//! The fast queue: FIFO at a known rate, without departure events.
//!
//! On arrival the departure is known: max(now, end of the packet before) + size / rate. Stored
//! packets and those on the wire lie in one ring; a cursor, advanced lazily, parts them. Of what is
//! stored exactly one packet is being sent, because the port never pauses: the rest waits.

use incastle_units::{Serializer, Span, Time};

use super::{Backlog, InFlight};
use crate::packet::Packet;
use crate::ring::Ring;

/// The queue's state. The packets themselves lie in the port's ring.
#[derive(Debug, Default)]
pub(super) struct FastQueue {
    /// When the last packet accepted so far has departed.
    busy_until: Time,
    /// The ring's position of the packet being sent.
    sending: u32,
    /// When that packet departs.
    departs: Time,
    stored_packets: u32,
    stored_bytes: u64,
    sending_bytes: u16,
    /// Bytes that have departed and that a shared memory has not been told of.
    freed: u64,
}

impl FastQueue {
    pub(super) const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// When the packet being sent departs, as far as the queue has been advanced.
    pub(super) fn next_departure(&self) -> Option<Time> {
        (self.stored_packets > 0).then_some(self.departs)
    }

    /// Bytes that have departed since the last call.
    pub(super) fn take_freed(&mut self) -> u64 {
        std::mem::take(&mut self.freed)
    }

    /// Whether the packet at a position is still counted as stored.
    #[inline]
    pub(super) const fn still_counts(&self, position: u32) -> bool {
        self.stored_packets > 0 && self.sending == position
    }

    #[inline(always)]
    pub(super) fn backlog(&self) -> Backlog {
        Backlog {
            stored_packets: self.stored_packets,
            stored_bytes: self.stored_bytes,
            waiting_packets: self.stored_packets.saturating_sub(1),
            waiting_bytes: self.stored_bytes - u64::from(self.sending_bytes),
        }
    }

    /// Appends an admitted packet, which will lie at `position` in the ring; returns when it
    /// departs.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        ready: Time,
        packet: &Packet,
        line: &mut Serializer,
        position: u32,
    ) -> Time {
        let departs = self.busy_until.max(ready) + line.span(packet.size());
        if self.stored_packets == 0 {
            self.sending = position;
            self.departs = departs;
            self.sending_bytes = packet.size;
        }
        self.busy_until = departs;
        self.stored_packets += 1;
        self.stored_bytes += u64::from(packet.size);
        departs
    }

    /// Lets every departure until `now` happen and tells each change of the waiting packets.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        now: Time,
        delay: Span,
        wire: &Ring<InFlight>,
        mut changed: impl FnMut(Time, u32),
    ) {
        while self.stored_packets > 0 && self.departs <= now {
            self.stored_packets -= 1;
            self.stored_bytes -= u64::from(self.sending_bytes);
            self.freed += u64::from(self.sending_bytes);
            self.sending = self.sending.wrapping_add(1);
            if self.stored_packets == 0 {
                self.sending_bytes = 0;
                return;
            }
            changed(self.departs, self.stored_packets - 1);
            let next = wire.at(self.sending);
            self.departs = next.arrives - delay;
            self.sending_bytes = next.packet.size;
        }
    }
}
