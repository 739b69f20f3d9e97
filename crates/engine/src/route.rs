//! Routes: for each switch and host, the ports that lie on a shortest path (in hops).
//!
//! Among several equal ports a flow's direction always takes the same one, chosen by a seeded hash
//! (ECMP, RFC 2992's idea with a better hash). Leaves out: weights, failures, per-packet spraying.

use std::collections::VecDeque;

use crate::{Digest, EndpointIndex, HostIndex, Node, PortIndex, SwitchIndex};

/// Marks a table entry that names a group of ports rather than one port.
const GROUP: u32 = 1 << 31;
/// No path.
const NONE: u32 = u32::MAX;

/// All routes of a network.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    hosts: usize,
    seed: u64,
    /// By switch, then host.
    table: Vec<u32>,
    groups: Vec<Vec<PortIndex>>,
}

/// One direction of a link, as far as routing looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) port: PortIndex,
}

impl Routes {
    /// Shortest paths over `edges`; hosts do not forward.
    pub(crate) fn new(hosts: usize, switches: usize, edges: &[Edge], seed: u64) -> Self {
        let mut routes = Self {
            hosts,
            seed,
            table: vec![NONE; hosts * switches],
            groups: Vec::new(),
        };
        let graph = Graph::new(switches, hosts, edges);
        for host in 0..hosts {
            let distance = graph.distances_to(host);
            for switch in 0..switches {
                let ports = graph.next_ports(switch, host, &distance);
                routes.table[switch * hosts + host] = routes.entry(ports);
            }
        }
        routes
    }

    fn entry(&mut self, ports: Vec<PortIndex>) -> u32 {
        match ports.as_slice() {
            [] => NONE,
            [port] => port.0,
            _ => {
                let known = self.groups.iter().position(|group| *group == ports);
                let place = known.unwrap_or_else(|| {
                    self.groups.push(ports);
                    self.groups.len() - 1
                });
                GROUP | u32::try_from(place).expect("fewer than 2^31 groups")
            }
        }
    }

    /// The port by which a switch sends what is for an endpoint at a host.
    #[inline]
    pub(crate) fn port(
        &self,
        switch: SwitchIndex,
        host: HostIndex,
        to: EndpointIndex,
    ) -> Option<PortIndex> {
        let entry = self.table[switch.index() * self.hosts + host.index()];
        if entry & GROUP == 0 {
            return Some(PortIndex(entry));
        }
        if entry == NONE {
            return None;
        }
        let group = &self.groups[(entry & !GROUP) as usize];
        let mut hash = Digest::default();
        hash.mix(self.seed ^ u64::from(switch.0), u64::from(to.0));
        hash.mix(0, 0);
        let choice = (u128::from(hash.value()) * group.len() as u128) >> 64;
        Some(group[choice as usize])
    }
}

/// The network as adjacency lists by node: switches first, then hosts.
struct Graph {
    switches: usize,
    forth: Vec<Vec<(usize, PortIndex)>>,
    back: Vec<Vec<usize>>,
}

impl Graph {
    fn new(switches: usize, hosts: usize, edges: &[Edge]) -> Self {
        let mut graph = Self {
            switches,
            forth: vec![Vec::new(); switches + hosts],
            back: vec![Vec::new(); switches + hosts],
        };
        for edge in edges {
            let (from, to) = (graph.place(edge.from), graph.place(edge.to));
            graph.forth[from].push((to, edge.port));
            graph.back[to].push(from);
        }
        graph
    }

    fn place(&self, node: Node) -> usize {
        match node {
            Node::Switch(switch) => switch.index(),
            Node::Host(host) => self.switches + host.index(),
        }
    }

    /// Hops from every node to a host, by breadth-first search backwards.
    fn distances_to(&self, host: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.forth.len()];
        let target = self.switches + host;
        distance[target] = 0;
        let mut reached = VecDeque::from([target]);
        while let Some(node) = reached.pop_front() {
            // Hosts send and receive, they do not forward.
            if node >= self.switches && node != target {
                continue;
            }
            for &before in &self.back[node] {
                if distance[before] == u32::MAX {
                    distance[before] = distance[node] + 1;
                    reached.push_back(before);
                }
            }
        }
        distance
    }

    fn next_ports(&self, switch: usize, host: usize, distance: &[u32]) -> Vec<PortIndex> {
        if distance[switch] == u32::MAX {
            return Vec::new();
        }
        let closer = |&&(to, _): &&(usize, PortIndex)| {
            let forwards = to < self.switches || to == self.switches + host;
            forwards && distance[to] != u32::MAX && distance[to] + 1 == distance[switch]
        };
        self.forth[switch]
            .iter()
            .filter(closer)
            .map(|&(_, port)| port)
            .collect()
    }
}
