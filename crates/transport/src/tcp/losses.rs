//! What a sender remembers of losses and of data that arrived out of order.
//!
//! It lies outside of the sender, made when there is something to remember: of the many senders of a large
//! network most never lose anything, and what they carry in vain costs memory and time. Leaves out: what is
//! done about it, which is in `recovery` and `timeout`.

use incastle_units::Time;

use super::sack::Scoreboard;
use super::sender::Sender;
use super::timeout::{Repeats, TimeoutReport};

/// What there is to remember.
pub(super) struct Losses {
    /// Since the first selective acknowledgement.
    pub(super) scoreboard: Option<Scoreboard>,
    /// The last timeout, until somebody takes it.
    pub(super) report: Option<TimeoutReport>,
    pub(super) repeats: Repeats,
    /// The end of the sequence numbers that the last recovery or timeout covers.
    pub(super) recover: Option<u64>,
    /// When the last partial acknowledgement of this recovery came, or NEVER.
    pub(super) partial_at: Time,
    /// Octets that NewReno's recovery adds to the controller's window.
    pub(super) inflation: i64,
}

impl Default for Losses {
    fn default() -> Self {
        Self {
            scoreboard: None,
            report: None,
            repeats: Repeats::default(),
            recover: None,
            partial_at: Time::NEVER,
            inflation: 0,
        }
    }
}

impl Sender {
    /// What it remembers, from now on if there was nothing.
    pub(super) fn losses(&mut self) -> &mut Losses {
        self.losses.get_or_insert_default()
    }

    #[inline]
    pub(super) fn scoreboard(&self) -> Option<&Scoreboard> {
        self.losses.as_ref()?.scoreboard.as_ref()
    }

    #[inline]
    pub(super) fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        self.losses.as_mut()?.scoreboard.as_mut()
    }

    /// The end of the sequence numbers that the last recovery or timeout covers.
    pub(super) fn recover(&self) -> Option<u64> {
        self.losses.as_ref()?.recover
    }

    /// When the last partial acknowledgement of this recovery came, or NEVER.
    pub(super) fn partial_at(&self) -> Time {
        let losses = self.losses.as_ref();
        losses.map_or(Time::NEVER, |losses| losses.partial_at)
    }

    /// Octets that NewReno's recovery adds to the controller's window.
    pub(super) fn inflation(&self) -> i64 {
        self.losses.as_ref().map_or(0, |losses| losses.inflation)
    }
}
