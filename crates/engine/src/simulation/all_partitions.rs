//! The results of all partitions together.

use incastle_units::Time;

use crate::core::{Digest, FlowIndex, HostIndex, Node, PortIndex};
use crate::flow::FlowRecord;
use crate::network::{Network, PortCounters};
use crate::probe::Probe;
use crate::{Simulation, Totals};

/// Simulations of the partitions of one network, or one of all of it.
pub struct AllPartitions<'a, P: Probe>(&'a [Simulation<P>]);

impl<'a, P: Probe> AllPartitions<'a, P> {
    /// All partitions, in their order.
    pub fn new(partitions: &'a [Simulation<P>]) -> Self {
        assert!(!partitions.is_empty(), "there is a partition at least");
        Self(partitions)
    }

    pub(crate) fn partitions(&self) -> &'a [Simulation<P>] {
        self.0
    }

    /// The partition of the node that a port belongs to.
    fn sending(&self, port: PortIndex) -> &'a Simulation<P> {
        let owner = self.0[0].network().owner(port);
        let mut partitions = self.0.iter();
        let own = partitions.find(|partition| partition.stack.fabric.has(owner));
        own.expect("every node is in a partition")
    }

    /// The latest instant that any has reached.
    pub fn now(&self) -> Time {
        let all = self.0.iter().map(Simulation::now);
        all.max().unwrap_or_default()
    }

    /// The counters of a port.
    pub fn counters(&self, port: PortIndex) -> PortCounters {
        self.sending(port).network().counters(port)
    }

    /// The number of flows opened so far.
    pub fn flow_count(&self) -> usize {
        self.0[0].flow_count()
    }

    /// The record of a flow at the present instant.
    pub fn flow(&self, flow: FlowIndex) -> FlowRecord {
        let records = self.0.iter().map(|partition| partition.flow(flow));
        let joined = records.reduce(FlowRecord::with);
        joined.expect("there is a partition at least")
    }

    /// The totals so far.
    pub fn totals(&self) -> Totals {
        let totals = self.0.iter().map(Simulation::totals);
        totals.fold(Totals::default(), Totals::plus)
    }

    /// The digest of all ports and endpoints, in the order of their indices.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for port in self.0[0].network().ports() {
            let of_port = self.sending(port).network().digest_of(port);
            digest.mix(of_port.value(), port.index() as u64);
        }
        for flow in (0..self.flow_count()).map(FlowIndex::from_index) {
            let [initiator, responder] = self.flow(flow).digest;
            digest.mix(initiator, responder);
        }
        digest.value()
    }
}

/// The results of a finished run.
pub struct Finished<P> {
    /// The digest of all ports and endpoints, in the order of their indices.
    pub digest: u64,
    /// The latest instant that any partition has reached.
    pub now: Time,
    /// The totals.
    pub totals: Totals,
    /// The network, with the counters of all ports and switches.
    pub network: Network,
    /// The probes, in the order of the partitions.
    pub probes: Vec<P>,
    /// The records of all flows.
    pub flows: Vec<FlowRecord>,
}

/// Ends a run: ports report their last departures to the probes, and conservation is asserted.
pub fn finish<P: Probe>(mut partitions: Vec<Simulation<P>>) -> Finished<P> {
    for partition in &mut partitions {
        partition.stack.fabric.settle();
        partition.clear_future();
    }
    let whole = AllPartitions::new(&partitions);
    whole.check_conservation();
    let notes = partitions[0].stack.fabric.network.notes.as_ref();
    assert!(
        notes.is_none_or(|notes| notes.is_empty()),
        "everything that happened to pauses is recorded"
    );
    let (digest, now, totals) = (whole.digest(), whole.now(), whole.totals());
    let flows = records(&mut partitions);
    let mut probes = Vec::new();
    let mut network: Option<Network> = None;
    for partition in partitions {
        let fabric = partition.stack.fabric;
        let own = fabric.process;
        probes.push(fabric.probe);
        match &mut network {
            None => network = Some(fabric.network),
            Some(network) => network.take_counters(fabric.network, |node| {
                own.as_ref().is_none_or(|own| own.has(node))
            }),
        }
    }
    Finished {
        digest,
        now,
        totals,
        network: network.expect("there is a partition at least"),
        probes,
        flows,
    }
}

/// The records of all flows, whose endpoints are freed meanwhile: both together would be the maximum memory of a
/// run with many flows.
fn records<P: Probe>(partitions: &mut [Simulation<P>]) -> Vec<FlowRecord> {
    let count = partitions[0].flow_count();
    let mut records = Vec::with_capacity(count);
    for flow in (0..count).rev().map(FlowIndex::from_index) {
        records.push(AllPartitions::new(partitions).flow(flow));
        for partition in &mut *partitions {
            partition.stack.flows.free(flow);
        }
    }
    records.reverse();
    records
}

impl Network {
    /// Takes over the counters of the ports and switches of another partition.
    fn take_counters(&mut self, other: Self, has: impl Fn(Node) -> bool) {
        for (port, from) in other.ports.into_iter().zip(&self.owners) {
            if has(*from) {
                let own = &mut self.ports[port.index.index()];
                own.take_counters(port);
            }
        }
        for (index, host) in other.hosts.into_iter().enumerate() {
            if has(Node::Host(HostIndex::from_index(index))) {
                self.hosts[index].queue_pairs = host.queue_pairs;
            }
        }
        for (port, wire) in other.wires {
            if has(self.owners[port.index()]) {
                self.wires.insert(port, wire);
            }
        }
        for (index, switch) in other.switches.into_iter().enumerate() {
            if has(Node::Switch(crate::core::SwitchIndex::from_index(index))) {
                self.switches[index] = switch;
            }
        }
    }
}

impl<P: Probe> Simulation<P> {
    /// The digest of all ports and endpoints, in the order of their indices.
    pub fn digest(&self) -> u64 {
        AllPartitions::new(std::slice::from_ref(self)).digest()
    }

    /// Asserts conservation at this instant.
    pub fn check_conservation(&self) {
        AllPartitions::new(std::slice::from_ref(self)).check_conservation();
    }
}
