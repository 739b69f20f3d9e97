//! The sending end of a line with explicit departures: the packet that is being sent.
//!
//! When the rate of the line changes, a packet whose first bit has left goes on at the old rate: its
//! departure stands. One that is not to begin before a later instant (a host's jitter) is timed
//! anew, and the event of its former departure is left behind, to be ignored.

use incastle_units::{Serializer, Time};

use crate::network::Packet;

/// A packet being sent.
#[derive(Debug, Clone, Copy)]
struct Sending {
    begins: Time,
    departs: Time,
    packet: Packet,
}

/// The sending end.
#[derive(Debug, Default)]
pub(super) struct Transmitter {
    sending: Option<Sending>,
    /// When the last packet departed.
    idle_since: Time,
    /// Departure events left behind.
    outdated: u32,
}

impl Transmitter {
    /// When the line last fell idle; meaningless while it is busy.
    pub(super) const fn idle_since(&self) -> Time {
        self.idle_since
    }

    /// The packet being sent.
    pub(super) fn packet(&self) -> Option<&Packet> {
        self.sending.as_ref().map(|sending| &sending.packet)
    }

    /// When it departs.
    pub(super) fn departs(&self) -> Option<Time> {
        self.sending.map(|sending| sending.departs)
    }

    /// Begins to send on the idle line; returns when the packet departs.
    pub(super) fn begin(&mut self, begins: Time, packet: Packet, line: &mut Serializer) -> Time {
        assert!(self.sending.is_none(), "a line sends one packet at a time");
        let departs = begins + line.span(packet.size());
        self.sending = Some(Sending {
            begins,
            departs,
            packet,
        });
        departs
    }

    /// A departure event has come: the packet that has been sent, or none if the event is outdated.
    pub(super) fn finish(&mut self, now: Time) -> Option<Packet> {
        if self.departs() != Some(now) {
            assert!(
                self.outdated > 0,
                "a departure event has a packet being sent"
            );
            self.outdated -= 1;
            return None;
        }
        self.idle_since = now;
        self.sending.take().map(|sending| sending.packet)
    }

    /// The line is cut: the packet that was being sent. The event of its departure is left behind.
    pub(super) fn cut(&mut self, now: Time) -> Option<Packet> {
        let sending = self.sending.take()?;
        self.idle_since = now;
        self.outdated += 1;
        Some(sending.packet)
    }

    /// `line` has another rate from now on; returns the new departure of a packet that has not
    /// begun.
    pub(super) fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        let sending = self.sending.as_mut()?;
        if sending.begins <= now {
            return None;
        }
        sending.departs = sending.begins + line.span(sending.packet.size());
        self.outdated += 1;
        Some(sending.departs)
    }
}
