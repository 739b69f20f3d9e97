//! The clock of a run: the present instant, and the events after it.
//!
//! Time never runs back, and a livelock is detected. Leaves out: the processing of events.

use incastle_units::Time;

use super::EventQueue;

/// More events than this at one instant are a livelock.
pub(crate) const MAX_EVENTS_PER_INSTANT: u32 = 10_000_000;

/// More than [`MAX_EVENTS_PER_INSTANT`] events at the present instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Livelock;

/// The clock.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    pub(crate) events: EventQueue,
    now: Time,
    at_this_instant: u32,
}

impl Clock {
    /// The present instant.
    #[inline(always)]
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Advances to the instant of the next event.
    #[inline(always)]
    pub(crate) fn advance(&mut self, at: Time) -> Result<(), Livelock> {
        assert!(at >= self.now, "time never runs back");
        if at > self.now {
            self.now = at;
            self.at_this_instant = 0;
            return Ok(());
        }
        self.at_this_instant += 1;
        if self.at_this_instant > MAX_EVENTS_PER_INSTANT {
            return Err(Livelock);
        }
        Ok(())
    }

    /// Advances to an instant without events.
    pub(crate) fn rest(&mut self, until: Time) {
        self.now = self.now.max(until);
    }
}
