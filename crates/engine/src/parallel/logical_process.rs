//! The state of one logical process: its progress, and its messages for the others.
//!
//! Leaves out: its events, which are those of its simulation.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_queueing::PauseNotes;
use incastle_units::{Span, Time};

use super::{Crossing, Messages, Partitioning, Release};
use crate::core::{FlowIndex, Node, PortIndex, Side};
use crate::flow::FlowHosts;
use crate::network::{EgressQueue, Extras};

/// The progress of a logical process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Every event before this instant is processed.
    pub clock: Time,
    /// No event is before this instant, there or due to its messages.
    pub next: Time,
}

/// The window of a logical process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Every event before this instant is processed in the other partitions.
    pub(crate) known: Time,
    /// No other partition can change events before this instant.
    pub(crate) before: Time,
}

/// The state of a logical process.
pub(crate) struct LogicalProcess {
    partitioning: Arc<Partitioning>,
    partition: usize,
    /// By partition: the messages for it.
    outboxes: Vec<Messages>,
    /// Every event before this instant is processed here.
    pub(crate) clock: Time,
    /// Every event before this instant is processed elsewhere, and its messages are received.
    pub(crate) known: Time,
    /// Flows that were released elsewhere, with the instant; not yet released here.
    released: BTreeMap<FlowIndex, Time>,
    /// By port whose link leads here from elsewhere: the last failure.
    failed: BTreeMap<PortIndex, Time>,
}

impl LogicalProcess {
    pub(crate) fn new(partitioning: &Arc<Partitioning>, partition: usize) -> Self {
        let outboxes = (0..partitioning.count()).map(|_| Messages::default());
        Self {
            partitioning: Arc::clone(partitioning),
            partition,
            outboxes: outboxes.collect(),
            clock: Time::ZERO,
            known: Time::ZERO,
            released: BTreeMap::new(),
            failed: BTreeMap::new(),
        }
    }

    /// Whether the events of a node happen here.
    pub(crate) fn has(&self, node: Node) -> bool {
        self.partitioning.of(node) == self.partition
    }

    /// The window, from the progress of all.
    pub(crate) fn window(&self, all: &[Progress]) -> Window {
        let next = all.iter().map(|process| process.next).min();
        let others = all.iter().enumerate();
        let others = others.filter(|(partition, _)| *partition != self.partition);
        let clock = others.map(|(_, process)| process.clock).min();
        // Where no event is left before an instant, every partition has reached it.
        let known = next.max(clock).expect("there are several partitions");
        Window {
            known,
            before: known.saturating_add(self.partitioning.lookahead()),
        }
    }

    /// Passes on the messages for each other partition; `first` is the instant of the next event
    /// here.
    pub(crate) fn hand_over(
        &mut self,
        first: Time,
        mut take: impl FnMut(usize, &mut Messages),
    ) -> Progress {
        let mut next = first.max(self.clock);
        for (to, outbox) in self.outboxes.iter_mut().enumerate() {
            if to == self.partition {
                continue;
            }
            next = next.min(outbox.first_arrival());
            take(to, outbox);
            assert!(outbox.is_empty(), "messages are handed over once");
        }
        Progress {
            clock: self.clock,
            next,
        }
    }

    /// Sends a packet on a link into the partition of a node.
    pub(crate) fn post(&mut self, to: Node, crossing: Crossing, extras: &Extras) {
        let to = self.partitioning.of(to);
        self.outboxes[to].post(crossing, extras);
    }

    /// The link of a port here has failed: its packets that have not arrived are lost.
    pub(crate) fn take_back(&mut self, port: PortIndex, now: Time) {
        for outbox in &mut self.outboxes {
            outbox.take_back(port, now);
        }
    }

    /// The link of a port elsewhere has failed.
    pub(crate) fn note_failure(&mut self, port: PortIndex, now: Time) {
        self.failed.insert(port, now);
    }

    /// Whether the link of a port has failed since a packet left that port.
    pub(crate) fn has_failed_since(&self, port: PortIndex, left: Time) -> bool {
        self.failed.get(&port).is_some_and(|failed| left <= *failed)
    }

    /// Adds notes of pauses for the first partition.
    pub(crate) fn pass_on_pauses(&mut self, notes: &mut PauseNotes<EgressQueue>) {
        if self.partition > 0 {
            notes.give(&mut self.outboxes[0].pauses);
        }
    }

    /// A flow was released here: adds a message for the partition of its other endpoint.
    pub(crate) fn note_release(&mut self, flow: FlowIndex, hosts: FlowHosts, now: Time) {
        let partition = |side| self.partitioning.of(Node::Host(hosts.at(side)));
        let [first, second] = Side::BOTH.map(partition);
        if first != second {
            let other = if first == self.partition {
                second
            } else {
                first
            };
            self.outboxes[other]
                .released
                .push(Release { flow, at: now });
        }
    }

    /// Takes the messages of flows released elsewhere.
    pub(crate) fn learn_releases(&mut self, releases: impl Iterator<Item = Release>) {
        self.released
            .extend(releases.map(|release| (release.flow, release.at)));
    }

    /// The instant of a release elsewhere, if the flow is not yet released here.
    pub(crate) fn released_at(&self, flow: FlowIndex) -> Option<Time> {
        self.released.get(&flow).copied()
    }

    /// The flows that were released elsewhere before an instant.
    pub(crate) fn released_before(&self, before: Time) -> Vec<FlowIndex> {
        let due = self.released.iter().filter(|(_, at)| **at < before);
        due.map(|(flow, _)| *flow).collect()
    }

    /// Takes the release of a flow, which is released here now.
    pub(crate) fn take_release(&mut self, flow: FlowIndex) -> Time {
        let at = self.released.remove(&flow);
        at.expect("a flow is released here when its release is known")
    }
}

/// A picosecond.
pub(crate) const TICK: Span = Span::from_ps(1);
