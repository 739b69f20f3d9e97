//! The general queue: FIFO with an explicit event for each departure.
//!
//! The plain form, and the reference for the fast queue; disciplines that decide at a departure
//! (priorities, pauses, rates that change) build on it.

use incastle_units::{Serializer, Time};

use super::Backlog;
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
    sending: Option<Packet>,
    /// When the line last fell idle.
    idle_since: Time,
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
            sending: None,
            idle_since: Time::ZERO,
            busy_until: Time::ZERO,
            forecast: None,
        }
    }
}

impl GeneralQueue {
    pub(super) const fn idle_since(&self) -> Time {
        self.idle_since
    }

    /// When everything taken so far will have departed.
    pub(super) const fn busy_until(&self) -> Time {
        self.busy_until
    }

    pub(super) fn backlog(&self) -> Backlog {
        let sending = self.sending.map_or(0, |packet| u64::from(packet.size));
        let waiting_packets = self.waiting.len();
        Backlog {
            stored_packets: waiting_packets + u32::from(self.sending.is_some()),
            stored_bytes: self.waiting_bytes + sending,
            waiting_packets,
            waiting_bytes: self.waiting_bytes,
        }
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
        if self.sending.is_some() {
            self.waiting_bytes += u64::from(packet.size);
            self.waiting.push(Waiting { ready, packet });
            return None;
        }
        self.sending = Some(packet);
        Some(ready + line.span(packet.size()))
    }

    /// The packet being sent has left; returns it, and the departure of the next.
    pub(super) fn depart(&mut self, now: Time, line: &mut Serializer) -> (Packet, Option<Time>) {
        let next = self.waiting.pop();
        let sent = std::mem::replace(&mut self.sending, next.map(|next| next.packet));
        let departure = next.map(|Waiting { ready, packet }| {
            self.waiting_bytes -= u64::from(packet.size);
            now.max(ready) + line.span(packet.size())
        });
        if departure.is_none() {
            self.idle_since = now;
        }
        (
            sent.expect("a departure event has a packet being sent"),
            departure,
        )
    }

    /// Packets waiting or being sent.
    pub(super) fn stored(&self) -> impl Iterator<Item = &Packet> {
        self.waiting
            .iter()
            .map(|waiting| &waiting.packet)
            .chain(self.sending.iter())
    }
}
