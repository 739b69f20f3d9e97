//! The part of a NIC that serves queue pairs: it asks them for packets whenever its line is free.
//!
//! Control packets (ACKs, NAKs, CNPs) leave first, in order. Queue pairs follow by round robin, each when its pacing, its
//! window and the pauses of its priority allow (`network::nic_pauses`). Source: `RdmaEgressQueue` of HPCC's ns-3. Leaves out: weights of queue
//! pairs, arbitration between priorities in a NIC.

use std::collections::VecDeque;

use incastle_queueing::PrioritySet;
use incastle_units::Time;

use crate::core::EndpointIndex;
use crate::layout::Slot;
use crate::network::NicPauses;

/// What a queue pair can do at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Its next packet may leave.
    Ready,
    /// Its next packet may leave at that instant.
    Later(Time),
    /// Its window is full, its priority is paused, or it waits for data.
    Blocked,
    /// It has sent everything, and everything is acknowledged.
    Finished,
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// The queue pair whose turn it is.
    Serve(EndpointIndex),
    /// None may send before that instant; NEVER if none waits for one.
    Idle(Time),
}

/// The queue pairs of a NIC.
#[derive(Debug, Default)]
pub(crate) struct QueuePairs {
    /// Control packets that wait.
    pub(crate) control: VecDeque<Slot>,
    /// Queue pairs that have not finished, in the order in which they were posted to.
    ring: Vec<EndpointIndex>,
    /// The place of the one served last.
    last: usize,
    /// Pauses by the switch, from the first one on.
    pub(crate) pauses: Option<Box<NicPauses>>,
    /// The entered wake-up for the pacing of a queue pair, if any.
    pub(crate) wakes_at: Option<Time>,
    /// The entered wake-up for the end of the packet being sent, if any.
    pub(crate) line_free_at: Option<Time>,
    /// Queue pairs that have left the round robin and do not know it yet.
    pub(crate) left: Vec<EndpointIndex>,
}

impl QueuePairs {
    /// Adds a queue pair at the end of the round robin.
    pub(crate) fn join(&mut self, index: EndpointIndex) {
        self.ring.push(index);
    }

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

    /// Whether any queue pair is in the round robin, or a control packet waits.
    pub(crate) fn is_busy(&self) -> bool {
        !self.ring.is_empty() || !self.control.is_empty()
    }

    /// The earliest instant of all queue pairs.
    pub(crate) fn earliest(&self, at: impl Fn(EndpointIndex) -> Time) -> Time {
        let all = self.ring.iter().map(|index| at(*index));
        all.min().unwrap_or(Time::NEVER)
    }

    /// The next queue pair by round robin. Those that have finished leave the ring when a round passes them, and are in
    /// `left` then.
    pub(crate) fn round(&mut self, turn: impl Fn(EndpointIndex) -> Turn) -> Round {
        let count = self.ring.len();
        let mut wake = Time::NEVER;
        let mut finished = usize::MAX;
        let mut served = None;
        for step in 1..=count {
            let place = (step + self.last) % count;
            let index = self.ring[place];
            match turn(index) {
                Turn::Ready => {
                    served = Some(index);
                    break;
                }
                Turn::Later(at) => wake = wake.min(at),
                Turn::Blocked => {}
                Turn::Finished => finished = finished.min(place),
            }
        }
        if finished < count {
            // Those before the first one that was met stay until a round meets them.
            let gone = |index: &mut EndpointIndex| turn(*index) == Turn::Finished;
            let gone = self.ring.extract_if(finished.., gone);
            self.left.extend(gone);
        }
        let Some(served) = served else {
            return Round::Idle(wake);
        };
        let place = self.ring.iter().position(|index| *index == served);
        self.last = place.expect("a queue pair with a packet stays");
        Round::Serve(served)
    }
}
