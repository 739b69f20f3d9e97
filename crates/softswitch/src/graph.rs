//! Hosts, switches, ports between them, and the one shortest path from each node to each host.
//!
//! Leaves out: equal paths. Where two exist the graph is refused: the simulator would spread flows over them.

use std::collections::VecDeque;

use incastle_units::{Bytes, Span};

use crate::port::PortConfig;

/// The most hosts of a network.
pub const MAX_HOSTS: usize = 40;

/// A port from one node to another.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphPort {
    /// The node whose egress port it is.
    pub from: usize,
    /// The node at the other end of the link.
    pub to: usize,
    /// Its parameters.
    pub config: PortConfig,
}

/// An error in a graph.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphError {
    /// Too many hosts.
    #[error("{0} hosts: at least 2 and at most {MAX_HOSTS} are possible")]
    Hosts(usize),
    /// Two ports in one direction.
    #[error("two ports from {0} to {1}: one is possible")]
    Parallel(String, String),
    /// No path.
    #[error("no path from {0} to {1}")]
    NoPath(String, String),
    /// More than one.
    #[error("more than one shortest path from {0} to {1}: one is possible")]
    ManyPaths(String, String),
}

/// The graph. Nodes are numbered: first the hosts, then the switches.
#[derive(Debug, Clone)]
pub struct Graph {
    names: Vec<String>,
    hosts: usize,
    ports: Vec<GraphPort>,
    /// By node, by host: the port of the path.
    next: Vec<Vec<Option<usize>>>,
}

impl Graph {
    /// A graph of nodes with these names, of which the first `hosts` are hosts.
    pub fn new(
        names: Vec<String>,
        hosts: usize,
        ports: Vec<GraphPort>,
    ) -> Result<Self, GraphError> {
        if !(2..=MAX_HOSTS).contains(&hosts) {
            return Err(GraphError::Hosts(hosts));
        }
        let mut graph = Self {
            next: vec![vec![None; hosts]; names.len()],
            names,
            hosts,
            ports,
        };
        graph.check_parallel()?;
        for host in 0..hosts {
            graph.find_paths(host)?;
        }
        Ok(graph)
    }

    fn check_parallel(&self) -> Result<(), GraphError> {
        for (place, port) in self.ports.iter().enumerate() {
            let same = |other: &&GraphPort| (other.from, other.to) == (port.from, port.to);
            if self.ports[..place].iter().any(|other| same(&other)) {
                let name = |node: usize| self.names[node].clone();
                return Err(GraphError::Parallel(name(port.from), name(port.to)));
            }
        }
        Ok(())
    }

    /// Breadth first from the host, against the direction of the ports. Other hosts forward nothing.
    fn find_paths(&mut self, host: usize) -> Result<(), GraphError> {
        let mut hops = vec![usize::MAX; self.names.len()];
        let mut pending = VecDeque::from([host]);
        hops[host] = 0;
        while let Some(node) = pending.pop_front() {
            if node < self.hosts && node != host {
                continue;
            }
            for (number, port) in self.ports.iter().enumerate() {
                if port.to != node {
                    continue;
                }
                if hops[port.from] == usize::MAX {
                    hops[port.from] = hops[node] + 1;
                    self.next[port.from][host] = Some(number);
                    pending.push_back(port.from);
                } else if hops[port.from] == hops[node] + 1 {
                    let name = |node: usize| self.names[node].clone();
                    return Err(GraphError::ManyPaths(name(port.from), name(host)));
                }
            }
        }
        let lost = (0..self.hosts).find(|node| hops[*node] == usize::MAX);
        match lost {
            None => Ok(()),
            Some(node) => Err(GraphError::NoPath(
                self.names[node].clone(),
                self.names[host].clone(),
            )),
        }
    }

    /// The port of a node on the path to a host.
    pub fn next_port(&self, node: usize, host: usize) -> Option<usize> {
        self.next[node][host]
    }

    /// The time that a packet of this size takes from one host to another where nothing waits.
    pub fn idle_time(&self, from: usize, to: usize, size: Bytes) -> Span {
        let (mut node, mut sum) = (from, Span::ZERO);
        while node != to {
            let port = self.next[node][to].expect("there is a path between hosts");
            let config = &self.ports[port].config;
            sum += config.delay + config.rate.span_of(size);
            node = self.ports[port].to;
        }
        sum
    }

    /// The time that a packet of this size occupies the first link from one host to another.
    pub fn sending_time(&self, from: usize, to: usize, size: Bytes) -> Span {
        let port = self.next[from][to].expect("there is a path between hosts");
        self.ports[port].config.rate.span_of(size)
    }

    /// The number of switches between two hosts.
    pub fn switches_between(&self, from: usize, to: usize) -> u32 {
        let (mut node, mut count) = (from, 0);
        while node != to {
            let port = self.next[node][to].expect("there is a path between hosts");
            node = self.ports[port].to;
            count += u32::from(node != to);
        }
        count
    }

    /// The node at the end of a port's link.
    pub fn end_of(&self, port: usize) -> usize {
        self.ports[port].to
    }

    /// The parameters of the ports, in their order.
    pub fn ports(&self) -> impl Iterator<Item = &PortConfig> {
        self.ports.iter().map(|port| &port.config)
    }

    /// The number of ports.
    pub fn port_count(&self) -> usize {
        self.ports.len()
    }

    /// FROM->TO.
    pub fn port_name(&self, port: usize) -> String {
        let GraphPort { from, to, .. } = self.ports[port];
        format!("{}->{}", self.names[from], self.names[to])
    }

    /// Whether a port is a switch's.
    pub fn is_of_switch(&self, port: usize) -> bool {
        self.ports[port].from >= self.hosts
    }

    /// The number of hosts.
    pub const fn hosts(&self) -> usize {
        self.hosts
    }

    /// A node's name.
    pub fn name(&self, node: usize) -> &str {
        &self.names[node]
    }
}
