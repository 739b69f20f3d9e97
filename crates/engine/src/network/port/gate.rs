//! The gate of a port: buffer first, queue discipline second, and the counters of both.

use std::mem::offset_of;

use incastle_queueing::{
    Arrival, CertainMark, ClearPassage, Discipline, DropCause, Marker, PortBuffer, QueueState,
    SharedBuffer, Verdict,
};
use incastle_units::{Amount, Bytes, Packets, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::Backlog;
use crate::core::Digest;
use crate::layout::Stored;
use crate::network::{Identity, Packet};

/// Digest codes of admitted packets that are lost, in addition to those of the verdicts: pushed out by another packet,
/// lost with the link.
const PUSHED_OUT: u64 = 6;
const LOST: u64 = 8;
/// Those of packets that are judged when they are taken out of their queue: marked, dropped.
const MARKED_LATE: u64 = 9;
const DROPPED_LATE: u64 = 10;

/// The counters of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortCounters {
    /// Packets offered.
    pub offered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Bytes on the wire of the packets that were not dropped.
    pub accepted_bytes: u64,
    /// The maximum number of bytes stored at a time, the packet being sent included; zero at unlimited NICs, which keep
    /// no backlog.
    pub max_stored: u64,
}

/// The queue that an arriving packet meets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueView {
    pub(crate) now: Time,
    /// The instant since which the line is idle, if it is.
    pub(crate) idle_since: Option<Time>,
    pub(crate) backlog: Backlog,
}

/// The gate. It begins with the fields that every packet reads.
#[repr(C)]
pub(crate) struct Gate {
    clear: ClearPassage,
    offered: u64,
    accepted_bytes: u64,
    max_stored: u64,
    pub(crate) digest: Digest,
    dropped: u64,
    marked: u64,
    certain: CertainMark,
    buffer: PortBuffer,
    marker: Marker,
    /// Behind a pointer: few markers draw random numbers.
    rng: Box<Xoshiro256PlusPlus>,
    /// Whether the link is down; the buffer then has no room.
    shut: bool,
}

impl Gate {
    /// Bytes of the fields that a packet reads which passes clearly.
    pub(super) const FIRST: usize = offset_of!(Self, dropped);

    pub(crate) fn new(buffer: PortBuffer, marker: Marker, rng: Xoshiro256PlusPlus) -> Self {
        Self {
            clear: ClearPassage::of(buffer, &marker),
            certain: CertainMark::of(&marker),
            buffer,
            shut: false,
            marker,
            rng: Box::new(rng),
            offered: 0,
            accepted_bytes: 0,
            max_stored: 0,
            digest: Digest::default(),
            dropped: 0,
            marked: 0,
        }
    }

    /// Its counters.
    pub(crate) const fn counters(&self) -> PortCounters {
        PortCounters {
            offered: self.offered,
            dropped: self.dropped,
            marked: self.marked,
            accepted_bytes: self.accepted_bytes,
            max_stored: self.max_stored,
        }
    }

    /// Whether every packet passes unmarked.
    pub(crate) fn is_open(&self) -> bool {
        self.is_unmarked() && self.buffer == PortBuffer::Unlimited
    }

    /// The limit of the buffer, where it is in bytes.
    pub(crate) fn capacity(&self) -> Option<Bytes> {
        match self.buffer {
            PortBuffer::Limited(Amount::Bytes(bytes)) => Some(bytes),
            PortBuffer::Limited(Amount::Packets(_)) | PortBuffer::Unlimited => None,
        }
    }

    /// The limit of the buffer, where it has one and the link is up.
    pub(crate) fn limit(&self) -> Option<Amount> {
        match self.buffer {
            PortBuffer::Limited(amount) if !self.shut => Some(amount),
            PortBuffer::Limited(_) | PortBuffer::Unlimited => None,
        }
    }

    /// Whether the buffer alone drops.
    fn is_unmarked(&self) -> bool {
        matches!(self.marker, Marker::DropTail(_))
    }

    /// Every packet has to be judged from now on: it concerns more than buffer and discipline.
    pub(crate) fn judge_all(&mut self) {
        self.clear = ClearPassage::NEVER;
        self.certain = CertainMark::NEVER;
    }

    /// As [`Self::judge_all`], but packets may certainly pass unmarked.
    pub(crate) fn judge_marks(&mut self) {
        self.certain = CertainMark::NEVER;
    }

    /// The bytes of accepted packets.
    pub(super) const fn accepted_bytes(&self) -> u64 {
        self.accepted_bytes
    }

    /// Whether a packet certainly passes unmarked; then it is counted.
    #[inline(always)]
    pub(super) fn passes_clearly(&mut self, now: Time, queue: Stored, packet: &Packet) -> bool {
        let stored = queue.bytes + u64::from(packet.size);
        let clear = self.clear.allows(queue.packets, stored);
        if clear {
            self.max_stored = self.max_stored.max(stored);
            self.enter(now, Verdict::Admit, packet);
        }
        clear
    }

    /// Whether a packet is certainly admitted and marked; then it is counted.
    #[inline]
    pub(super) fn marks_certainly(&mut self, now: Time, queue: Backlog, packet: &Packet) -> bool {
        let (packets, bytes) = queue.stored();
        let marks = self
            .certain
            .applies(queue.waiting_packets, queue.waiting_bytes)
            && packet.marks.ecn().is_capable()
            && self.buffer.admits(packets, bytes, packet.size());
        if marks {
            self.note(now, Verdict::Mark, queue, packet);
        }
        marks
    }

    /// Counts a packet that passes an open gate.
    #[inline(always)]
    pub(crate) fn pass(&mut self, now: Time, packet: &Packet) {
        self.enter(now, Verdict::Admit, packet);
    }

    /// Judges a packet and counts the verdict.
    #[inline(always)]
    pub(crate) fn judge(
        &mut self,
        queue: QueueView,
        packet: &Packet,
        memory: Option<&mut SharedBuffer>,
    ) -> Verdict {
        let verdict = self.decide(queue, packet, memory);
        self.note(queue.now, verdict, queue.backlog, packet);
        verdict
    }

    /// Counts a verdict.
    #[inline(always)]
    pub(super) fn note(&mut self, now: Time, verdict: Verdict, before: Backlog, packet: &Packet) {
        self.enter(now, verdict, packet);
        if !matches!(verdict, Verdict::Drop(_)) {
            let stored = before.stored_bytes + u64::from(packet.size);
            self.max_stored = self.max_stored.max(stored);
        }
    }

    /// Whether the buffer alone has room for a packet.
    pub(crate) fn admits(&self, backlog: &Backlog, packet: &Packet) -> bool {
        let (packets, bytes) = backlog.stored();
        self.buffer.admits(packets, bytes, packet.size())
    }

    /// Counts the verdict on an admitted packet that was taken out of its queue.
    pub(crate) fn judge_late(&mut self, now: Time, verdict: Verdict, packet: &Packet) {
        let code = match verdict {
            Verdict::Admit => return,
            Verdict::Mark => {
                self.marked += 1;
                MARKED_LATE
            }
            Verdict::Drop(_) => {
                self.dropped += 1;
                self.accepted_bytes -= u64::from(packet.size);
                DROPPED_LATE
            }
        };
        self.mix(now, code, packet);
    }

    /// Counts an admitted packet that is pushed out by another.
    pub(crate) fn push_out(&mut self, now: Time, packet: &Packet) {
        self.dropped += 1;
        self.accepted_bytes -= u64::from(packet.size);
        self.mix(now, PUSHED_OUT, packet);
    }

    /// The link is down: nothing passes, by a buffer without room, which costs other packets nothing. Returns the port's
    /// buffer.
    pub(crate) fn shut(&mut self) -> PortBuffer {
        assert!(!self.shut, "a link that is down does not fail");
        self.shut = true;
        let nothing = PortBuffer::Limited(Amount::Packets(Packets::ZERO));
        std::mem::replace(&mut self.buffer, nothing)
    }

    /// Whether the link is down.
    pub(crate) const fn is_shut(&self) -> bool {
        self.shut
    }

    /// The link has recovered, with its buffer.
    pub(crate) fn reopen(&mut self, buffer: PortBuffer) {
        assert!(self.shut, "a link that recovers was down");
        self.shut = false;
        self.buffer = buffer;
    }

    /// Counts a packet on the wire that is lost with the link.
    pub(crate) fn lose(&mut self, now: Time, packet: &Packet) {
        self.dropped += 1;
        self.mix(now, LOST, packet);
    }

    /// Counts a packet that is lost on the wire, which it has occupied.
    pub(crate) fn lose_on_wire(&mut self, now: Time, cause: DropCause, packet: &Packet) {
        self.dropped += 1;
        self.mix(now, dropped(cause), packet);
    }

    /// Counts a stored packet that is lost with the link.
    pub(crate) fn lose_stored(&mut self, now: Time, packet: &Packet) {
        self.accepted_bytes -= u64::from(packet.size);
        self.lose(now, packet);
    }

    /// An admitted packet was taken back: it is at the host.
    pub(super) fn take_back(&mut self, packet: &Packet) {
        self.offered -= 1;
        self.accepted_bytes -= u64::from(packet.size);
    }

    /// The same packet is here again.
    pub(super) fn take_again(&mut self, packet: &Packet) {
        self.offered += 1;
        self.accepted_bytes += u64::from(packet.size);
    }

    /// Counts a packet that has no path left.
    pub(crate) fn refuse(&mut self, now: Time, packet: &Packet) {
        self.enter(now, Verdict::Drop(DropCause::LinkDown), packet);
    }

    #[inline(always)]
    fn enter(&mut self, now: Time, verdict: Verdict, packet: &Packet) {
        self.offered += 1;
        let code = match verdict {
            Verdict::Admit => 0,
            Verdict::Mark => {
                self.marked += 1;
                1
            }
            Verdict::Drop(cause) => {
                self.dropped += 1;
                dropped(cause)
            }
        };
        if code < 2 {
            self.accepted_bytes += u64::from(packet.size);
        }
        self.mix(now, code, packet);
    }

    #[inline(always)]
    fn mix(&mut self, now: Time, code: u64, packet: &Packet) {
        let Identity { head, body } = packet.identity();
        self.digest
            .mix(now.as_ps() ^ body.rotate_left(29), head ^ code << 60);
    }

    #[inline(always)]
    fn decide(
        &mut self,
        QueueView {
            now,
            idle_since,
            backlog,
        }: QueueView,
        packet: &Packet,
        memory: Option<&mut SharedBuffer>,
    ) -> Verdict {
        let arrival = Arrival {
            size: packet.size(),
            ecn: packet.marks.ecn(),
        };
        let queue = QueueState {
            now,
            waiting_packets: Packets::new(u64::from(backlog.waiting_packets)),
            waiting_bytes: Bytes::new(backlog.waiting_bytes),
            idle_since,
        };
        let (packets, bytes) = backlog.stored();
        if !self.buffer.admits(packets, bytes, arrival.size) {
            if self.shut {
                return Verdict::Drop(DropCause::LinkDown);
            }
            self.marker.on_refused(&queue, &arrival);
            return Verdict::Drop(DropCause::BufferFull);
        }
        let Some(memory) = memory else {
            return self.marker.on_arrival(&queue, &arrival, &mut *self.rng);
        };
        if let Err(cause) = memory.admit(bytes, arrival.size) {
            self.marker.on_refused(&queue, &arrival);
            return Verdict::Drop(cause);
        }
        let verdict = self.marker.on_arrival(&queue, &arrival, &mut *self.rng);
        if matches!(verdict, Verdict::Drop(_)) {
            memory.release(arrival.size);
        }
        verdict
    }
}

/// The digest code of a dropped packet.
const fn dropped(cause: DropCause) -> u64 {
    2 + cause as u64
}

#[cfg(test)]
mod tests {
    use incastle_queueing::{DropTail, Threshold, ThresholdConfig};
    use incastle_units::Ecn;
    use proptest::prelude::*;

    use super::*;
    use crate::core::{Purpose, Source, substream};
    use incastle_routing::Marks;

    fn amount(packets: bool, limit: u64) -> Amount {
        if packets {
            Amount::Packets(Packets::new(limit))
        } else {
            Amount::Bytes(Bytes::new(1_500 * limit))
        }
    }

    fn gate(buffer: Option<Amount>, marking_threshold: Option<Amount>) -> Gate {
        let marker = marking_threshold.map_or(Marker::DropTail(DropTail), |limit| {
            Marker::Threshold(Threshold::new(ThresholdConfig::new(limit)))
        });
        let buffer = buffer.map_or(PortBuffer::Unlimited, PortBuffer::Limited);
        Gate::new(
            buffer,
            marker,
            substream(1, Source::Port, 0, Purpose::Marking),
        )
    }

    proptest! {
        // The fast path passes and marks as the gate judges, and writes the same counters. Where all limits are in packets,
        // it judges all that are not dropped.
        #[test]
        fn the_fast_path_judges_as_the_gate(
            limits in prop::array::uniform2(prop::option::of((any::<bool>(), 0..12_u64))),
            waiting in prop::option::of(prop::collection::vec(40..1_501_u64, 0..12)),
            size in 40..1_501_u16,
        ) {
            let [buffer, mark] = limits.map(|limit| limit.map(|(packets, limit)| amount(packets, limit)));
            let mut backlog = Backlog::default();
            if let Some(waiting) = &waiting {
                backlog.waiting_packets = waiting.len() as u32;
                backlog.waiting_bytes = waiting.iter().sum();
                backlog.stored_packets = backlog.waiting_packets + 1;
                backlog.stored_bytes = backlog.waiting_bytes + 1_500;
            }
            let packet = Packet { size, marks: Marks::of(Ecn::Ect0), ..Packet::EMPTY };
            let (mut fast, mut slow) = (gate(buffer, mark), gate(buffer, mark));
            let stored = Stored { packets: backlog.stored_packets, bytes: backlog.stored_bytes };
            let clear = fast.passes_clearly(Time::ZERO, stored, &packet);
            let marked = !clear && fast.marks_certainly(Time::ZERO, backlog, &packet);
            let verdict = slow.judge(
                QueueView {
                    now: Time::ZERO,
                    idle_since: None,
                    backlog,
                },
                &packet,
                None,
            );
            if clear || marked {
                prop_assert_eq!(verdict, if clear { Verdict::Admit } else { Verdict::Mark });
                prop_assert_eq!(fast.counters(), slow.counters());
                prop_assert_eq!(fast.digest, slow.digest);
            }
            if limits.iter().flatten().all(|(packets, _)| *packets) {
                prop_assert_eq!(clear, verdict == Verdict::Admit);
                prop_assert_eq!(marked, verdict == Verdict::Mark);
            }
        }
    }
}
