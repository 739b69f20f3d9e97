//! Interrupt coalescing for an endpoint: contiguous arrivals, delivered in one batch.

use incastle_transport::tcp;
use incastle_units::Time;

use crate::network::{Body, Packet};

/// Arrivals that the host holds.
pub(crate) struct Held {
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

impl Held {
    pub(crate) fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Whether the first of them has waited long enough at `now`.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.until <= now
    }

    /// Whether a packet continues the held ones without a gap.
    pub(crate) fn continues(&self, packet: &Packet) -> bool {
        let Some(last) = self.packets.last() else {
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
        self.packets.push(packet);
        self.packets.len()
    }

    /// Sets the instant of the delivery.
    pub(crate) fn hold_until(&mut self, until: Time) {
        self.until = until;
    }

    /// Delivers the held packets one by one, as one batch.
    pub(crate) fn drain(&mut self, mut deliver: impl FnMut(&Packet, tcp::Batch)) {
        let count = self.packets.len();
        for (place, packet) in self.packets.iter().enumerate() {
            let last = place + 1 == count;
            let batch = if last {
                tcp::Batch::Last
            } else {
                tcp::Batch::More
            };
            deliver(packet, batch);
        }
        self.packets.clear();
        self.until = Time::NEVER;
    }
}
