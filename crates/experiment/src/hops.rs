//! The packet-hops that a run is expected to have, from the scenario alone: its time is proportional to them.
//!
//! Each data packet crosses the links of a shortest path between two hosts of its group, and an acknowledgement comes
//! back. It is an upper estimate, up to five times too large: groups that share a link count with all of it each, and
//! acknowledgements are delayed in most scenarios. Leaves out: repetitions and control packets (CNPs, pauses).

use std::collections::VecDeque;

use incastle_scenario::Scenario;
use incastle_scenario::topology::layout::{End, Layout};
use incastle_scenario::topology::pairs::GroupHosts;

use crate::memory::offered_packets;

/// A data packet and its acknowledgement.
const BOTH_WAYS: f64 = 2.0;
/// Pairs of hosts of a group whose distance is looked up: a large network has many, and its layers are alike.
const MOST_PAIRS: usize = 16;

/// The packet-hops that a run will have, about.
pub fn expected_packet_hops(scenario: &Scenario) -> f64 {
    let layout = scenario.layout();
    let nodes = Neighbours::of(layout);
    let groups = scenario.tables().flows.iter().map(|(_, group)| group);
    let hops = groups.map(|group| {
        let pairs = GroupHosts::of(group, layout).pairs(group);
        let chosen = pairs
            .iter()
            .step_by(pairs.len().div_ceil(MOST_PAIRS).max(1));
        let distances: Vec<f64> = chosen
            .filter_map(|pair| nodes.distance(pair.from, pair.to))
            .collect();
        let mean = distances.iter().sum::<f64>() / distances.len().max(1) as f64;
        BOTH_WAYS * mean * offered_packets(group, scenario)
    });
    hops.sum()
}

/// The neighbours of each node: hosts first, then switches.
struct Neighbours(Vec<Vec<usize>>);

impl Neighbours {
    fn of(layout: &Layout) -> Self {
        let number = |end| match end {
            End::Host(host) => host,
            End::Switch(switch) => layout.hosts.len() + switch,
        };
        let mut neighbours = vec![Vec::new(); layout.hosts.len() + layout.switches.len()];
        for link in &layout.links {
            let (a, b) = (number(link.ends.0), number(link.ends.1));
            neighbours[a].push(b);
            neighbours[b].push(a);
        }
        Self(neighbours)
    }

    /// The links of a shortest path; none where no path exists.
    fn distance(&self, from: usize, to: usize) -> Option<f64> {
        let mut links = vec![None; self.0.len()];
        links[from] = Some(0_u32);
        let mut next = VecDeque::from([from]);
        while let Some(node) = next.pop_front() {
            let reached = links[node].expect("nodes in the queue have been reached");
            if node == to {
                return Some(f64::from(reached));
            }
            for &neighbour in &self.0[node] {
                if links[neighbour].is_none() {
                    links[neighbour] = Some(reached + 1);
                    next.push_back(neighbour);
                }
            }
        }
        None
    }
}
