//! The pacer: at the controller's rate each segment waits until the one before it has had its time.
//!
//! Leaves out: bursts; a segment leaves alone.

use incastle_units::{Span, Time};

/// The pacer of a sender whose controller has said a rate.
#[derive(Debug)]
pub(super) struct Pacer {
    /// The next departure.
    next: Time,
    /// When a waiting segment may go, or NEVER.
    wake: Time,
}

impl Default for Pacer {
    fn default() -> Self {
        Self {
            next: Time::ZERO,
            wake: Time::NEVER,
        }
    }
}

impl Pacer {
    /// When a waiting segment may go, or NEVER.
    pub(super) fn wake(&self) -> Time {
        self.wake
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::NEVER;
        }
    }

    /// Whether the next segment has to wait; then the pacer wakes the sender.
    pub(super) fn holds(&mut self, now: Time) -> bool {
        let holds = now < self.next;
        if holds {
            self.wake = self.next;
        }
        holds
    }

    /// A segment has left that takes so long at the rate.
    pub(super) fn sent(&mut self, now: Time, takes: Span) {
        self.next = self.next.max(now) + takes;
    }
}
