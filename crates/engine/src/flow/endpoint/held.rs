//! What a coalescing host holds back for an endpoint: contiguous arrivals, handed over at once.

use incastle_transport::tcp;
use incastle_units::Time;

use super::Endpoint;
use crate::network::{Body, Extras, Packet};

/// Arrivals that are held back.
pub(super) struct Held {
    packets: Vec<Packet>,
    /// When they must be handed over.
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
    /// The arrivals that the host holds back.
    pub(super) fn held(&self) -> &[Packet] {
        self.held.as_ref().map_or(&[], |held| &held.packets)
    }

    /// Whether the host holds none back.
    pub(crate) fn holds_nothing(&self) -> bool {
        self.held().is_empty()
    }

    /// Whether the first of them has waited long enough at `now`.
    pub(crate) fn has_held_until(&self, now: Time) -> bool {
        self.held.as_ref().is_some_and(|held| held.until <= now)
    }

    /// Whether a packet may join those that the host holds: it continues them without a gap.
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

    /// Holds a packet back; returns how many there are now.
    pub(crate) fn hold(&mut self, packet: Packet) -> usize {
        let held = self.held.get_or_insert_default();
        held.packets.push(packet);
        held.packets.len()
    }

    /// All must be handed over at `until`.
    pub(crate) fn hold_until(&mut self, until: Time) {
        self.held.get_or_insert_default().until = until;
    }

    /// Hands over what the host holds: one batch, each packet seen by itself.
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
