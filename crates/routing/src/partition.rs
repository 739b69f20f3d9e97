//! The division of a network's switches into partitions.
//!
//! Switches with hosts are assigned in breadth-first order, an equal number of hosts to each partition: whole pods of a
//! fat tree, or consecutive leaves. Each other switch joins the partition with most of its links; on a tie, the one with
//! the fewest links so far. Leaves out: the load of links, which is not known ahead.

use std::collections::VecDeque;

use crate::{Edge, Node};

/// The partition of each switch, numbered from zero: at most `count` of them, and no more than there are switches with
/// hosts. Absent where that is one. Every switch must be reachable from every other.
pub fn partition_switches(switches: usize, links: &[Edge], count: usize) -> Option<Vec<usize>> {
    let graph = Graph::new(switches, links);
    let mut assigned = graph.assign_hosts(count);
    let count = renumber(&mut assigned);
    (count > 1).then(|| graph.assign_others(assigned, count))
}

/// The switches with their neighbours and hosts.
struct Graph {
    neighbours: Vec<Vec<usize>>,
    hosts: Vec<usize>,
    /// Breadth-first.
    order: Vec<usize>,
}

impl Graph {
    fn new(switches: usize, links: &[Edge]) -> Self {
        let mut neighbours = vec![Vec::new(); switches];
        let mut hosts = vec![0; switches];
        for link in links {
            match (link.from, link.to) {
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
