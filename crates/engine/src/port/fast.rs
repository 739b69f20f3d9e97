//! The fast queue: FIFO at a known rate, without departure events.
//!
//! On arrival the departure is known: max(now, end of the packet before) + size / rate. Stored
//! packets and those on the wire stand in one row; a cursor, advanced lazily, parts them. Of what is
//! stored exactly one packet is being sent, because the port never pauses: the rest waits.

use incastle_units::{Bytes, Serializer, Span, Time};

use super::Backlog;
use crate::pool::{Pool, Slot};

/// The queue's state, in this order: what arrivals look at stands first. The packets themselves stand in
/// the port's row.
#[derive(Debug)]
#[repr(C)]
pub(super) struct FastQueue {
    /// The packet being sent; meaningless where none is.
    sending: Slot,
    stored_packets: u32,
    /// When that packet departs.
    departs: Time,
    /// When the last packet accepted so far has departed.
    busy_until: Time,
    stored_bytes: u64,
    /// Bytes that have departed and that a shared memory has not been told of.
    freed: u64,
    sending_bytes: u16,
}

impl Default for FastQueue {
    fn default() -> Self {
        Self {
            busy_until: Time::ZERO,
            sending: Slot::NONE,
            departs: Time::ZERO,
            stored_packets: 0,
            stored_bytes: 0,
            sending_bytes: 0,
            freed: 0,
        }
    }
}

impl FastQueue {
    /// The packet being sent, if there is one.
    pub(super) const fn sending(&self) -> Slot {
        self.sending
    }

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

    /// Whether a packet, the first of the row, is still counted as stored.
    #[inline]
    pub(super) fn still_counts(&self, first: Slot) -> bool {
        self.stored_packets > 0 && self.sending == first
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

    /// Appends an admitted packet; returns when it departs.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        ready: Time,
        (slot, size): (Slot, u16),
        line: &mut Serializer,
    ) -> Time {
        let departs = self.busy_until.max(ready) + line.span(Bytes::new(u64::from(size)));
        if self.stored_packets == 0 {
            self.sending = slot;
            self.departs = departs;
            self.sending_bytes = size;
        }
        self.busy_until = departs;
        self.stored_packets += 1;
        self.stored_bytes += u64::from(size);
        departs
    }

    /// Lets every departure until `now` happen and tells each change of the waiting packets.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        now: Time,
        delay: Span,
        pool: &Pool,
        mut changed: impl FnMut(Time, u32),
    ) {
        while self.stored_packets > 0 && self.departs <= now {
            self.stored_packets -= 1;
            self.stored_bytes -= u64::from(self.sending_bytes);
            self.freed += u64::from(self.sending_bytes);
            if self.stored_packets == 0 {
                self.sending_bytes = 0;
                return;
            }
            changed(self.departs, self.stored_packets - 1);
            self.sending = pool.at(self.sending).packet.behind;
            let next = pool.at(self.sending);
            self.departs = next.arrives - delay;
            self.sending_bytes = next.packet.size;
        }
    }
}
