//! The part of a NIC that serves queue pairs: it asks them for packets whenever its line is free.
//!
//! Control packets (ACKs, NAKs, CNPs) leave first, in order. Queue pairs follow by round robin, each when its pacing, its
//! window and the pauses of its priority allow (`network::nic_pauses`). Source: `RdmaEgressQueue` of HPCC's ns-3.

use std::collections::VecDeque;

use incastle_queueing::PrioritySet;
use incastle_rdma::RoundRobin;
use incastle_units::Time;

use crate::core::EndpointIndex;
use crate::layout::Slot;
use crate::network::NicPauses;

/// The queue pairs of a NIC.
#[derive(Debug, Default)]
pub(crate) struct QueuePairs {
    /// Control packets that wait.
    pub(crate) control: VecDeque<Slot>,
    /// Queue pairs that have not finished, in the order in which they were posted to.
    pub(crate) pairs: RoundRobin<EndpointIndex>,
    /// Pauses by the switch, from the first one on.
    pub(crate) pauses: Option<Box<NicPauses>>,
    /// The entered wake-up for the pacing of a queue pair, if any.
    pub(crate) wakes_at: Option<Time>,
    /// Its instant with its turn.
    pub(crate) wake_entered: Time,
    /// The entered wake-up for the end of the packet being sent, if any.
    pub(crate) line_free_at: Option<Time>,
}

impl QueuePairs {
    /// The packets that wait in the NIC.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let held = self.pauses.iter().flat_map(|pauses| pauses.held());
        self.control.iter().copied().chain(held)
    }

    /// The priorities that the switch has paused.
    pub(crate) fn paused(&self) -> PrioritySet {
        let pauses = self.pauses.as_ref();
        pauses.map_or(PrioritySet::EMPTY, |pauses| pauses.paused())
    }

    /// Ends the pauses that have expired; returns whether there were some.
    pub(crate) fn end_pauses(&mut self, now: Time) -> bool {
        let pauses = self.pauses.as_mut();
        pauses.is_some_and(|pauses| pauses.end(now))
    }

    /// Whether it looks for packets of queue pairs by an instant, and has nothing else to send. Not by NEVER: a queue pair that
    /// has finished has to leave the round robin.
    pub(crate) fn looks_by(&self, at: Time) -> bool {
        self.control.is_empty() && at < Time::NEVER && self.wakes_at.is_some_and(|wake| wake <= at)
    }

    /// Whether any queue pair is in the round robin, or a control packet waits.
    pub(crate) fn is_busy(&self) -> bool {
        !self.pairs.is_empty() || !self.control.is_empty()
    }
}
