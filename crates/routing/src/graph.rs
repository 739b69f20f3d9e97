//! The switches and the links between them, and shortest paths in hops.

use std::collections::VecDeque;

use crate::{Node, PortIndex};

/// One direction of a link.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The node that sends.
    pub from: Node,
    /// The node that the link leads to.
    pub to: Node,
    /// The port of the sending node.
    pub port: PortIndex,
}

/// A link to another switch.
#[derive(Debug, Clone, Copy)]
struct Outgoing {
    to: usize,
    port: PortIndex,
}

/// The switches as adjacency lists.
pub(crate) struct Graph {
    /// By switch: the outgoing links.
    forth: Vec<Vec<Outgoing>>,
    /// By switch: the switches with a link to it.
    back: Vec<Vec<usize>>,
}

impl Graph {
    pub(crate) fn new(switches: usize, edges: &[Edge]) -> Self {
        let mut graph = Self {
            forth: vec![Vec::new(); switches],
            back: vec![Vec::new(); switches],
        };
        for edge in edges {
            if let (Node::Switch(from), Node::Switch(to)) = (edge.from, edge.to) {
                graph.forth[from.index()].push(Outgoing {
                    to: to.index(),
                    port: edge.port,
                });
                graph.back[to.index()].push(from.index());
            }
        }
        graph
    }

    /// The number of switches.
    pub(crate) fn len(&self) -> usize {
        self.forth.len()
    }

    /// Hops from every switch to one, by breadth-first search backwards; `u32::MAX` without a path.
    pub(crate) fn distances_to(&self, last: usize) -> Vec<u32> {
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

    /// The ports of a switch that lead one hop closer; none without a path.
    pub(crate) fn next_ports(&self, switch: usize, distance: &[u32], ports: &mut Vec<PortIndex>) {
        ports.clear();
        // Without a path no neighbour is closer: none of them has a path either.
        let Some(closer) = distance[switch].checked_sub(1) else {
            return;
        };
        let next = self.forth[switch].iter();
        let next = next.filter(|link| distance[link.to] == closer);
        ports.extend(next.map(|link| link.port));
    }
}
