//! The fast queue of a port: FIFO at a known rate, without departure events.
//!
//! The departure follows on arrival: max(now, departure of the packet before) + size / rate. Stored packets and those
//! on the wire stand in one row; a cursor, advanced lazily, separates them. Exactly one stored packet is being sent,
//! because the port never pauses: the others wait.
//!
//! Whether a queue is empty is unpredictable where packets are few, and a mispredicted branch costs more than a dozen
//! instructions. The departure of the last packet is therefore computed without a branch.

use std::hint::select_unpredictable;
use std::mem::offset_of;

use incastle_units::{Span, Time};

use crate::{Linked, Pool, Slot};

/// The queue's state; the packets are in the port's row.
#[derive(Debug)]
#[repr(C)]
pub struct FastQueue {
    /// The packet being sent, if there is one.
    sending: Slot,
    stored_packets: u32,
    /// The departure of that packet; if there is none, an instant in the past.
    departs: Time,
    stored_bytes: u64,
    /// The departure of the last packet accepted so far.
    busy_until: Time,
}

/// Packets stored, the one being sent included, and their bytes.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    /// Packets.
    pub packets: u32,
    /// Bytes on the wire.
    pub bytes: u64,
}

/// A departure of a queue with several packets: the sending of the next begins.
#[derive(Debug, Clone, Copy)]
pub struct Succession {
    /// The departure.
    pub at: Time,
    /// The packet whose sending begins.
    pub begins: Slot,
    /// The packets stored from then on, that packet included.
    pub stored: Stored,
}

impl Default for FastQueue {
    fn default() -> Self {
        Self {
            sending: Slot::NONE,
            stored_packets: 0,
            departs: Time::ZERO,
            busy_until: Time::ZERO,
            stored_bytes: 0,
        }
    }
}

impl FastQueue {
    /// Bytes of the fields that an arrival over the link reads.
    pub const FIRST: usize = offset_of!(Self, busy_until);

    /// The packet being sent, if there is one.
    #[inline(always)]
    pub const fn sending(&self) -> Slot {
        self.sending
    }

    /// The departure of the last packet accepted so far.
    #[inline(always)]
    pub const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// The departure of the packet being sent, since the last advance.
    pub fn next_departure(&self) -> Option<Time> {
        (self.stored_packets > 0).then_some(self.departs)
    }

    /// The packets stored.
    #[inline(always)]
    pub const fn stored(&self) -> Stored {
        Stored {
            packets: self.stored_packets,
            bytes: self.stored_bytes,
        }
    }

    /// Whether a packet, the first of the row, is still counted as stored, with others behind it.
    #[inline(always)]
    pub fn holds_up(&self, first: Slot) -> bool {
        let sending = select_unpredictable(self.stored_packets > 1, self.sending, Slot::NONE);
        sending == first
    }

    /// The size of the packet being sent, if there is one.
    pub fn sending_size<P: Linked>(&self, pool: &Pool<P>) -> Option<u16> {
        pool.get(self.sending).map(|flight| flight.packet.size())
    }

    /// Packets that occupied the line were taken back: it is free at that instant.
    pub fn set_busy_until(&mut self, free_at: Time) {
        self.busy_until = free_at;
    }

    /// Occupies the line from `ready` on, once it is free, for a span; returns the end.
    #[inline(always)]
    pub fn occupy(&mut self, ready: Time, span: Span) -> Time {
        self.busy_until = self.busy_until.max(ready) + span;
        self.busy_until
    }

    /// Appends an admitted packet that departs at that instant.
    #[inline(always)]
    pub fn push(&mut self, departs: Time, slot: Slot, size: u16) {
        let first = self.stored_packets == 0;
        self.sending = select_unpredictable(first, slot, self.sending);
        self.departs = select_unpredictable(first, departs, self.departs);
        self.stored_packets += 1;
        self.stored_bytes += u64::from(size);
    }

    /// Processes every departure until `now` and reports those that leave packets behind.
    #[inline(always)]
    pub fn advance<P: Linked>(
        &mut self,
        now: Time,
        delay: Span,
        pool: &Pool<P>,
        succeeded: impl FnMut(Succession),
    ) {
        if self.stored_packets > 1 {
            self.advance_crowd(now, delay, pool, succeeded);
        }
        self.advance_last(now);
    }

    /// Processes the departure of the last stored packet.
    #[inline(always)]
    pub fn advance_last(&mut self, now: Time) {
        let gone = self.stored_packets <= 1 && self.departs <= now;
        self.sending = select_unpredictable(gone, Slot::NONE, self.sending);
        self.stored_packets = select_unpredictable(gone, 0, self.stored_packets);
        self.stored_bytes = select_unpredictable(gone, 0, self.stored_bytes);
    }

    /// As `advance`, for all packets before the last.
    #[inline(always)]
    fn advance_crowd<P: Linked>(
        &mut self,
        now: Time,
        delay: Span,
        pool: &Pool<P>,
        mut succeeded: impl FnMut(Succession),
    ) {
        while self.stored_packets > 1 && self.departs <= now {
            let gone = pool.at(self.sending);
            self.stored_packets -= 1;
            self.stored_bytes -= u64::from(gone.packet.size());
            succeeded(Succession {
                at: self.departs,
                begins: gone.packet.behind(),
                stored: self.stored(),
            });
            self.sending = gone.packet.behind();
            self.departs = gone.arrives - delay;
        }
    }
}
