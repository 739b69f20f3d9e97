//! The partition of each node of a network: a host's is that of its switch, and `partition` divides the switches.

use incastle_units::Span;

use crate::{Edge, HostIndex, Node, PortIndex, SwitchIndex, partition_switches};

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
    /// At most `count` partitions: no more than there are switches with hosts. `links` are all of the network, in both
    /// directions.
    pub fn new(
        switches: usize,
        links: &[Edge],
        count: usize,
        delay: impl Fn(PortIndex) -> Span,
    ) -> Result<Self, PartitionError> {
        let switches = partition_switches(switches, links, count);
        let switches = switches.ok_or(PartitionError::OneSwitch)?;
        let mut hosts: Vec<(HostIndex, usize)> = Vec::new();
        for link in links {
            if let (Node::Host(host), Node::Switch(switch)) = (link.from, link.to) {
                hosts.push((host, switches[switch.index()]));
            }
        }
        hosts.sort_unstable();
        let mut partitioning = Self {
            count: switches.iter().max().map_or(0, |last| last + 1),
            hosts: hosts.into_iter().map(|(_, partition)| partition).collect(),
            switches,
            lookahead: Span::ZERO,
        };
        let cut = links.iter().filter(|link| partitioning.is_cut(link));
        // Two partitions of a connected network have a link between them.
        let delays = cut.map(|link| delay(link.port));
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

    /// The partition of each port, which is that of its node, and of each host. `owners` are the nodes of all ports.
    pub fn owners(&self, owners: impl Iterator<Item = Node>) -> Owners {
        Owners {
            ports: owners.map(|owner| self.of(owner)).collect(),
            hosts: self.hosts.clone(),
        }
    }

    /// The minimum delay of the links between partitions.
    pub fn lookahead(&self) -> Span {
        self.lookahead
    }

    /// Whether a link leads from one partition into another.
    pub fn is_cut(&self, link: &Edge) -> bool {
        self.of(link.from) != self.of(link.to)
    }

    /// The switches of a partition.
    pub fn switches(&self, partition: usize) -> impl Iterator<Item = SwitchIndex> + '_ {
        let all = self.switches.iter().enumerate();
        all.filter(move |(_, other)| **other == partition)
            .map(|(switch, _)| SwitchIndex::from_index(switch))
    }
}
