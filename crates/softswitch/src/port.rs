//! An egress port in real time: a rate, a buffer and a discipline of `queueing`, then a link with a delay.
//! Time comes in as an argument.
//!
//! The port works as the engine's. A packet's departure is known on its arrival: it follows the one before at
//! the port's rate. A packet waits until its transmission begins, and the discipline sees the waiting packets.
//! Departures are in virtual time: if the machine sends a packet late, the next ones do not move.
//!
//! Leaves out: several queues, memory shared by ports, rates that change.

use std::collections::VecDeque;
use std::ops::Add;

pub use incastle_links::Framing;
use incastle_queueing::{
    Arrival, Discipline, DropCause, Marker, PortBuffer, QueueConfig, QueueState, Verdict,
};
use incastle_units::{Bytes, Ecn, Packets, Rate, Serializer, Span, Time};
use rand_core::Rng;
use serde::Serialize;

use crate::ip;
use crate::samples::QueueLength;

/// The parameters of a port and of the link behind it. They must pass the checks of `queueing`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PortConfig {
    /// The rate; IP headers and framing count.
    pub rate: Rate,
    /// The framing of the link layer, which every size includes.
    pub framing: Framing,
    /// The delay of the link.
    pub delay: Span,
    /// The limit on what waits and what is being sent.
    pub buffer: PortBuffer,
    /// The discipline.
    pub queue: QueueConfig,
    /// Clear the ECN field of every packet, as some paths do.
    pub bleach: bool,
    /// Keep a record of every arrival.
    pub record: bool,
}

/// A packet in the port or on the link.
#[derive(Debug)]
struct Held {
    /// When its sending begins: until then it waits.
    begins: Time,
    /// When it arrives at the receiver.
    due: Time,
    /// Its bytes on the wire.
    size: Bytes,
    packet: Vec<u8>,
}

/// Counts of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets that came.
    pub arrived: u64,
    /// ECN-capable packets among them.
    pub ect: u64,
    /// Packets that the discipline marked.
    pub marked: u64,
    /// Packets that the buffer had no room for.
    pub dropped_full: u64,
    /// Packets that the discipline dropped.
    pub dropped_early: u64,
    /// Packets that left.
    pub left: u64,
    /// Their bytes, IP headers and framing included.
    pub left_bytes: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            arrived: self.arrived + other.arrived,
            ect: self.ect + other.ect,
            marked: self.marked + other.marked,
            dropped_full: self.dropped_full + other.dropped_full,
            dropped_early: self.dropped_early + other.dropped_early,
            left: self.left + other.left,
            left_bytes: self.left_bytes + other.left_bytes,
        }
    }
}

/// What became of an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was stored.
    Stored,
    /// It was marked and stored.
    Marked,
    /// The buffer had no room.
    DroppedFull,
    /// The discipline dropped it.
    DroppedEarly,
}

/// An arrival as the port saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// The instant.
    pub at: Time,
    /// The packet's bytes on the wire.
    pub size: Bytes,
    /// Its ECN field.
    pub ecn: Ecn,
    /// What became of it.
    pub outcome: Outcome,
}

/// A port and its link.
pub struct Port {
    discipline: Marker,
    buffer: PortBuffer,
    serializer: Serializer,
    framing: Framing,
    delay: Span,
    bleach: bool,
    /// When the port is free again.
    free_at: Time,
    /// In the order of arrival, which is that of departure.
    held: VecDeque<Held>,
    /// How many of these, from the front, no longer wait.
    begun: usize,
    waiting_bytes: u64,
    max_stored_bytes: u64,
    counts: Counts,
    /// Those before the last restart.
    earlier: Counts,
    queue: QueueLength,
    record: Option<Vec<Recorded>>,
}

impl Port {
    /// An idle port.
    pub fn new(config: &PortConfig) -> Self {
        Self {
            discipline: config.queue.build(config.rate),
            buffer: config.buffer,
            serializer: Serializer::new(config.rate),
            framing: config.framing,
            delay: config.delay,
            bleach: config.bleach,
            free_at: Time::ZERO,
            held: VecDeque::new(),
            begun: 0,
            waiting_bytes: 0,
            max_stored_bytes: 0,
            counts: Counts::default(),
            earlier: Counts::default(),
            queue: QueueLength::default(),
            record: config.record.then(Vec::new),
        }
    }

    /// An IP packet arrived at `now`.
    pub fn arrive(&mut self, now: Time, mut packet: Vec<u8>, rng: &mut dyn Rng) -> Outcome {
        self.advance(now);
        if self.bleach {
            ip::bleach(&mut packet);
        }
        let (size, ecn) = (self.wire_bytes(&packet), ip::ecn(&packet));
        let outcome = self.judge(now, &Arrival { size, ecn }, rng);
        self.counts.arrived += 1;
        self.counts.ect += u64::from(ecn.is_capable());
        match outcome {
            Outcome::Stored => {}
            Outcome::Marked => {
                ip::mark(&mut packet);
                self.counts.marked += 1;
            }
            Outcome::DroppedFull => self.counts.dropped_full += 1,
            Outcome::DroppedEarly => self.counts.dropped_early += 1,
        }
        if matches!(outcome, Outcome::Stored | Outcome::Marked) {
            self.store(now, size, packet);
        }
        if let Some(record) = &mut self.record {
            record.push(Recorded {
                at: now,
                size,
                ecn,
                outcome,
            });
        }
        outcome
    }

    fn judge(&mut self, now: Time, arrival: &Arrival, rng: &mut dyn Rng) -> Outcome {
        let state = self.state(now);
        if !self.admits(now, arrival.size) {
            self.discipline.on_refused(&state, arrival);
            return Outcome::DroppedFull;
        }
        match self.discipline.on_arrival(&state, arrival, rng) {
            Verdict::Admit => Outcome::Stored,
            Verdict::Mark => Outcome::Marked,
            Verdict::Drop(DropCause::BufferFull | DropCause::SharedLimit) => Outcome::DroppedFull,
            Verdict::Drop(DropCause::Early | DropCause::NotEcnCapable) => Outcome::DroppedEarly,
            Verdict::Drop(
                DropCause::LinkDown
                | DropCause::LostOnWire
                | DropCause::Corrupted
                | DropCause::HeadroomFull
                | DropCause::PauseWatchdog,
            ) => unreachable!("a discipline has no links and no pauses"),
        }
    }

    fn wire_bytes(&self, packet: &[u8]) -> Bytes {
        let ip_bytes = u16::try_from(packet.len()).expect("an IP packet has at most 65,535 bytes");
        Bytes::new(u64::from(self.framing.wire_bytes(ip_bytes)))
    }

    fn store(&mut self, now: Time, size: Bytes, packet: Vec<u8>) {
        let begins = self.free_at.max(now);
        self.free_at = begins.saturating_add(self.serializer.span(size));
        self.waiting_bytes += size.count();
        let stored = self.waiting_bytes + self.sending(now).1;
        self.max_stored_bytes = self.max_stored_bytes.max(stored);
        self.held.push_back(Held {
            begins,
            due: self.free_at.saturating_add(self.delay),
            size,
            packet,
        });
        self.advance(now);
        self.queue.set(now, self.waiting());
    }

    /// The queue's length in packets: without the one in transmission and those on the link.
    pub fn waiting(&self) -> usize {
        self.held.len() - self.begun
    }

    /// The queue's length in bytes.
    pub const fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    fn state(&self, now: Time) -> QueueState {
        QueueState {
            now,
            waiting_packets: Packets::new(self.waiting() as u64),
            waiting_bytes: Bytes::new(self.waiting_bytes),
            idle_since: (self.free_at <= now).then_some(self.free_at),
        }
    }

    /// The buffer holds what waits and what is being sent.
    fn admits(&self, now: Time, size: Bytes) -> bool {
        let (packets, bytes) = self.sending(now);
        self.buffer.admits(
            Packets::new(self.waiting() as u64 + packets),
            Bytes::new(self.waiting_bytes + bytes),
            size,
        )
    }

    /// The packet that is being sent: how many, 0 or 1, and its bytes.
    fn sending(&self, now: Time) -> (u64, u64) {
        match self.begun.checked_sub(1) {
            Some(last) if self.free_at > now => (1, self.held[last].size.count()),
            _ => (0, 0),
        }
    }

    /// Brings the queue to that instant: packets whose sending has begun wait no longer.
    pub fn advance(&mut self, now: Time) {
        while let Some(next) = self.held.get(self.begun).filter(|next| next.begins <= now) {
            self.waiting_bytes -= next.size.count();
            let begins = next.begins;
            self.begun += 1;
            self.queue.set(begins, self.waiting());
        }
    }

    /// When the next packet is due at the end of the link.
    pub fn next_departure(&self) -> Option<Time> {
        self.held.front().map(|held| held.due)
    }

    /// The next packet that is due by `now`, and when it was.
    pub fn depart(&mut self, now: Time) -> Option<(Time, Vec<u8>)> {
        if self.next_departure()? > now {
            return None;
        }
        let due = self.next_departure()?;
        self.advance(due);
        let held = self.held.pop_front()?;
        self.begun -= 1;
        self.counts.left += 1;
        self.counts.left_bytes += held.size.count();
        Some((due, held.packet))
    }

    /// Forgets what was measured, not what is held.
    pub fn restart(&mut self, now: Time) {
        self.advance(now);
        self.earlier = self.all_counts();
        self.counts = Counts::default();
        self.queue.restart(now);
    }

    /// The counts since the start or restart.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The counts since the start, whatever restarts there were.
    pub fn all_counts(&self) -> Counts {
        self.earlier + self.counts
    }

    /// The queue's length since then, up to `now`.
    pub fn queue(&mut self, now: Time) -> &QueueLength {
        self.advance(now);
        let waiting = self.waiting();
        self.queue.set(now, waiting);
        &self.queue
    }

    /// The most bytes that the port stored at once, the packet being sent included.
    pub const fn max_stored_bytes(&self) -> u64 {
        self.max_stored_bytes
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.serializer.rate()
    }

    /// Every arrival, in order; none where no record was requested.
    pub fn record(&self) -> &[Recorded] {
        self.record.as_deref().unwrap_or_default()
    }
}
