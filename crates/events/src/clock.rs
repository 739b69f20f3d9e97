//! The clock of a run: the present instant, and the events after it.
//!
//! Time never runs back, and a livelock is detected. Leaves out: the processing of events.

use incastle_units::{Span, Time};

use crate::EventQueue;

/// More events than this at one instant are a livelock.
pub const MAX_EVENTS_PER_INSTANT: u32 = 10_000_000;

/// The last turn of an event within its nanosecond.
pub const LAST_TURN: u64 = 999;

/// More than [`MAX_EVENTS_PER_INSTANT`] events at the present instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Livelock;

/// The clock.
#[derive(Debug, Default)]
pub struct Clock {
    /// The events after it.
    pub events: EventQueue,
    now: Time,
    at_this_instant: u32,
    order: Order,
}

/// The order of events at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// By kind, as `event` has it: departures before arrivals.
    #[default]
    ByKind,
    /// As in ns-3, where instants are whole nanoseconds: the event that was entered first comes first. Picoseconds are the
    /// turns of the events of a nanosecond (`turns`).
    AsEntered,
}

impl Clock {
    /// The present instant.
    #[inline(always)]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Advances to the instant of the next event.
    #[inline(always)]
    pub fn advance(&mut self, at: Time) -> Result<(), Livelock> {
        assert!(at >= self.now, "time never runs back");
        if at > self.now {
            self.now = self.instant_of(at);
            self.at_this_instant = 0;
            return Ok(());
        }
        self.at_this_instant += 1;
        if self.at_this_instant > MAX_EVENTS_PER_INSTANT {
            return Err(Livelock);
        }
        Ok(())
    }

    /// The instant of an event that comes after all others of its instant, where these have turns.
    pub fn last_turn(&self, at: Time) -> Time {
        match self.order {
            Order::ByKind => at,
            Order::AsEntered => at.saturating_add(Span::from_ps(LAST_TURN)),
        }
    }

    /// Changes the order of events at one instant.
    pub fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    #[inline(always)]
    fn instant_of(&self, at: Time) -> Time {
        match self.order {
            Order::ByKind => at,
            Order::AsEntered => at.whole_ns(),
        }
    }

    /// Advances to an instant without events.
    pub fn rest(&mut self, until: Time) {
        self.now = self.now.max(until);
    }
}
