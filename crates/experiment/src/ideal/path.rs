//! The copy of a path: two hosts, and the switches and links between them.

use std::sync::Arc;

use incastle_engine::network::Network;
use incastle_units::{Rate, Span};

use crate::network::{Parts, assemble};
use incastle_scenario::Scenario;
use incastle_scenario::language::Root;
use incastle_scenario::language::switch::Switch;
use incastle_scenario::topology::layout::{End, Layout, Link};
use incastle_scenario::topology::pairs::Pair;
use incastle_workload::Paths;

/// The class of a path: rates (bits per second) and delays (picoseconds) of its links, and
/// the parameters of the switches between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PathKey {
    links: Vec<(u64, u64)>,
    /// For each switch the first one with the same parameters. If only some of its ports have congestion
    /// points, it is the switch itself.
    switches: Vec<usize>,
    /// For each port that sends on this path, in either direction, its group.
    ports: Vec<Option<usize>>,
}

/// The parameters of a scenario's switches.
pub(super) struct Switches<'a> {
    layout: &'a Layout,
    all: Vec<&'a Switch>,
}

impl<'a> Switches<'a> {
    pub(super) fn new(scenario: &'a Scenario) -> Self {
        let layout = scenario.layout();
        Self {
            layout,
            all: scenario.switches(),
        }
    }

    /// The description of a path from its last link to its first.
    pub(super) fn key(&self, path: &[&Link]) -> PathKey {
        let Self { layout, all } = self;
        let links = path.iter().rev();
        let directions = links.clone().flat_map(|link| {
            let (a, b) = link.ends;
            [(a, b), (b, a)]
        });
        let ports = directions.filter_map(|(from, to)| match from {
            End::Switch(switch) => Some(all[switch].port_group(layout.name(to))),
            End::Host(_) => None,
        });
        PathKey {
            ports: ports.collect(),
            links: links
                .map(|link| (link.rate.bits_per_second(), link.delay.as_ps()))
                .collect(),
            switches: nodes(path)
                .into_iter()
                .map(|switch| match &all[switch].qcn {
                    Some(_) => switch,
                    None => first_like(all, switch),
                })
                .collect(),
        }
    }
}

fn first_like(all: &[&Switch], switch: usize) -> usize {
    let like = |one: &&Switch| std::ptr::eq(*one, all[switch]) || **one == *all[switch];
    all.iter().position(like).unwrap_or(switch)
}

/// The switches that a path visits, in its order.
fn nodes(path: &[&Link]) -> Vec<usize> {
    let mut visited = Vec::new();
    for pair in path.windows(2) {
        let ends = |link: &Link| [link.ends.0, link.ends.1];
        let shared = ends(pair[0])
            .into_iter()
            .find(|end| matches!(end, End::Switch(_)) && ends(pair[1]).contains(end));
        if let Some(End::Switch(switch)) = shared {
            visited.push(switch);
        }
    }
    visited.reverse();
    visited
}

/// A path, ready to be built.
pub(super) struct PathCopy {
    root: Root,
    paths: Arc<Paths>,
    switches: Vec<Switch>,
    seed: u64,
}

impl PathCopy {
    /// The copy of a path from its last link to its first. Host 0 sends, host 1 receives.
    pub(super) fn new(scenario: &Scenario, hosts: Pair, path: &[&Link]) -> Self {
        let (root, whole) = (scenario.tables(), scenario.layout());
        let all = scenario.switches();
        let visited = nodes(path);
        assert_ne!(
            hosts.from, hosts.to,
            "a path leads from one host to another"
        );
        assert_eq!(
            visited.len() + 1,
            path.len(),
            "a switch between any two links"
        );
        let place = |end: End| match end {
            End::Host(host) => End::Host(usize::from(host != hosts.from)),
            End::Switch(switch) => {
                let place = visited.iter().position(|&one| one == switch);
                End::Switch(place.expect("a path links what it visits"))
            }
        };
        let links = path.iter().rev().map(|link| {
            let mut link = (*link).clone();
            link.ends = (place(link.ends.0), place(link.ends.1));
            link.schedule = Vec::new();
            link.failures = Vec::new();
            link.degraded = Vec::new();
            link
        });
        let names = [hosts.from, hosts.to].map(|host| whole.hosts[host].clone());
        let switches = visited.iter();
        let switches = switches.map(|&switch| whole.switches[switch].clone());
        let layout = Layout::of(names.to_vec(), switches.collect(), links.collect());
        let mut root = root.clone();
        root.host.jitter = Span::ZERO;
        Self {
            root,
            paths: Arc::new(Paths::new(&Arc::new(layout))),
            switches: visited.iter().map(|&switch| all[switch].clone()).collect(),
            seed: scenario.seed(),
        }
    }

    /// The network of the path.
    pub(super) fn network(&self) -> Network {
        let switches: Vec<&Switch> = self.switches.iter().collect();
        let parts = Parts {
            root: &self.root,
            layout: self.paths.layout(),
            switches: &switches,
        };
        assemble(&parts, self.seed).expect("the whole network has been built")
    }

    /// The rates of its links, the sender's first.
    pub(super) fn rates(&self) -> impl Iterator<Item = Rate> + '_ {
        let links = self.paths.layout().links.iter();
        links.map(|link| link.rate)
    }

    /// Its one-way delay.
    pub(super) fn delay(&self) -> Span {
        let mut delay = Span::ZERO;
        for link in &self.paths.layout().links {
            delay += link.delay;
        }
        delay
    }

    /// Its only path, with hosts, switches and links.
    pub(super) fn paths(&self) -> &Arc<Paths> {
        &self.paths
    }

    pub(super) fn root(&self) -> &Root {
        &self.root
    }
}
