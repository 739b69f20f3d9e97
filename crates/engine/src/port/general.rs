//! The general queue: FIFO with an explicit event for each departure.
//!
//! The plain form, and the reference for the fast queue; it bears a rate that changes. Disciplines
//! that decide at a departure have the same sending end (see `fair`).

use incastle_units::{Serializer, Time};

use super::Backlog;
use super::transmitter::Transmitter;
use crate::packet::Packet;
use crate::ring::Ring;

/// A packet that waits, and before when it must not leave (a host's jitter).
#[derive(Debug, Clone, Copy)]
struct Waiting {
    ready: Time,
    packet: Packet,
}

/// The queue.
pub(super) struct GeneralQueue {
    waiting: Ring<Waiting>,
    waiting_bytes: u64,
    transmitter: Transmitter,
    /// When everything taken so far will have departed, at the present rate: counted ahead by a
    /// serializer of its own, which sees the same packets in the same order as the line's.
    busy_until: Time,
    forecast: Option<Serializer>,
}

impl Default for GeneralQueue {
    fn default() -> Self {
        Self {
            waiting: Ring::new(),
            waiting_bytes: 0,
            transmitter: Transmitter::default(),
            busy_until: Time::ZERO,
            forecast: None,
        }
    }
}

impl GeneralQueue {
    pub(super) const fn idle_since(&self) -> Time {
        self.transmitter.idle_since()
    }

    /// When everything taken so far will have departed.
    pub(super) const fn busy_until(&self) -> Time {
        self.busy_until
    }

    pub(super) fn backlog(&self) -> Backlog {
        let waiting = (self.waiting.len(), self.waiting_bytes);
        Backlog::of(waiting, self.transmitter.packet())
    }

    /// Appends an admitted packet; returns its departure if it is sent at once.
    pub(super) fn push(
        &mut self,
        ready: Time,
        packet: Packet,
        line: &mut Serializer,
    ) -> Option<Time> {
        let forecast = self.forecast.get_or_insert_with(|| line.clone());
        self.busy_until = self.busy_until.max(ready) + forecast.span(packet.size());
        if self.transmitter.packet().is_some() {
            self.waiting_bytes += u64::from(packet.size);
            self.waiting.push(Waiting { ready, packet });
            return None;
        }
        Some(self.transmitter.begin(ready, packet, line))
    }

    /// The packet being sent has left; returns it, and the departure of the next. Nothing where the
    /// event is outdated.
    pub(super) fn depart(
        &mut self,
        now: Time,
        line: &mut Serializer,
    ) -> Option<(Packet, Option<Time>)> {
        let sent = self.transmitter.finish(now)?;
        let departure = self.waiting.pop().map(|Waiting { ready, packet }| {
            self.waiting_bytes -= u64::from(packet.size);
            self.transmitter.begin(now.max(ready), packet, line)
        });
        Some((sent, departure))
    }

    /// `line` has another rate from now on: what waits is counted ahead anew. Returns the departure
    /// of the packet being sent, if that has moved.
    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        let moved = self.transmitter.change_rate(now, line);
        let mut forecast = line.clone();
        let begins = self.transmitter.departs().unwrap_or(self.busy_until);
        self.busy_until = self.waiting.iter().fold(begins, |busy_until, waiting| {
            busy_until.max(waiting.ready) + forecast.span(waiting.packet.size())
        });
        self.forecast = Some(forecast);
        moved
    }

    /// Packets waiting or being sent.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Packet> {
        self.waiting
            .iter()
            .map(|waiting| &waiting.packet)
            .chain(self.transmitter.packet())
    }
}
