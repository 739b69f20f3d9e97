//! The receiver half: the data that arrived, the data missing, and the NAKs that report them
//! (draft-gg-udt-03, section 6.2). A NAK leaves immediately on a gap, and again later (`reports`).
//!
//! ACKs are in `acknowledgement`. Leaves out: reneging; acknowledged data are kept.

use std::collections::VecDeque;

use incastle_units::{Ecn, Time};

use super::acknowledgement::Acknowledgement;
use super::arrival_speed::ArrivalSpeed;
use super::in_flight::Drop;
use super::loss_list::{Full, LossList, LossRange};
use super::reassembly::{MessageRange, Reassembly};
use super::received::Received;
use super::reports::{Repeat, Reports};
use super::sequence::{Number, Numbering};
use super::stats::Stats;
use super::wire::{AckCounts, DataHeader, NumberRange, SocketKind};

/// Ranges in one NAK: with a header they fit the smallest packet.
pub(super) const MAX_NAK_RANGES: usize = 8;

/// The result of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was refused.
    Refused,
    /// It brought nothing new.
    Nothing,
    /// It is new: this packet, counted from 0.
    New(u64),
}

/// The parameters of a receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiverSetup {
    pub(super) first: Number,
    pub(super) kind: SocketKind,
    pub(super) payload: u16,
    pub(super) buffer: u32,
    pub(super) reads_at_once: bool,
    pub(super) max_loss_ranges: u32,
}

/// The receiver half. Packets are counted from 0.
///
/// Invariant: `reassembly.base() <= next <= end <= base + buffer`, and `losses` lies in `next..end`.
pub(super) struct Receiver {
    setup: ReceiverSetup,
    pub(super) numbering: Numbering,
    /// Everything below has arrived, or was given up by the sender.
    pub(super) next: u64,
    /// The packet after the largest that arrived.
    end: u64,
    reassembly: Reassembly,
    losses: LossList,
    reports: Reports,
    /// Ranges to be reported now, in this order.
    naks: VecDeque<LossRange>,
    pub(super) ack: Acknowledgement,
    pub(super) speed: ArrivalSpeed,
    /// The counts of accurate ACKs.
    pub(super) counts: AckCounts,
    pub(super) newest: Newest,
}

/// The packet that arrived last for the first time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Newest {
    pub(super) number: Number,
    pub(super) at: Time,
}

impl Receiver {
    pub(super) fn new(setup: ReceiverSetup) -> Self {
        Self {
            numbering: Numbering::new(setup.first),
            next: 0,
            end: 0,
            reassembly: Reassembly::new(setup.kind),
            losses: LossList::new(setup.max_loss_ranges as usize),
            reports: Reports::new(setup.max_loss_ranges as usize),
            naks: VecDeque::new(),
            ack: Acknowledgement::new(setup.buffer),
            speed: ArrivalSpeed::default(),
            counts: AckCounts::default(),
            newest: Newest::default(),
            setup,
        }
    }

    /// Takes the values that the handshake agreed. Nothing has arrived yet.
    pub(super) fn agree(&mut self, first: Number, payload: u16) {
        self.setup.payload = payload;
        self.setup.first = first;
        self.numbering = Numbering::new(first);
    }

    /// The clocks of repeated NAKs have changed: from the next report on.
    pub(super) fn set_repeat(&mut self, repeat: Repeat) {
        self.reports.repeat = repeat;
    }

    const fn is_stream(&self) -> bool {
        matches!(self.setup.kind, SocketKind::Stream)
    }

    /// Packets that the buffer still takes beyond `next`.
    pub(super) fn free(&self) -> u32 {
        (self.reassembly.base() + u64::from(self.setup.buffer) - self.next) as u32
    }

    /// The right edge of the buffer.
    pub(super) fn edge(&self) -> u64 {
        self.reassembly.base() + u64::from(self.setup.buffer)
    }

    /// A data packet arrived.
    pub(super) fn handle(
        &mut self,
        now: Time,
        header: &DataHeader,
        received: Received,
        stats: &mut Stats,
    ) -> Fate {
        if header.length > self.setup.payload {
            stats.refused.long_data += 1;
            return Fate::Refused;
        }
        stats.packets_received += 1;
        stats.ce_received += u64::from(received.ecn == Ecn::Ce);
        let packet = self.numbering.index(header.sequence, self.next);
        let Some(packet) = packet.filter(|packet| *packet >= self.next) else {
            stats.duplicates_received += 1;
            return Fate::Nothing;
        };
        if packet >= self.edge() {
            stats.refused.beyond_buffer += 1;
            return Fate::Refused;
        }
        let stamp = received.stamp.unwrap_or(now);
        self.speed.on_arrival(stamp, header.sequence);
        if packet < self.end && !self.reassembly.is_missing(packet) {
            stats.duplicates_received += 1;
            return Fate::Nothing;
        }
        if self.arrive(now, packet).is_err() {
            stats.refused.loss_list_full += 1;
            return Fate::Refused;
        }
        self.keep(packet, header, stats);
        self.check();
        self.count(now, header.sequence, received.ecn);
        self.ack.on_new(now, self.next, self.edge());
        Fate::New(packet)
    }

    /// Counts a packet that arrived for the first time.
    fn count(&mut self, now: Time, number: Number, ecn: Ecn) {
        let counts = &mut self.counts;
        counts.arrived = counts.arrived.wrapping_add(1);
        counts.ce = counts.ce.wrapping_add(u32::from(ecn == Ecn::Ce));
        let ect = ecn.is_capable() && ecn != Ecn::Ce;
        counts.ect = counts.ect.wrapping_add(u32::from(ect));
        self.newest = Newest { number, at: now };
    }

    fn count_lost(&mut self, packets: u64) {
        self.counts.lost = self.counts.lost.wrapping_add(packets as u32);
    }

    /// Moves `next` and `end` past a packet that was missing; notes the gap that it leaves.
    fn arrive(&mut self, now: Time, packet: u64) -> Result<(), Full> {
        if packet == self.end {
            self.end += 1;
            if self.losses.is_empty() {
                self.next = self.end;
            }
            return Ok(());
        }
        if packet > self.end {
            let lost = self.losses.insert(self.end, packet)?;
            self.count_lost(lost);
            let range = LossRange {
                start: self.end,
                end: packet,
            };
            self.naks.push_back(range);
            self.reports.add(now, range);
            self.end = packet + 1;
            return Ok(());
        }
        if !self.losses.remove(packet) {
            return Err(Full);
        }
        self.next = self.losses.first().unwrap_or(self.end);
        Ok(())
    }

    fn keep(&mut self, packet: u64, header: &DataHeader, stats: &mut Stats) {
        if self.setup.reads_at_once && self.reassembly.pass(packet) {
            stats.delivered += u64::from(header.length);
            return;
        }
        let broken = self.reassembly.store(packet, header, self.next);
        stats.refused.broken_messages += broken;
        if self.setup.reads_at_once {
            self.read_all(stats);
        }
    }

    fn read_all(&mut self, stats: &mut Stats) {
        if self.is_stream() {
            let readable = self.reassembly.readable(self.next);
            stats.delivered += self.reassembly.consume(readable, self.next);
            return;
        }
        while let Some(message) = self.reassembly.take_message(self.next) {
            stats.delivered += message.bytes;
            stats.messages_delivered += 1;
        }
    }

    /// Bytes received that the application has not taken.
    pub(super) fn held(&self) -> u64 {
        self.reassembly.held()
    }

    /// Packets of a stream that the application could take.
    pub(super) fn readable(&self) -> u64 {
        self.reassembly.readable(self.next)
    }

    /// The application takes packets of a stream.
    pub(super) fn consume(&mut self, now: Time, packets: u64, stats: &mut Stats) {
        stats.delivered += self.reassembly.consume(packets, self.next);
        self.ack.on_room(now, self.next, self.edge());
    }

    pub(super) fn next_message(&self) -> Option<MessageRange> {
        self.reassembly.next_message()
    }

    /// The application takes a message.
    pub(super) fn take_message(&mut self, now: Time, stats: &mut Stats) -> Option<MessageRange> {
        let message = self.reassembly.take_message(self.next)?;
        stats.delivered += message.bytes;
        stats.messages_delivered += 1;
        self.ack.on_room(now, self.next, self.edge());
        Some(message)
    }

    /// The first packet whose bytes may still be read.
    pub(super) fn base(&self) -> u64 {
        self.reassembly.base()
    }

    /// The sender gives up a message; gives whether that can be.
    pub(super) fn on_drop(&mut self, now: Time, drop: Drop, stats: &mut Stats) -> bool {
        let Drop {
            message,
            first,
            last,
        } = drop;
        let first = self.numbering.index(first, self.next);
        let last = self.numbering.index(last, self.next);
        let (Some(first), Some(last)) = (first.or(Some(0)), last) else {
            return false;
        };
        if self.is_stream() || first > last || last >= self.edge() {
            return false;
        }
        if last < self.next {
            // It comes again: our ACK was lost, and is repeated until an ACK2 confirms it.
            return true;
        }
        // A request may overtake data of other messages: packets before it are missing.
        if first > self.end && self.losses.insert(self.end, first).is_err() {
            return false;
        }
        self.end = self.end.max(last + 1);
        for packet in first.max(self.next)..=last {
            self.losses.remove(packet);
        }
        self.reassembly.give_up(message, first, last);
        self.next = self.losses.first().unwrap_or(self.end);
        stats.refused.broken_messages += self.reassembly.advance(self.next);
        if self.setup.reads_at_once {
            self.read_all(stats);
        }
        self.check();
        self.ack.on_new(now, self.next, self.edge());
        true
    }

    /// The invariant, after something arrived or was given up.
    fn check(&self) {
        assert!(self.base() <= self.next, "what is missing is not taken");
        assert!(self.next <= self.end, "only what was sent is expected");
        assert!(self.end <= self.edge(), "what arrives fits the buffer");
        assert!(
            self.losses.is_empty() == (self.next == self.end),
            "what is missing is in the loss list"
        );
    }

    /// Whether a NAK or an ACK is due.
    #[inline]
    pub(super) fn has_report(&self) -> bool {
        !self.naks.is_empty() | self.ack.is_due()
    }

    /// When the next periodic report is due, or NEVER.
    #[inline]
    pub(super) fn nak_at(&self) -> Time {
        self.reports.at()
    }

    /// Reports the gaps again that are still missing and due.
    pub(super) fn on_nak_timer(&mut self, now: Time) {
        if now < self.reports.at() {
            return;
        }
        let (losses, naks) = (&self.losses, &mut self.naks);
        self.reports.expire(now, |range| {
            let before = naks.len();
            naks.extend(losses.within(range));
            naks.len() > before
        });
    }

    /// The ranges of the next NAK.
    pub(super) fn poll_nak(&mut self, out: &mut Vec<NumberRange>) -> bool {
        out.clear();
        let count = self.naks.len().min(MAX_NAK_RANGES);
        for range in self.naks.drain(..count) {
            out.push(NumberRange {
                first: self.numbering.wire(range.start),
                last: self.numbering.wire(range.end - 1),
            });
        }
        !out.is_empty()
    }
}
