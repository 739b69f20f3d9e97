//! The data that a receiver holds until its application takes them: packets in order, and on a message
//! socket the complete messages (draft-gg-udt-03, section 5.3).
//!
//! Works with lengths; the bytes are elsewhere, under the same numbers. Nothing is stored if packets
//! arrive in order and are taken immediately. Leaves out: handing out the part of a message.

use std::collections::VecDeque;

use super::wire::{DataHeader, Place, SocketKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Missing,
    Held,
    /// Part of a message that waits for the application.
    Ready,
    /// Taken, or given up.
    Gone,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    message: u32,
    length: u16,
    place: Place,
    state: State,
}

const MISSING: Slot = Slot {
    message: 0,
    length: 0,
    place: Place::Middle,
    state: State::Missing,
};

/// A complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageRange {
    /// Its first packet, counted from 0.
    pub first: u64,
    /// Its last packet.
    pub last: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Packets from `base` on.
#[derive(Debug, Clone)]
pub(super) struct Reassembly {
    /// Everything below was taken or given up.
    base: u64,
    slots: VecDeque<Slot>,
    stream: bool,
    /// Complete messages in the order in which the application gets them.
    ready: VecDeque<MessageRange>,
    /// Message sockets: where the message in line begins, and up to where it was looked at.
    begun: u64,
    scanned: u64,
}

impl Reassembly {
    pub(super) const fn new(kind: SocketKind) -> Self {
        Self {
            base: 0,
            slots: VecDeque::new(),
            stream: matches!(kind, SocketKind::Stream),
            ready: VecDeque::new(),
            begun: 0,
            scanned: 0,
        }
    }

    pub(super) const fn base(&self) -> u64 {
        self.base
    }

    /// Whether a packet has not arrived and is not given up; `packet` is at least `base`.
    pub(super) fn is_missing(&self, packet: u64) -> bool {
        assert!(packet >= self.base, "what was taken is not missing");
        let slot = self.slots.get((packet - self.base) as usize);
        slot.is_none_or(|slot| slot.state == State::Missing)
    }

    /// The next packet in order arrived and is taken immediately: nothing is stored. Gives false
    /// where it must be stored.
    #[inline]
    pub(super) fn pass(&mut self, packet: u64) -> bool {
        let passes = self.stream && self.slots.is_empty() && packet == self.base;
        self.base += u64::from(passes);
        passes
    }

    /// Stores a packet that was missing. `next` is the first packet missing afterwards. Gives how many
    /// packets contradicted their neighbours and were given up.
    pub(super) fn store(&mut self, packet: u64, header: &DataHeader, next: u64) -> u64 {
        let fills_hole = packet + 1 < self.base + self.slots.len() as u64;
        *self.slot(packet) = Slot {
            message: header.message,
            length: header.length,
            place: header.place,
            state: State::Held,
        };
        if self.stream {
            return 0;
        }
        let broken = self.collect(next);
        if packet >= next && !header.in_order && (fills_hole || header.place.is_last()) {
            self.collect_around(packet);
        }
        broken
    }

    /// Gives up the packets of `first..=last` that are missing, or held as part of `message`.
    pub(super) fn give_up(&mut self, message: u32, first: u64, last: u64) {
        for packet in first.max(self.base)..=last {
            let slot = self.slot(packet);
            let of_it = slot.state == State::Held && slot.message == message;
            if of_it || slot.state == State::Missing {
                slot.state = State::Gone;
            }
        }
    }

    /// Looks for messages below `next` after something was given up.
    pub(super) fn advance(&mut self, next: u64) -> u64 {
        let broken = if self.stream { 0 } else { self.collect(next) };
        self.trim(next);
        broken
    }

    fn slot(&mut self, packet: u64) -> &mut Slot {
        let index = (packet - self.base) as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, MISSING);
        }
        &mut self.slots[index]
    }

    /// Forgets the packets that are gone at the beginning.
    fn trim(&mut self, next: u64) {
        while self.base < next
            && let Some(front) = self.slots.front()
            && front.state == State::Gone
        {
            self.slots.pop_front();
            self.base += 1;
        }
        self.begun = self.begun.max(self.base);
        self.scanned = self.scanned.max(self.begun);
        assert!(self.base <= next, "only what arrived is forgotten");
    }

    /// Finds the messages that are complete below `next`; gives how many packets cannot be part of any.
    fn collect(&mut self, next: u64) -> u64 {
        let mut broken = 0;
        let (mut start, mut at) = (self.begun, self.scanned);
        while at < next {
            let slot = self.slots[(at - self.base) as usize];
            let begins = at == start;
            if slot.state != State::Held {
                broken += self.discard(start, at);
                start = at + 1;
            } else if begins != slot.place.is_first() || !self.continues(start, slot) {
                // The earlier packets have no end; the new ones may have no beginning.
                broken += self.discard(start, at);
                start = at;
                if !slot.place.is_first() {
                    broken += self.discard(at, at + 1);
                    start = at + 1;
                } else if slot.place.is_last() {
                    self.complete(at, at);
                    start = at + 1;
                }
            } else if slot.place.is_last() {
                self.complete(start, at);
                start = at + 1;
            }
            at += 1;
        }
        (self.begun, self.scanned) = (start, at);
        self.trim(next);
        broken
    }

    fn continues(&self, start: u64, slot: Slot) -> bool {
        self.slots[(start - self.base) as usize].message == slot.message
    }

    /// Gives up `first..end`, which cannot become a message.
    fn discard(&mut self, first: u64, end: u64) -> u64 {
        let mut count = 0;
        for packet in first..end {
            let slot = &mut self.slots[(packet - self.base) as usize];
            if slot.state == State::Held {
                slot.state = State::Gone;
                count += 1;
            }
        }
        count
    }

    fn complete(&mut self, first: u64, last: u64) {
        let mut bytes = 0;
        for packet in first..=last {
            let slot = &mut self.slots[(packet - self.base) as usize];
            slot.state = State::Ready;
            bytes += u64::from(slot.length);
        }
        self.ready.push_back(MessageRange { first, last, bytes });
    }

    /// A message that needs not wait for those before it: looks whether all of it is there.
    fn collect_around(&mut self, packet: u64) {
        let message = self.slots[(packet - self.base) as usize].message;
        let held = |slot: &Slot| slot.state == State::Held && slot.message == message;
        let index = (packet - self.base) as usize;
        let mut first = index;
        while !self.slots[first].place.is_first() {
            if first == 0 || !held(&self.slots[first - 1]) {
                return;
            }
            first -= 1;
        }
        let mut last = index;
        while !self.slots[last].place.is_last() {
            if !self.slots.get(last + 1).is_some_and(held) {
                return;
            }
            last += 1;
        }
        self.complete(self.base + first as u64, self.base + last as u64);
    }

    /// How many bytes have arrived and wait for others, or for the application.
    pub(super) fn held(&self) -> u64 {
        let held = |slot: &&Slot| matches!(slot.state, State::Held | State::Ready);
        let slots = self.slots.iter().filter(held);
        slots.map(|slot| u64::from(slot.length)).sum()
    }

    /// The number of packets of a stream below `next` that the application could take.
    pub(super) fn readable(&self, next: u64) -> u64 {
        if self.stream { next - self.base } else { 0 }
    }

    /// The application takes `packets` of a stream, which lie below `next`; gives their bytes.
    pub(super) fn consume(&mut self, packets: u64, next: u64) -> u64 {
        assert!(
            packets <= self.readable(next),
            "only what is there is taken"
        );
        let taken = self.slots.drain(..packets as usize);
        let bytes = taken.map(|slot| u64::from(slot.length)).sum();
        self.base += packets;
        bytes
    }

    /// The next complete message, which stays.
    pub(super) fn next_message(&self) -> Option<MessageRange> {
        self.ready.front().copied()
    }

    /// The application takes the next complete message.
    pub(super) fn take_message(&mut self, next: u64) -> Option<MessageRange> {
        let message = self.ready.pop_front()?;
        for packet in message.first..=message.last {
            self.slot(packet).state = State::Gone;
        }
        self.trim(next);
        Some(message)
    }
}
