//! The turns of events at one nanosecond, where events come in the order in which they were entered (ns-3).
//!
//! All instants are whole nanoseconds then; an event's picoseconds are its turn among those for the same nanosecond. Those of
//! applications come last: ns-3 enters the start of a flow at its instant. An arrival takes its turn when the sending of
//! its packet begins, as ns-3 enters it. Leaves out: more than a
//! thousand events at one nanosecond, which come by kind and source.

use std::collections::BTreeMap;

use incastle_units::{Span, Time};

use crate::{LAST_TURN, Order};

/// The turns, empty where events come by kind.
#[derive(Debug)]
pub struct Turns {
    order: Order,
    /// By instant: events entered.
    entered: BTreeMap<Time, u64>,
}

impl Turns {
    /// No turn is taken yet.
    pub const fn new(order: Order) -> Self {
        Self {
            order,
            entered: BTreeMap::new(),
        }
    }

    /// Whether events have turns.
    pub fn are_taken(&self) -> bool {
        self.order == Order::AsEntered
    }

    /// The instant of an event that is entered now for `at`, with its turn.
    #[inline]
    pub fn next(&mut self, at: Time) -> Time {
        at + self.late(|| at)
    }

    /// The turn of an event that is entered now for an instant.
    #[inline]
    pub fn late(&mut self, at: impl FnOnce() -> Time) -> Span {
        match self.order {
            Order::ByKind => Span::ZERO,
            Order::AsEntered => self.take(at()),
        }
    }

    #[cold]
    fn take(&mut self, at: Time) -> Span {
        let entered = self.entered.entry(at).or_default();
        *entered += 1;
        Span::from_ps((*entered).min(LAST_TURN))
    }

    /// Forgets the instants before `now`.
    pub fn forget_before(&mut self, now: Time) {
        while let Some(first) = self.entered.first_entry()
            && *first.key() < now
        {
            first.remove();
        }
    }
}
