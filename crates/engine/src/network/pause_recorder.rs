//! Recorded pauses with their roots, congestion trees, and deadlocks: switched on before a run.
//!
//! The record and the checks are those of incastle-queueing. Leaves out: the order of what happens in several partitions
//! (`PauseNotes`).

use incastle_queueing::{
    CheckReport, CongestionTree, Deadlock, Holding, PauseNotes, PauseRecord, PausedQueue, Priority,
    PrioritySet, congestion_trees,
};
use incastle_units::{Bytes, Time};

use super::{Network, PauseTimer};
use crate::core::{Event, EventQueue, Node, Order, PortIndex, SwitchIndex};
use crate::probe::Probe;

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
        if self.order == Order::AsEntered {
            return Some("events in the order of their entry (run.compat)");
        }
        (!self.storms.is_empty()).then_some("pause storms")
    }

    /// Whether pauses are recorded, or deadlocks looked for.
    pub(super) fn records_pauses(&self) -> bool {
        self.recorder.is_some() || self.notes.is_some()
    }

    /// Begins the notes of a partition. The first one keeps the recorder. `incoming` are the ports elsewhere whose links
    /// lead here.
    pub(crate) fn note_pauses(
        &mut self,
        [partition, partitions]: [usize; 2],
        incoming: Vec<PortIndex>,
        events: &mut EventQueue,
    ) {
        let Some(recorder) = &self.recorder else {
            return;
        };
        let every = recorder.every();
        if let Some(every) = every {
            PauseTimer::Check.enter(Time::ZERO + every, events);
        }
        let queues = |port| Priority::ALL.map(|priority| EgressQueue { port, priority });
        let incoming = incoming.into_iter().flat_map(queues).collect();
        self.notes = Some(Box::new(PauseNotes::new(every, incoming, partitions)));
        if partition > 0 {
            self.recorder = None;
        }
    }

    /// In a partition: the notes that follow belong to this event.
    #[inline]
    pub(crate) fn begin_notes(&mut self, event: Event) {
        if let Some(notes) = &mut self.notes {
            notes.begin(event.at, event.rank());
        }
    }

    /// In the first partition: records what happened before an instant that all have reached.
    pub(crate) fn record_notes(&mut self, before: Time) {
        if let (Some(notes), Some(recorder)) = (&mut self.notes, &mut self.recorder) {
            notes.record(before, recorder);
        }
    }

    /// The recorded pauses, by their beginning. Of a network in partitions the first one has them all.
    pub fn recorded_pauses(&self) -> &[PauseRecord<EgressQueue>] {
        let recorder = self.recorder.as_ref();
        recorder.map_or(&[], |recorder| recorder.records())
    }

    /// The number of pauses beyond the limit of the record.
    pub fn unrecorded_pauses(&self) -> u64 {
        let recorder = self.recorder.as_ref();
        recorder.map_or(0, |recorder| recorder.unrecorded())
    }

    /// The deadlocks that checks have found, each once. Of a network in partitions the first one has them all.
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
            if let Some(notes) = &mut self.notes {
                notes.send(queue, &holdings);
            } else if let Some(recorder) = &mut self.recorder {
                recorder.send(queue, &holdings);
            }
        }
    }

    /// The pauses of a port may have changed.
    #[inline]
    pub(super) fn record_pauses(&mut self, at: PortIndex, now: Time, events: &mut EventQueue) {
        if self.records_pauses() {
            self.follow_stopped(at, now, events);
        }
    }

    #[cold]
    fn follow_stopped(&mut self, at: PortIndex, now: Time, events: &mut EventQueue) {
        let stopped = self.stopped(at);
        let of = |priority| {
            (
                EgressQueue { port: at, priority },
                stopped.contains(priority),
            )
        };
        let queues = Priority::ALL.into_iter().map(of);
        if let Some(notes) = &mut self.notes {
            return queues.for_each(|(queue, paused)| notes.follow(queue, paused));
        }
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        queues.for_each(|(queue, paused)| recorder.follow(now, queue, paused));
        if let Some(at) = recorder.next_check(now) {
            PauseTimer::Check.enter(at, events);
        }
    }

    /// Looks for a deadlock.
    pub(super) fn check_deadlock<P: Probe>(
        &mut self,
        now: Time,
        events: &mut EventQueue,
        probe: &mut P,
    ) {
        if let Some(notes) = &self.notes {
            let report = if notes.has_paused() {
                self.report(now, probe)
            } else {
                // What waits here waits for no paused queue.
                CheckReport::default()
            };
            return self.note_check(report, now, events);
        }
        self.settle_all(now, probe);
        let paused = self.paused_queues();
        let Some(recorder) = &mut self.recorder else {
            return;
        };
        recorder.check(now, &paused);
        if let Some(at) = recorder.next_check(now) {
            PauseTimer::Check.enter(at, events);
        }
    }

    /// In a partition: its report of a check.
    fn report<P: Probe>(&mut self, now: Time, probe: &mut P) -> CheckReport<EgressQueue> {
        self.settle_all(now, probe);
        let mut report = CheckReport::default();
        for queue in self.notes.iter().flat_map(|notes| notes.incoming()) {
            report.accounts.extend(self.waiting(*queue, Time::NEVER));
        }
        report.accounts.retain(|one| !one.waits_for.is_empty());
        report.paused = self.paused_queues();
        report
    }

    /// In a partition: notes a check, and enters the next.
    fn note_check(&mut self, report: CheckReport<EgressQueue>, now: Time, events: &mut EventQueue) {
        let Some(notes) = &mut self.notes else { return };
        notes.check(report);
        if let Some(every) = notes.every() {
            PauseTimer::Check.enter(now + every, events);
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
            for priority in self.stopped(port).iter() {
                let since = self.stopped_since(port, priority).unwrap_or(Time::NEVER);
                paused.extend(self.waiting(EgressQueue { port, priority }, since));
            }
        }
        paused
    }

    /// A queue, if a switch is behind its link, with the account of that switch that may have paused it.
    fn waiting(&self, queue: EgressQueue, since: Time) -> Option<PausedQueue<EgressQueue>> {
        let Node::Switch(switch) = self.next_hop(queue.port) else {
            return None;
        };
        let pausing = self.switches[switch.index()].lossless.as_ref()?;
        let ingress = Self::reverse(queue.port);
        let number = self.numbers[ingress.index()] as usize;
        Some(PausedQueue {
            queue,
            since,
            resume_level: pausing.lossless.memory().resume_level(number),
            waits_for: self.holdings(switch, ingress, queue.priority),
        })
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
