//! Recorded pauses with their roots, congestion trees, and deadlocks: switched on before a run.
//!
//! The record and the checks are those of incastle-queueing. Leaves out: partitions, none of which has the whole network.

use incastle_queueing::{
    CongestionTree, Deadlock, Holding, PauseRecord, PausedQueue, Priority, PrioritySet,
    congestion_trees,
};
use incastle_units::{Bytes, Time};

use super::{Network, PauseTimer};
use crate::core::{EventQueue, Node, PortIndex, SwitchIndex};

/// The egress queue of a priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EgressQueue {
    /// The port that sends.
    pub port: PortIndex,
    /// The priority.
    pub priority: Priority,
}

impl Network {
    /// The reason why the network cannot be simulated in partitions, if there is one.
    pub fn alone_because(&self) -> Option<&'static str> {
        let pauses = self.recorder.is_some() || !self.storms.is_empty();
        pauses.then_some("pauses (PFC), whose roots and deadlocks may be anywhere")
    }

    /// The recorded pauses, by their beginning.
    pub fn recorded_pauses(&self) -> &[PauseRecord<EgressQueue>] {
        let recorder = self.recorder.as_ref();
        recorder.map_or(&[], |recorder| recorder.records())
    }

    /// The number of pauses beyond the limit of the record.
    pub fn unrecorded_pauses(&self) -> u64 {
        let recorder = self.recorder.as_ref();
        recorder.map_or(0, |recorder| recorder.unrecorded())
    }

    /// The deadlocks that checks have found, each once.
    pub fn deadlocks(&self) -> &[Deadlock<EgressQueue>] {
        let recorder = self.recorder.as_ref();
        recorder.map_or(&[], |recorder| recorder.deadlocks())
    }

    /// The congestion trees at this instant.
    pub fn congestion_trees(&self) -> Vec<CongestionTree<EgressQueue>> {
        congestion_trees(&self.paused_queues())
    }

    /// A switch sends a frame that pauses the other end of a port.
    #[cold]
    pub(super) fn record_cause(
        &mut self,
        switch: SwitchIndex,
        at: PortIndex,
        priorities: PrioritySet,
    ) {
        for priority in priorities.iter() {
            let holdings = self.holdings(switch, at, priority);
            let queue = EgressQueue {
                port: Self::reverse(at),
                priority,
            };
            if let Some(recorder) = &mut self.recorder {
                recorder.send(queue, &holdings);
            }
        }
    }

    /// The pauses of a port may have changed.
    #[inline]
    pub(super) fn record_pauses(&mut self, at: PortIndex, now: Time, events: &mut EventQueue) {
        if self.recorder.is_some() {
            self.follow_stopped(at, now, events);
        }
    }

    #[cold]
    fn follow_stopped(&mut self, at: PortIndex, now: Time, events: &mut EventQueue) {
        let stopped = self.stopped(at);
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        for priority in Priority::ALL {
            let queue = EgressQueue { port: at, priority };
            recorder.follow(now, queue, stopped.contains(priority));
        }
        if let Some(at) = recorder.next_check(now) {
            PauseTimer::Check.enter(at, events);
        }
    }

    /// Looks for a deadlock.
    pub(super) fn check_deadlock(&mut self, now: Time, events: &mut EventQueue) {
        let paused = self.paused_queues();
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        recorder.check(now, &paused);
        if let Some(at) = recorder.next_check(now) {
            PauseTimer::Check.enter(at, events);
        }
    }

    /// The priorities that pauses stop at a port.
    fn stopped(&self, at: PortIndex) -> PrioritySet {
        if let Some(receiver) = self.ports[at.index()].receiver() {
            return receiver.stopped();
        }
        match self.owners[at.index()] {
            Node::Switch(_) => PrioritySet::EMPTY,
            Node::Host(host) => self.paused_at(host),
        }
    }

    fn stopped_since(&self, at: PortIndex, priority: Priority) -> Option<Time> {
        if let Some(receiver) = self.ports[at.index()].receiver() {
            return receiver.stopped_since(priority);
        }
        match self.owners[at.index()] {
            Node::Switch(_) => None,
            Node::Host(host) => self.paused_since(host, priority),
        }
    }

    /// All egress queues that switches have paused.
    fn paused_queues(&self) -> Vec<PausedQueue<EgressQueue>> {
        let mut paused = Vec::new();
        for port in self.ports() {
            let Node::Switch(switch) = self.next_hop(port) else {
                continue;
            };
            let Some(pausing) = &self.switches[switch.index()].lossless else {
                continue;
            };
            let ingress = Self::reverse(port);
            let number = self.numbers[ingress.index()] as usize;
            for priority in self.stopped(port).iter() {
                paused.push(PausedQueue {
                    queue: EgressQueue { port, priority },
                    since: self.stopped_since(port, priority).unwrap_or(Time::NEVER),
                    resume_level: pausing.lossless.memory().resume_level(number),
                    waits_for: self.holdings(switch, ingress, priority),
                });
            }
        }
        paused
    }

    /// The packets of an ingress account that wait, by egress queue. One that is being sent leaves in any case.
    fn holdings(
        &self,
        switch: SwitchIndex,
        ingress: PortIndex,
        priority: Priority,
    ) -> Vec<Holding<EgressQueue>> {
        let ports = self.ports_of[switch.index()].iter();
        let holding = |&port: &PortIndex| Holding {
            queue: EgressQueue { port, priority },
            bytes: self.ports[port.index()].waiting_from(ingress, priority, &self.pool),
        };
        let all = ports.map(holding);
        all.filter(|holding| holding.bytes > Bytes::ZERO).collect()
    }
}
