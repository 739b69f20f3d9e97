//! A bottleneck in real time: a port with a rate, a buffer and a discipline of `queueing`, then a delay.
//! Time comes in as an argument, and how late it came is counted.
//!
//! The port works as the engine's. A packet's departure is known on its arrival: it follows the one before at
//! the port's rate. A packet waits until its transmission begins, and the discipline sees the waiting packets.
//! Departures are in virtual time: if the machine sends a packet late, the next ones do not move.
//!
//! Leaves out: several queues, jumbo packets.

use std::collections::VecDeque;

use incastle_queueing::{Arrival, Discipline, DropCause, Marker, PortBuffer, QueueState, Verdict};
use incastle_units::{Bytes, Packets, Rate, Serializer, Span, Time};
use rand_core::Rng;

use crate::ip;
use crate::samples::{Lateness, QueueLength};

/// A packet in the port or on the link.
#[derive(Debug)]
struct Held {
    /// When its sending begins: until then it waits.
    begins: Time,
    /// When it arrives at the receiver.
    due: Time,
    packet: Vec<u8>,
}

/// Counts of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
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
    /// Their bytes, IP headers included.
    pub left_bytes: u64,
}

/// One direction through the bottleneck.
pub struct Bottleneck {
    discipline: Marker,
    buffer: PortBuffer,
    serializer: Serializer,
    delay: Span,
    /// When the port is free again.
    free_at: Time,
    /// In the order of arrival, which is that of departure.
    held: VecDeque<Held>,
    /// How many of these, from the front, no longer wait.
    begun: usize,
    waiting_bytes: u64,
    counts: Counts,
    queue: QueueLength,
    lateness: Lateness,
}

impl Bottleneck {
    /// An idle port at `rate`, and a link of that delay behind it.
    pub fn new(discipline: Marker, buffer: PortBuffer, rate: Rate, delay: Span) -> Self {
        Self {
            discipline,
            buffer,
            serializer: Serializer::new(rate),
            delay,
            free_at: Time::ZERO,
            held: VecDeque::new(),
            begun: 0,
            waiting_bytes: 0,
            counts: Counts::default(),
            queue: QueueLength::default(),
            lateness: Lateness::default(),
        }
    }

    /// An IP packet arrived at `now`.
    pub fn arrive(&mut self, now: Time, mut packet: Vec<u8>, rng: &mut dyn Rng) {
        self.advance(now);
        let size = Bytes::new(packet.len() as u64);
        let ecn = ip::ecn(&packet);
        self.counts.arrived += 1;
        self.counts.ect += u64::from(ecn.is_capable());
        let state = self.state(now);
        if !self.admits(now, size) {
            self.discipline.on_refused(&state, &Arrival { size, ecn });
            self.counts.dropped_full += 1;
            return;
        }
        match self
            .discipline
            .on_arrival(&state, &Arrival { size, ecn }, rng)
        {
            Verdict::Admit => {}
            Verdict::Mark => {
                ip::mark(&mut packet);
                self.counts.marked += 1;
            }
            Verdict::Drop(cause) => return self.count_drop(cause),
        }
        self.store(now, packet);
    }

    fn count_drop(&mut self, cause: DropCause) {
        match cause {
            DropCause::BufferFull | DropCause::SharedLimit => self.counts.dropped_full += 1,
            DropCause::Early | DropCause::NotEcnCapable => self.counts.dropped_early += 1,
            DropCause::LinkDown
            | DropCause::LostOnWire
            | DropCause::Corrupted
            | DropCause::HeadroomFull
            | DropCause::PauseWatchdog => unreachable!("a discipline has no links and no pauses"),
        }
    }

    fn store(&mut self, now: Time, packet: Vec<u8>) {
        let size = Bytes::new(packet.len() as u64);
        let begins = self.free_at.max(now);
        self.free_at = begins.saturating_add(self.serializer.span(size));
        self.waiting_bytes += size.count();
        self.held.push_back(Held {
            begins,
            due: self.free_at.saturating_add(self.delay),
            packet,
        });
        self.advance(now);
        self.queue.set(now, self.waiting());
    }

    /// The queue's length: without the packet in transmission and those on the link.
    fn waiting(&self) -> usize {
        self.held.len() - self.begun
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
        let sending = self.held.iter().take(self.begun).rev().take(1);
        let sending = sending
            .filter(|_| self.free_at > now)
            .map(|held| held.packet.len() as u64);
        let (packets, bytes) = sending.fold((0, 0), |(n, sum), bytes| (n + 1, sum + bytes));
        self.buffer.admits(
            Packets::new(self.waiting() as u64 + packets),
            Bytes::new(self.waiting_bytes + bytes),
            size,
        )
    }

    /// Brings the queue to that instant: packets whose sending has begun wait no longer.
    fn advance(&mut self, now: Time) {
        while let Some(next) = self.held.get(self.begun).filter(|next| next.begins <= now) {
            self.waiting_bytes -= next.packet.len() as u64;
            let begins = next.begins;
            self.begun += 1;
            self.queue.set(begins, self.waiting());
        }
    }

    /// When the next packet is due at the receiver.
    pub fn next_departure(&self) -> Option<Time> {
        self.held.front().map(|held| held.due)
    }

    /// The next packet that is due by `now`.
    pub fn depart(&mut self, now: Time) -> Option<Vec<u8>> {
        if self.next_departure()? > now {
            return None;
        }
        self.advance(now);
        let held = self.held.pop_front()?;
        self.begun -= 1;
        self.counts.left += 1;
        self.counts.left_bytes += held.packet.len() as u64;
        self.lateness.add(now.saturating_since(held.due));
        Some(held.packet)
    }

    /// Forgets what was measured, not what is held.
    pub fn restart(&mut self, now: Time) {
        self.advance(now);
        self.counts = Counts::default();
        self.queue.restart(now);
        self.lateness = Lateness::default();
    }

    /// The counts since the start or restart.
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The queue's length since then, up to `now`.
    pub fn queue(&mut self, now: Time) -> &QueueLength {
        self.advance(now);
        let waiting = self.waiting();
        self.queue.set(now, waiting);
        &self.queue
    }

    /// How late departures were.
    pub const fn lateness(&self) -> &Lateness {
        &self.lateness
    }
}
