//! The state of a queue pair between two calls, for records of its events.

use incastle_units::{Span, Time};

use crate::queue_pair::{DataAt, QueuePair};

/// The state, of which records compare two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Observation {
    /// Whether it has a packet to send that its window allows, now or once its pacing does.
    pub ready: bool,
    /// CNPs and echoes that arrived.
    pub notifications: u64,
    /// Gaps in responses of READs, after which they were asked for again.
    pub read_retries: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The span of the retransmission timer, if there is one.
    pub ack_timeout: Option<Span>,
    /// Whether the retry limit was exceeded.
    pub failed: bool,
}

impl QueuePair {
    /// The state that records compare.
    pub fn observation(&self) -> Observation {
        let stats = self.stats();
        Observation {
            ready: self.data_at(Time::ZERO) != DataAt::Never,
            notifications: stats.notifications,
            read_retries: stats.read_retries,
            timeouts: stats.timeouts,
            ack_timeout: self.config().ack_timeout,
            failed: self.has_failed(),
        }
    }
}
