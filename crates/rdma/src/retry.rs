//! The retransmission timer and the retry counter of a requester (IB 9.7, 9.9).
//!
//! Leaves out: the factor of up to 4 that the specification leaves to a NIC, and adaptive timers of vendors.

use incastle_units::Time;

use crate::config::Config;

/// Timer and counter.
#[derive(Debug)]
pub(crate) struct Retry {
    /// When the timer fires, or NEVER.
    deadline: Time,
    /// Retries since the last progress.
    count: u8,
}

impl Retry {
    pub(crate) const fn new() -> Self {
        Self {
            deadline: Time::NEVER,
            count: 0,
        }
    }

    pub(crate) const fn deadline(&self) -> Time {
        self.deadline
    }

    /// A request left; the timer starts where it does not run.
    pub(crate) fn on_sent(&mut self, now: Time, config: &Config) {
        if self.deadline == Time::NEVER {
            self.restart(now, config);
        }
    }

    /// The responder acknowledged something new; `outstanding` requests remain.
    pub(crate) fn on_progress(&mut self, now: Time, outstanding: bool, config: &Config) {
        self.count = 0;
        if outstanding {
            self.restart(now, config);
        } else {
            self.stop();
        }
    }

    /// Nothing is outstanding.
    pub(crate) const fn stop(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Counts a retry; gives the number of those before it since the last progress, none where it is one too
    /// many.
    pub(crate) fn count(&mut self, config: &Config) -> Option<u8> {
        let before = self.count;
        if config.retry_limit.is_some_and(|limit| before >= limit) {
            return None;
        }
        self.count = before.saturating_add(1);
        Some(before)
    }

    fn restart(&mut self, now: Time, config: &Config) {
        self.deadline = match config.ack_timeout {
            Some(timeout) => now.saturating_add(timeout),
            None => Time::NEVER,
        };
    }
}
