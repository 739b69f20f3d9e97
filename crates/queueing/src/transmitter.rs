//! The transmitter of a line with departure events: the packet being sent.
//!
//! When the rate of the line changes, a packet whose first bit has left keeps its departure. One that begins later (a
//! host's jitter) gets a new departure, and the event of its former one is outdated.

use incastle_units::{Bytes, Ecn, Serializer, Time};

/// A packet, as far as queues and lines look.
pub trait Queued {
    /// Its size on the wire.
    fn size(&self) -> Bytes;
}

/// A packet, as far as a queue looks that marks packets.
pub trait EcnQueued: Queued {
    /// Its ECN field.
    fn ecn(&self) -> Ecn;

    /// Sets CE.
    fn mark(&mut self);
}

/// A packet being sent.
#[derive(Debug, Clone, Copy)]
struct Sending<T> {
    begins: Time,
    departs: Time,
    packet: T,
}

/// The transmitter.
#[derive(Debug)]
pub struct Transmitter<T> {
    sending: Option<Sending<T>>,
    /// The departure of the last packet.
    idle_since: Time,
    /// Outdated departure events in the event queue.
    outdated: u32,
}

impl<T> Default for Transmitter<T> {
    fn default() -> Self {
        Self {
            sending: None,
            idle_since: Time::ZERO,
            outdated: 0,
        }
    }
}

impl<T: Queued> Transmitter<T> {
    /// The instant since which the line is idle; meaningless while it is busy.
    pub const fn idle_since(&self) -> Time {
        self.idle_since
    }

    /// The packet being sent.
    pub fn packet(&self) -> Option<&T> {
        self.sending.as_ref().map(|sending| &sending.packet)
    }

    /// Its departure.
    pub fn departs(&self) -> Option<Time> {
        self.sending.as_ref().map(|sending| sending.departs)
    }

    /// Begins to send on the idle line; returns the departure.
    pub fn begin(&mut self, begins: Time, packet: T, line: &mut Serializer) -> Time {
        assert!(self.sending.is_none(), "a line sends one packet at a time");
        let departs = begins + line.span(packet.size());
        self.sending = Some(Sending {
            begins,
            departs,
            packet,
        });
        departs
    }

    /// A departure event has come: returns the packet sent, or none if the event is outdated.
    #[inline]
    pub fn finish(&mut self, now: Time) -> Option<T> {
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

    /// Takes back a packet whose sending has not begun (a host's jitter), with the instant at which it would have. Its
    /// departure event is outdated.
    pub fn take_back(&mut self, now: Time) -> Option<(Time, T)> {
        let Sending { begins, packet, .. } =
            self.sending.take_if(|sending| sending.begins > now)?;
        self.outdated += 1;
        Some((begins, packet))
    }

    /// The line fails: returns the packet being sent, whose departure event is outdated.
    pub fn cut(&mut self, now: Time) -> Option<T> {
        let sending = self.sending.take()?;
        self.idle_since = now;
        self.outdated += 1;
        Some(sending.packet)
    }

    /// `line` has another rate from now on; returns the new departure of a packet that has not begun.
    pub fn change_rate(&mut self, now: Time, line: &mut Serializer) -> Option<Time> {
        let sending = self.sending.as_mut()?;
        if sending.begins <= now {
            return None;
        }
        sending.departs = sending.begins + line.span(sending.packet.size());
        self.outdated += 1;
        Some(sending.departs)
    }
}
