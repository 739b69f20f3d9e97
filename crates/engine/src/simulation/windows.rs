//! A simulation as one logical process: its windows and its messages.

use std::sync::Arc;

use incastle_units::Time;

use super::{RunError, Simulation, Stop};
use crate::core::PortIndex;
use crate::parallel::{LogicalProcess, Messages, Partitioning, Progress, TICK, Window};
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    /// Makes a new simulation the logical process of one partition. From now on it is driven by
    /// [`Self::hand_over`], [`Self::receive`] and [`Self::run_window`], in this order.
    pub fn become_partition(&mut self, partitioning: &Arc<Partitioning>, partition: usize) {
        assert!(
            partition < partitioning.count() && self.now() == Time::ZERO && self.flow_count() == 0,
            "a new simulation becomes one of the partitions"
        );
        let fabric = &mut self.stack.fabric;
        assert_eq!(
            fabric.network.alone_because(),
            None,
            "the network is simulated in one partition"
        );
        for port in fabric.network.ports() {
            let from = partitioning.of(fabric.network.owner(port));
            if from == partition && partitioning.is_cut(&fabric.network.edge(port)) {
                fabric.network.ports[port.index()].cut();
            }
        }
        let network = &mut fabric.network;
        let elsewhere = |port: &PortIndex| {
            partitioning.is_cut(&network.edge(*port))
                && partitioning.of(network.next_hop(*port)) == partition
        };
        let incoming = network.ports().filter(elsewhere).collect();
        network.note_pauses(
            [partition, partitioning.count()],
            incoming,
            &mut fabric.clock.events,
        );
        let process = LogicalProcess::new(partitioning, partition);
        fabric.process = Some(Box::new(process));
    }

    fn process(&mut self) -> &mut LogicalProcess {
        self.stack.fabric.process()
    }

    /// Passes on the messages for each other partition, and returns the progress of this one. `take` must empty
    /// the messages.
    pub fn hand_over(&mut self, take: impl FnMut(usize, &mut Messages)) -> Progress {
        let fabric = &mut self.stack.fabric;
        let first = fabric.clock.events.next_at();
        if let (Some(process), Some(notes)) = (&mut fabric.process, &mut fabric.network.notes) {
            process.pass_on_pauses(notes);
        }
        self.process().hand_over(first, take)
    }

    /// Takes the messages of another partition.
    pub fn receive(&mut self, messages: &mut Messages) {
        self.stack.fabric.receive(messages);
    }

    /// Runs until `until` as far as no other partition can change the result, for at most `budget` events. `all`
    /// is the last progress of each partition ([`Self::hand_over`]), whose messages have been received. Returns
    /// whether any partition has events left until then.
    pub fn run_window(
        &mut self,
        all: &[Progress],
        until: Time,
        budget: u64,
    ) -> Result<bool, RunError> {
        let process = self.process();
        let Window { known, before } = process.window(all);
        let beyond = until.saturating_add(TICK);
        if all.iter().all(|process| process.next >= beyond) {
            process.clock = beyond;
            self.stack.release_before(beyond);
            self.stack.fabric.network.record_notes(beyond);
            self.rest(until);
            return Ok(false);
        }
        process.known = known;
        let clock = process.clock;
        self.stack.release_before(clock);
        let reached = all.iter().map(|process| process.clock).min();
        let network = &mut self.stack.fabric.network;
        network.record_notes(reached.unwrap_or_default());
        let clock = self.run_before(before.min(beyond), budget)?;
        self.process().clock = clock;
        Ok(true)
    }

    /// Runs until just before an instant, unless an event has to wait for other partitions; returns the instant
    /// reached.
    fn run_before(&mut self, before: Time, budget: u64) -> Result<Time, RunError> {
        let until = Time::ZERO + (before - Time::ZERO).saturating_sub(TICK);
        Ok(match self.advance(until, budget)? {
            Stop::NothingLeft => before,
            Stop::Waits(at) => at,
            Stop::Budget => self.now(),
        })
    }
}
