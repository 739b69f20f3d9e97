//! The partition of each node of a network.
//!
//! A host belongs to the partition of its switch. Switches with hosts are assigned in breadth-first order, an equal
//! number of hosts to each partition: whole pods of a fat tree, or consecutive leaves. Each other switch joins the
//! partition with most of its links; on a tie, the one with the fewest links so far.

use std::collections::VecDeque;

use incastle_units::Span;

use crate::core::{Node, SwitchIndex};
use crate::network::Network;

/// The partitions of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitioning {
    count: usize,
    /// By host.
    hosts: Vec<usize>,
    /// By switch.
    switches: Vec<usize>,
    lookahead: Span,
}

/// The partition of each port and host.
#[derive(Debug)]
pub struct Owners {
    /// By port.
    pub ports: Vec<usize>,
    /// By host.
    pub hosts: Vec<usize>,
}

/// The reason why a network has no partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// All hosts are at one switch.
    #[error("all hosts are at one switch")]
    OneSwitch,
    /// A link between two partitions takes no time.
    #[error("a link between its partitions would have no delay")]
    NoDelay,
}

impl Partitioning {
    /// At most `count` partitions: no more than there are switches with hosts.
    pub fn new(network: &Network, count: usize) -> Result<Self, PartitionError> {
        let graph = Graph::new(network);
        let mut switches = graph.assign_hosts(count);
        let count = renumber(&mut switches);
        if count < 2 {
            return Err(PartitionError::OneSwitch);
        }
        let switches = graph.assign_others(switches, count);
        let at = |port: usize| match network.ports[port].to {
            Node::Switch(switch) => switches[switch.index()],
            Node::Host(_) => unreachable!("hosts are at switches"),
        };
        let hosts = network.hosts.iter();
        let mut partitioning = Self {
            count,
            hosts: hosts.map(|host| at(host.port.index())).collect(),
            switches,
            lookahead: Span::ZERO,
        };
        let cut = network
            .ports()
            .filter(|port| partitioning.is_cut(network, *port));
        let delays = cut.map(|port| network.delay(port));
        // Two partitions of a connected network have a link between them.
        partitioning.lookahead = delays.min().unwrap_or_default();
        if partitioning.lookahead == Span::ZERO {
            return Err(PartitionError::NoDelay);
        }
        Ok(partitioning)
    }

    /// The number of partitions.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The partition of a node.
    pub fn of(&self, node: Node) -> usize {
        match node {
            Node::Host(host) => self.hosts[host.index()],
            Node::Switch(switch) => self.switches[switch.index()],
        }
    }

    /// The partition of each port, which is that of its node, and of each host.
    pub fn owners(&self, network: &Network) -> Owners {
        let of_port = |port| self.of(network.owner(port));
        Owners {
            ports: network.ports().map(of_port).collect(),
            hosts: self.hosts.clone(),
        }
    }

    /// The minimum delay of the links between partitions.
    pub fn lookahead(&self) -> Span {
        self.lookahead
    }

    /// Whether a port's link leads from one partition into another.
    pub fn is_cut(&self, network: &Network, port: crate::core::PortIndex) -> bool {
        self.of(network.owner(port)) != self.of(network.next_hop(port))
    }
}

/// The switches with their neighbours and hosts.
struct Graph {
    neighbours: Vec<Vec<usize>>,
    hosts: Vec<usize>,
    /// Breadth-first.
    order: Vec<usize>,
}

impl Graph {
    fn new(network: &Network) -> Self {
        let mut neighbours = vec![Vec::new(); network.switch_count()];
        let mut hosts = vec![0; network.switch_count()];
        for port in network.ports() {
            match (network.owner(port), network.next_hop(port)) {
                (Node::Switch(from), Node::Switch(to)) => {
                    neighbours[from.index()].push(to.index());
                }
                (Node::Switch(from), Node::Host(_)) => hosts[from.index()] += 1,
                (Node::Host(_), _) => {}
            }
        }
        let mut graph = Self {
            neighbours,
            hosts,
            order: Vec::new(),
        };
        // From a switch at the edge: partitions are then layers, with few links between them.
        let edge = graph.breadth_first(0).last().copied();
        graph.order = edge.map_or(Vec::new(), |edge| graph.breadth_first(edge));
        graph
    }

    fn breadth_first(&self, from: usize) -> Vec<usize> {
        let mut seen = vec![false; self.hosts.len()];
        let mut order = Vec::new();
        let mut next = VecDeque::new();
        if let Some(first) = seen.get_mut(from) {
            *first = true;
            next.push_back(from);
        }
        while let Some(switch) = next.pop_front() {
            order.push(switch);
            for &neighbour in &self.neighbours[switch] {
                if !std::mem::replace(&mut seen[neighbour], true) {
                    next.push_back(neighbour);
                }
            }
        }
        order
    }

    /// The partitions of the switches with hosts.
    fn assign_hosts(&self, count: usize) -> Vec<Option<usize>> {
        let all: usize = self.hosts.iter().sum();
        let mut before = 0;
        let mut assigned = vec![None; self.hosts.len()];
        for &switch in self.order.iter().filter(|switch| self.hosts[**switch] > 0) {
            // By the middle one of its hosts.
            let middle = 2 * before + self.hosts[switch];
            assigned[switch] = Some(middle * count / (2 * all));
            before += self.hosts[switch];
        }
        assigned
    }

    /// The partitions of all switches: round by round, switches with assigned neighbours join one.
    fn assign_others(&self, mut assigned: Vec<Option<usize>>, count: usize) -> Vec<usize> {
        let mut load = vec![0; count];
        for (switch, partition) in assigned.iter().enumerate() {
            if let Some(partition) = partition {
                load[*partition] += self.degree(switch);
            }
        }
        while assigned.contains(&None) {
            let before = assigned.clone();
            for &switch in self
                .order
                .iter()
                .filter(|switch| before[**switch].is_none())
            {
                let mut links = vec![0_usize; count];
                for partition in self.neighbours[switch].iter().filter_map(|to| before[*to]) {
                    links[partition] += 1;
                }
                let most = links.iter().copied().max().unwrap_or(0);
                // Among partitions with more than half as many links as the maximum, the load decides.
                let good = (0..count).filter(|partition| 2 * links[*partition] > most);
                if let Some(partition) = good.min_by_key(|partition| load[*partition]) {
                    assigned[switch] = Some(partition);
                    load[partition] += self.degree(switch);
                }
            }
            assert!(
                assigned != before,
                "every switch of a connected network is reached"
            );
        }
        let all = assigned.into_iter();
        all.map(|partition| partition.expect("every switch has a partition"))
            .collect()
    }

    fn degree(&self, switch: usize) -> usize {
        self.neighbours[switch].len() + self.hosts[switch]
    }
}

/// Removes unused numbers; returns how many are used.
fn renumber(assigned: &mut [Option<usize>]) -> usize {
    let mut used: Vec<usize> = assigned.iter().copied().flatten().collect();
    used.sort_unstable();
    used.dedup();
    for partition in assigned.iter_mut().flatten() {
        *partition = used.partition_point(|other| *other < *partition);
    }
    used.len()
}

impl Partitioning {
    /// The switches of a partition.
    pub fn switches(&self, partition: usize) -> impl Iterator<Item = SwitchIndex> + '_ {
        let all = self.switches.iter().enumerate();
        all.filter(move |(_, other)| **other == partition)
            .map(|(switch, _)| SwitchIndex::from_index(switch))
    }
}
