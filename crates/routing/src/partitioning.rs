//! The partition of each node of a network: a host's is that of its switch, and incastle-routing divides the switches.

use incastle_routing::partition_switches;
use incastle_units::Span;

use crate::core::{Node, SwitchIndex};
use crate::network::{Network, edges};

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
        let links = edges(&network.ports, &network.owners, |_| true);
        let switches = partition_switches(network.switch_count(), &links, count);
        let switches = switches.ok_or(PartitionError::OneSwitch)?;
        let count = switches.iter().max().map_or(0, |last| last + 1);
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

impl Partitioning {
    /// The switches of a partition.
    pub fn switches(&self, partition: usize) -> impl Iterator<Item = SwitchIndex> + '_ {
        let all = self.switches.iter().enumerate();
        all.filter(move |(_, other)| **other == partition)
            .map(|(switch, _)| SwitchIndex::from_index(switch))
    }
}
