//! Classes of equal links, and the simulated links of each.
//!
//! The links of a class have the same rate, delay and distance from hosts, and the same disciplines at their ports.
//! Where not all of a class are simulated, its links are sorted by bytes, and divided into clusters that carry
//! about the same. Many quiet links form one cluster; a busy one is
//! a cluster by itself. The median link of a cluster is simulated. If none of these has flows at a kind of
//! ports, the busiest link of that kind is simulated too.
//!
//! The NSDI paper (section 3.5) clusters links whose sizes, gaps and loads differ by less than thresholds.
//! Links with some hundred flows of a heavy-tailed distribution are never that close.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::crossings::{Crossings, Directed};
use incastle_scenario::Scenario;
use incastle_scenario::language::switch::Switch;
use incastle_scenario::topology::layout::{End, Layout};
use incastle_workload::Opening;

/// The properties of a class of links.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Kind {
    rate: u64,
    delay: u64,
    /// The kind of the node nearer to hosts, then of the other.
    ends: [EndKind; 2],
}

/// Distance from hosts, switch parameters, group of ports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct EndKind {
    depth: u32,
    switch: Option<usize>,
    ports: Option<usize>,
}

/// The kind of ports that send in a direction of a link: rate, switch parameters, group
/// of ports.
pub(super) type PortKind = (u64, Option<usize>, Option<usize>);

/// All links that flows cross.
pub(super) struct Clusters {
    /// By link: its class.
    classes: Vec<Option<usize>>,
    /// By class: the simulated links, and the number of links that each represents.
    by_class: Vec<Vec<(usize, u64)>>,
    /// All of these, in the order of the layout.
    simulated: Vec<usize>,
    /// By link: application bytes that cross it in either direction.
    carried: Vec<[u64; 2]>,
    /// By link and direction.
    ports: Vec<[PortKind; 2]>,
}

impl Clusters {
    pub(super) fn new(
        scenario: &Scenario,
        flows: &[Opening],
        crossings: &Crossings,
        per_class: Option<usize>,
    ) -> Self {
        let layout = scenario.layout();
        let mut carried = vec![[0; 2]; layout.links.len()];
        for (place, flow) in flows.iter().enumerate() {
            for step in crossings.path(place) {
                carried[step.link][step.direction] += flow.bytes;
            }
        }
        let depths = depths(layout);
        let kinds = Kinds {
            layout,
            switches: scenario.switches(),
            depths: &depths,
        };
        let ports: Vec<[PortKind; 2]> = (0..layout.links.len())
            .map(|link| kinds.ports(link))
            .collect();
        let mut classes = vec![None; layout.links.len()];
        let mut known = BTreeMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for link in (0..layout.links.len()).filter(|&link| carried[link] != [0, 0]) {
            let class = *known.entry(kinds.of(link)).or_insert_with(|| {
                members.push(Vec::new());
                members.len() - 1
            });
            classes[link] = Some(class);
            members[class].push(link);
        }
        let load = |link: usize| carried[link][0] + carried[link][1];
        let chosen = members.into_iter().map(|links| match per_class {
            Some(max) if links.len() > max => {
                let mut chosen = middles(links.clone(), max, load);
                add_ports(&mut chosen, &links, &carried, &ports);
                chosen
            }
            _ => links.into_iter().map(|link| (link, 1)).collect(),
        });
        let by_class: Vec<Vec<(usize, u64)>> = chosen.collect();
        let mut simulated: Vec<usize> = by_class.iter().flatten().map(|(link, _)| *link).collect();
        simulated.sort_unstable();
        Self {
            classes,
            by_class,
            simulated,
            carried,
            ports,
        }
    }

    /// The links that flows cross.
    pub(super) fn crossed(&self) -> usize {
        self.classes.iter().flatten().count()
    }

    pub(super) fn simulated(&self) -> &[usize] {
        &self.simulated
    }

    pub(super) fn class(&self, link: usize) -> Option<usize> {
        self.classes[link]
    }

    pub(super) fn of_class(&self) -> &[Vec<(usize, u64)>] {
        &self.by_class
    }

    /// Application bytes that cross a link.
    pub(super) fn carried(&self, link: usize) -> u64 {
        self.carried[link][0] + self.carried[link][1]
    }

    /// Application bytes that cross a link in a direction.
    pub(super) fn carried_in(&self, step: Directed) -> u64 {
        self.carried[step.link][step.direction]
    }

    /// The kind of the port.
    pub(super) fn port_kind(&self, step: Directed) -> PortKind {
        self.ports[step.link][step.direction]
    }
}

/// Ensures that a simulated link exists for each kind of port, so that flows there can be drawn.
fn add_ports(
    chosen: &mut Vec<(usize, u64)>,
    links: &[usize],
    carried: &[[u64; 2]],
    ports: &[[PortKind; 2]],
) {
    let steps = |link: usize| {
        let both = [0, 1].map(|direction| (carried[link][direction], ports[link][direction], link));
        both.into_iter().filter(|(load, ..)| *load > 0)
    };
    let kinds: BTreeSet<PortKind> = links
        .iter()
        .flat_map(|&link| steps(link))
        .map(|step| step.1)
        .collect();
    for wanted in kinds {
        let is_wanted = |step: &(u64, PortKind, usize)| step.1 == wanted;
        if chosen
            .iter()
            .any(|&(link, _)| steps(link).any(|step| is_wanted(&step)))
        {
            continue;
        }
        let all = links.iter().flat_map(|&link| steps(link));
        let busiest = all.filter(is_wanted).max_by_key(|(load, ..)| *load);
        chosen.extend(busiest.map(|(_, _, link)| (link, 1)));
    }
}

/// Divides links into at most `limit` clusters with about equal sums of weights: the load of a link plus the mean
/// load of all. Returns the middle link of each cluster with its number of links.
fn middles(mut links: Vec<usize>, limit: usize, load: impl Fn(usize) -> u64) -> Vec<(usize, u64)> {
    links.sort_by_key(|&link| (load(link), link));
    let carried: u128 = links.iter().map(|&link| u128::from(load(link))).sum();
    let count = links.len() as u128;
    // Both as multiples, so that the mean is whole.
    let total = 2 * count * carried;
    let mut clusters: Vec<Vec<usize>> = vec![Vec::new(); limit];
    let mut before = 0_u128;
    for link in links {
        let own = count * u128::from(load(link)) + carried;
        // The cluster in which the middle of its share lies.
        let cluster = (2 * before + own) * limit as u128 / (2 * total);
        clusters[(cluster as usize).min(limit - 1)].push(link);
        before += own;
    }
    let full = clusters.iter().filter(|links| !links.is_empty());
    let middle = |links: &Vec<usize>| (links[links.len() / 2], links.len() as u64);
    full.map(middle).collect()
}

/// The keys of classes.
struct Kinds<'a> {
    layout: &'a Layout,
    switches: Vec<&'a Switch>,
    depths: &'a [u32],
}

impl Kinds<'_> {
    fn of(&self, place: usize) -> Kind {
        let link = &self.layout.links[place];
        let (a, b) = link.ends;
        let mut ends = [self.end(a, b), self.end(b, a)];
        ends.sort();
        Kind {
            rate: link.rate.bits_per_second(),
            delay: link.delay.as_ps(),
            ends,
        }
    }

    fn ports(&self, place: usize) -> [PortKind; 2] {
        let link = &self.layout.links[place];
        let (a, b) = link.ends;
        [(a, b), (b, a)].map(|(near, far)| {
            let end = self.end(near, far);
            (link.rate.bits_per_second(), end.switch, end.ports)
        })
    }

    fn end(&self, end: End, other: End) -> EndKind {
        let depth = self.depths[self.layout.position(end)];
        let End::Switch(switch) = end else {
            return EndKind {
                depth,
                switch: None,
                ports: None,
            };
        };
        let own = self.switches[switch];
        let like = |one: &&Switch| std::ptr::eq(*one, own) || **one == *own;
        EndKind {
            depth,
            switch: self.switches.iter().position(like),
            ports: own.port_group(self.layout.name(other)),
        }
    }
}

/// Links from each host and switch to the nearest host.
fn depths(layout: &Layout) -> Vec<u32> {
    let mut neighbours = vec![Vec::new(); layout.hosts.len() + layout.switches.len()];
    for link in &layout.links {
        let (a, b) = (layout.position(link.ends.0), layout.position(link.ends.1));
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut depths = vec![u32::MAX; neighbours.len()];
    let mut edge: VecDeque<usize> = (0..layout.hosts.len()).collect();
    depths[..layout.hosts.len()].fill(0);
    while let Some(node) = edge.pop_front() {
        for &next in &neighbours[node] {
            if depths[next] == u32::MAX {
                depths[next] = depths[node] + 1;
                edge.push_back(next);
            }
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_have_equal_shares_of_links_and_loads() {
        // Nine links of 1 and one of 21, 30 in all, 3 on average: shares of 4 and 24, 60 in all.
        let load = |link: usize| if link == 3 { 21 } else { 1 };
        let links: Vec<usize> = (0..10).collect();
        // Middles of shares at 2, 6, 10, 14, then 18, 22, 26, then 30, 34, then 48: four clusters of 15.
        let four = middles(links.clone(), 4, load);
        assert_eq!(four, [(2, 4), (6, 3), (9, 2), (3, 1)]);
        // One cluster of all: the sixth of ten in order of load.
        assert_eq!(middles(links, 1, load), [(6, 10)]);
    }
}
