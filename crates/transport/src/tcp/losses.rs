//! A sender's memory of losses and of data that arrived out of order.
//!
//! It is allocated outside of the sender on first use. Most senders of a large network never lose a packet,
//! and need neither its memory nor its time. Leaves out: the reaction, which is in `recovery`.

use incastle_units::Time;

use super::sack::Scoreboard;
use super::timeout::{Repeats, TimeoutReport};

/// The memory of losses.
pub(super) struct Losses {
    /// Since the first selective acknowledgement.
    pub(super) scoreboard: Option<Scoreboard>,
    /// The last timeout, until it is taken.
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
