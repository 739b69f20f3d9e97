//! The switches and the links between them, and shortest paths in hops.

use std::collections::VecDeque;

use crate::core::{Node, PortIndex};

/// One direction of a link, as far as routing looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edge {
    pub(crate) from: Node,
    pub(crate) to: Node,
    pub(crate) port: PortIndex,
}

/// The switches as adjacency lists.
pub(super) struct Graph {
    forth: Vec<Vec<(usize, PortIndex)>>,
    back: Vec<Vec<usize>>,
}

impl Graph {
    pub(super) fn new(switches: usize, edges: &[Edge]) -> Self {
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

    /// The number of switches.
    pub(super) fn len(&self) -> usize {
        self.forth.len()
    }

    /// Hops from every switch to one, by breadth-first search backwards; `u32::MAX` where there is no
    /// way.
    pub(super) fn distances_to(&self, last: usize) -> Vec<u32> {
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

    /// The ports of a switch that lead one hop closer; none where there is no path.
    pub(super) fn next_ports(&self, switch: usize, distance: &[u32], ports: &mut Vec<PortIndex>) {
        ports.clear();
        // Also where there is no path: nothing is closer than its neighbours, who have none either.
        let Some(closer) = distance[switch].checked_sub(1) else {
            return;
        };
        let next = self.forth[switch].iter();
        let next = next.filter(|&&(to, _)| distance[to] == closer);
        ports.extend(next.map(|&(_, port)| port));
    }
}
