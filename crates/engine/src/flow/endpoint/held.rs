//! Interrupt coalescing at an endpoint: contiguous arrivals, delivered in one batch.

use incastle_transport::tcp;
use incastle_units::Time;

use super::Endpoint;
use crate::network::{Body, Extras, Packet};

/// Arrivals that the host holds.
pub(super) struct Held {
    packets: Vec<Packet>,
    /// The instant of their delivery.
    until: Time,
}

impl Default for Held {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            until: Time::NEVER,
        }
    }
}

impl Endpoint {
    /// The arrivals that the host holds.
    pub(super) fn held(&self) -> &[Packet] {
        self.held.as_ref().map_or(&[], |held| &held.packets)
    }

    /// Whether the host holds none.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held().is_empty()
    }

    /// Whether the first of them has waited long enough at `now`.
    pub(crate) fn has_held_until(&self, now: Time) -> bool {
        self.held.as_ref().is_some_and(|held| held.until <= now)
    }

    /// Whether a packet continues the held ones without a gap.
    pub(crate) fn continues(&self, packet: &Packet) -> bool {
        let Some(last) = self.held().last() else {
            return true;
        };
        match (&last.body, &packet.body) {
            (Body::Segment { segment: last, .. }, Body::Segment { segment: next, .. }) => {
                last.seq.wrapping_add(u32::from(last.payload)) == next.seq
            }
            _ => true,
        }
    }

    /// Holds a packet; returns the number of held packets.
    pub(crate) fn hold(&mut self, packet: Packet) -> usize {
        let held = self.held.get_or_insert_default();
        held.packets.push(packet);
        held.packets.len()
    }

    /// Sets the instant of the delivery.
    pub(crate) fn hold_until(&mut self, until: Time) {
        self.held.get_or_insert_default().until = until;
    }

    /// Receives the held packets one by one, as one batch.
    pub(crate) fn receive_batch(&mut self, now: Time, extras: &mut Extras) {
        let Some(mut held) = self.held.take() else {
            return;
        };
        let count = held.packets.len();
        for (place, packet) in held.packets.iter().enumerate() {
            let batch = if place + 1 == count {
                tcp::Batch::Last
            } else {
                tcp::Batch::More
            };
            self.receive(now, packet, extras, batch);
        }
        held.packets.clear();
        held.until = Time::NEVER;
        self.held = Some(held);
    }
}
