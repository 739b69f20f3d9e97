//! The results of all partitions together.

use incastle_units::Time;

use crate::core::{Digest, FlowIndex, Node, PortIndex};
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

    /// The partition in which things happen at a node.
    fn of(&self, node: Node) -> &'a Simulation<P> {
        let mut partitions = self.0.iter();
        let own = partitions.find(|partition| partition.has(node));
        own.expect("every node is in a partition")
    }

    /// The partition that a port sends in.
    fn sending(&self, port: PortIndex) -> &'a Simulation<P> {
        self.of(self.0[0].network().ends(port).0)
    }

    /// How far all have come.
    pub fn now(&self) -> Time {
        let all = self.0.iter().map(Simulation::now);
        all.max().unwrap_or_default()
    }

    /// What a port has counted so far.
    pub fn counters(&self, port: PortIndex) -> PortCounters {
        self.sending(port).network().counters(port)
    }

    /// The number of flows opened so far.
    pub fn flow_count(&self) -> usize {
        self.0[0].flow_count()
    }

    /// The accounts of a flow as they stand.
    pub fn flow(&self, flow: FlowIndex) -> FlowRecord {
        let records = self.0.iter().map(|partition| partition.flow(flow));
        let joined = records.reduce(FlowRecord::with);
        joined.expect("there is a partition at least")
    }

    /// What has been counted so far.
    pub fn totals(&self) -> Totals {
        let totals = self.0.iter().map(Simulation::totals);
        totals.fold(Totals::default(), Totals::plus)
    }

    /// The hash of everything that happened at ports and endpoints, in the order of their indices.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for port in self.0[0].network().ports() {
            let of_port = self.sending(port).network().digest_of(port);
            digest.mix(of_port.value(), port.index() as u64);
        }
        for flow in (0..self.flow_count()).map(FlowIndex::from_index) {
            let [near, far] = self.flow(flow).digest;
            digest.mix(near, far);
        }
        digest.value()
    }
}

/// Ends a run: probes are told what ports still owe them, and handed back in the order of the partitions,
/// with the network and the accounts of all flows.
pub fn finish<P: Probe>(mut partitions: Vec<Simulation<P>>) -> (Network, Vec<P>, Vec<FlowRecord>) {
    for partition in &mut partitions {
        partition.settle();
        partition.forget_what_is_to_come();
    }
    AllPartitions::new(&partitions).check_conservation();
    let records = records(&mut partitions);
    let mut probes = Vec::new();
    let mut network: Option<Network> = None;
    for partition in partitions {
        let own = partition.process;
        probes.push(partition.observer.probe);
        match &mut network {
            None => network = Some(partition.network),
            Some(network) => network.take_books(partition.network, |node| {
                own.as_ref().is_none_or(|own| own.has(node))
            }),
        }
    }
    let network = network.expect("there is a partition at least");
    (network, probes, records)
}

/// The accounts of all flows, whose endpoints are freed meanwhile: of many flows both at once would be the most
/// memory that a run ever has.
fn records<P: Probe>(partitions: &mut [Simulation<P>]) -> Vec<FlowRecord> {
    let count = partitions[0].flow_count();
    let mut records = Vec::with_capacity(count);
    for flow in (0..count).rev().map(FlowIndex::from_index) {
        records.push(AllPartitions::new(partitions).flow(flow));
        for partition in &mut *partitions {
            partition.flows.free(flow);
        }
    }
    records.reverse();
    records
}

impl Network {
    /// Takes over the accounts of those ports and switches that belong to nodes of another partition.
    fn take_books(&mut self, other: Self, has: impl Fn(Node) -> bool) {
        for (port, from) in other.ports.into_iter().zip(&self.owners) {
            if has(*from) {
                let own = &mut self.ports[port.index.index()];
                (own.gate, own.sampler) = (port.gate, port.sampler);
            }
        }
        for (index, switch) in other.switches.into_iter().enumerate() {
            if has(Node::Switch(crate::core::SwitchIndex::from_index(index))) {
                self.switches[index] = switch;
            }
        }
    }
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            packet_hops: self.packet_hops + other.packet_hops,
            data_packets: self.data_packets + other.data_packets,
            events: self.events + other.events,
            drops: self.drops + other.drops,
            marks: self.marks + other.marks,
            failure_drops: self.failure_drops + other.failure_drops,
            cnms_sent: self.cnms_sent + other.cnms_sent,
            cnms_received: self.cnms_received + other.cnms_received,
            cnms_dropped: self.cnms_dropped + other.cnms_dropped,
        }
    }
}
