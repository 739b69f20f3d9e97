//! The fast queue: FIFO at a known rate, without departure events.
//!
//! On arrival the departure is known: max(now, end of the packet before) + size / rate. Stored
//! packets and those on the wire stand in one row; a cursor, advanced lazily, parts them. Of what is
//! stored exactly one packet is being sent, because the port never pauses: the rest waits.
//!
//! Whether anything is stored is as good as random where packets are few, and a processor that guesses
//! wrong loses more than a dozen instructions: what leaves nothing behind is computed without a branch.

use std::hint::select_unpredictable;
use std::mem::offset_of;

use incastle_units::{Span, Time};

use super::Backlog;
use crate::layout::Slot;
use crate::network::Pool;

/// The queue's state. The packets themselves stand in the port's row.
#[derive(Debug)]
#[repr(C)]
pub(super) struct FastQueue {
    /// The packet being sent, if there is one.
    sending: Slot,
    stored_packets: u32,
    /// When that packet departs; if there is none, some instant that is over.
    departs: Time,
    stored_bytes: u64,
    /// When the last packet accepted so far has departed.
    busy_until: Time,
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
    /// So many bytes of it are what an arrival at the far endpoint looks at.
    pub(super) const FIRST: usize = offset_of!(Self, busy_until);

    /// The packet being sent, if there is one.
    #[inline(always)]
    pub(super) const fn sending(&self) -> Slot {
        self.sending
    }

    #[inline(always)]
    pub(super) const fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// When the packet being sent departs, as far as the queue has been advanced.
    pub(super) fn next_departure(&self) -> Option<Time> {
        (self.stored_packets > 0).then_some(self.departs)
    }

    /// What is stored: packets and bytes.
    #[inline(always)]
    pub(super) const fn stored(&self) -> (u32, u64) {
        (self.stored_packets, self.stored_bytes)
    }

    /// Whether a packet, the first of the row, is still counted as stored, with others behind it.
    #[inline(always)]
    pub(super) fn holds_up(&self, first: Slot) -> bool {
        let sending = select_unpredictable(self.stored_packets > 1, self.sending, Slot::NONE);
        sending == first
    }

    pub(super) fn backlog(&self, pool: &Pool) -> Backlog {
        let sending = pool.get(self.sending).map(|flight| &flight.packet);
        let size = sending.map_or(0, |packet| u64::from(packet.size));
        let sends = u32::from(sending.is_some());
        Backlog::of(
            self.stored_packets - sends,
            self.stored_bytes - size,
            sending,
        )
    }

    /// Takes the line, free from `ready` on, for so long; returns when it is free again.
    #[inline(always)]
    pub(super) fn occupy(&mut self, ready: Time, span: Span) -> Time {
        self.busy_until = self.busy_until.max(ready) + span;
        self.busy_until
    }

    /// Appends an admitted packet that departs at that instant.
    #[inline(always)]
    pub(super) fn push(&mut self, departs: Time, slot: Slot, size: u16) {
        let first = self.stored_packets == 0;
        self.sending = select_unpredictable(first, slot, self.sending);
        self.departs = select_unpredictable(first, departs, self.departs);
        self.stored_packets += 1;
        self.stored_bytes += u64::from(size);
    }

    /// Lets every departure until `now` happen and tells each change of the waiting packets.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        now: Time,
        delay: Span,
        pool: &Pool,
        changed: impl FnMut(Time, u32),
    ) {
        if self.stored_packets > 1 {
            self.advance_crowd(now, delay, pool, changed);
        }
        self.advance_last(now);
    }

    /// Lets the departure of a packet happen that leaves nothing behind.
    #[inline(always)]
    pub(super) fn advance_last(&mut self, now: Time) {
        let gone = self.stored_packets <= 1 && self.departs <= now;
        self.sending = select_unpredictable(gone, Slot::NONE, self.sending);
        self.stored_packets = select_unpredictable(gone, 0, self.stored_packets);
        self.stored_bytes = select_unpredictable(gone, 0, self.stored_bytes);
    }

    /// As `advance`, of all packets that leave others behind.
    #[inline(always)]
    fn advance_crowd(
        &mut self,
        now: Time,
        delay: Span,
        pool: &Pool,
        mut changed: impl FnMut(Time, u32),
    ) {
        while self.stored_packets > 1 && self.departs <= now {
            let gone = pool.at(self.sending);
            self.stored_packets -= 1;
            self.stored_bytes -= u64::from(gone.packet.size);
            changed(self.departs, self.stored_packets - 1);
            self.sending = gone.packet.behind;
            self.departs = gone.arrives - delay;
        }
    }
}
