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
    /// Shortest paths over `edges`; hosts do not forward. All hosts at one switch share the paths to
    /// it, so that the search runs once per switch that has hosts.
    pub(crate) fn new(hosts: usize, switches: usize, edges: &[Edge], seed: u64) -> Self {
        let mut routes = Self {
            hosts,
            seed,
            table: vec![NONE; hosts * switches],
            groups: Vec::new(),
        };
        let graph = Graph::new(switches, edges);
        let mut paths: Vec<Option<Vec<u32>>> = vec![None; switches];
        for edge in edges {
            let (Node::Switch(last), Node::Host(host)) = (edge.from, edge.to) else {
                continue;
            };
            let to_last =
                paths[last.index()].get_or_insert_with(|| routes.paths_to(&graph, last.index()));
            for (switch, &entry) in to_last.iter().enumerate() {
                routes.table[switch * hosts + host.index()] = entry;
            }
            routes.table[last.index() * hosts + host.index()] = edge.port.0;
        }
        routes
    }

    /// The entries of all switches for what is behind one of them.
    fn paths_to(&mut self, graph: &Graph, last: usize) -> Vec<u32> {
        let distance = graph.distances_to(last);
        (0..distance.len())
            .map(|switch| self.entry(graph.next_ports(switch, &distance)))
            .collect()
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

/// The switches as adjacency lists.
struct Graph {
    forth: Vec<Vec<(usize, PortIndex)>>,
    back: Vec<Vec<usize>>,
}

impl Graph {
    fn new(switches: usize, edges: &[Edge]) -> Self {
        let mut graph = Self {
            forth: vec![Vec::new(); switches],
            back: vec![Vec::new(); switches],
        };
        for edge in edges {
            if let (Node::Switch(from), Node::Switch(to)) = (edge.from, edge.to) {
                graph.forth[from.index()].push((to.index(), edge.port));
                graph.back[to.index()].push(from.index());
            }
        }
        graph
    }

    /// Hops from every switch to one, by breadth-first search backwards.
    fn distances_to(&self, last: usize) -> Vec<u32> {
        let mut distance = vec![u32::MAX; self.forth.len()];
        distance[last] = 0;
        let mut reached = VecDeque::from([last]);
        while let Some(switch) = reached.pop_front() {
            for &before in &self.back[switch] {
                if distance[before] == u32::MAX {
                    distance[before] = distance[switch] + 1;
                    reached.push_back(before);
                }
            }
        }
        distance
    }

    /// The ports of a switch that lead one hop closer.
    fn next_ports(&self, switch: usize, distance: &[u32]) -> Vec<PortIndex> {
        if distance[switch] == u32::MAX {
            return Vec::new();
        }
        let closer = |&&(to, _): &&(usize, PortIndex)| {
            distance[to] != u32::MAX && distance[to] + 1 == distance[switch]
        };
        self.forth[switch]
            .iter()
            .filter(closer)
            .map(|&(_, port)| port)
            .collect()
    }
}
