//! The links and the ports of switches on which a group's data may travel: those on a shortest path
//! from a sender to a receiver, all that the engine may choose from (its `route.rs`).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use incastle_units::Span;

use crate::language::flows::{Group, Workload};
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::topology::layout::{End, Layout, Link};
use crate::topology::pairs::group_pairs;

/// Links by the node at either end.
pub(crate) struct Routes<'a> {
    layout: &'a Layout,
    /// By host: the port at the other end of its link, and what is there.
    hosts: Vec<Option<(PortAt, End)>>,
    /// By switch: its port, and the switch at the other end of the link.
    switches: Vec<Vec<(PortAt, usize)>>,
}

/// A port: its link, and which of the link's ends it is at.
#[derive(Debug, Clone, Copy)]
struct PortAt {
    link: usize,
    end: usize,
}

/// What data may pass on their way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// By link of the layout.
    links: Vec<bool>,
    /// By link of the layout: the ports of switches at either end.
    ports: Vec<[bool; 2]>,
}

/// Between which switches data travel: of each last one, the first ones.
type Demand = BTreeMap<usize, BTreeSet<usize>>;

impl<'a> Routes<'a> {
    /// With all links that are up at an instant.
    pub(crate) fn new(layout: &'a Layout, at: Span) -> Self {
        let mut routes = Self {
            layout,
            hosts: vec![None; layout.hosts.len()],
            switches: vec![Vec::new(); layout.switches.len()],
        };
        for (place, link) in layout.links.iter().enumerate() {
            let (a, b) = link.ends;
            // A host's own link counts also while it is down: it has no other.
            if matches!((a, b), (End::Switch(_), End::Switch(_))) && link.is_down(at) {
                continue;
            }
            routes.enter(place, (a, b), [0, 1]);
            routes.enter(place, (b, a), [1, 0]);
        }
        routes
    }

    fn enter(&mut self, link: usize, (from, to): (End, End), [near, far]: [usize; 2]) {
        let at = |end| PortAt { link, end };
        match (from, to) {
            (End::Host(host), _) => self.hosts[host] = Some((at(far), to)),
            (End::Switch(from), End::Switch(to)) => self.switches[from].push((at(near), to)),
            (End::Switch(_), End::Host(_)) => {}
        }
    }

    /// What the data of a group may pass; nothing where its hosts do not exist, which is told elsewhere.
    pub(crate) fn passed(&self, group: &Group) -> Passed {
        let hosts = &self.layout.hosts;
        let mut quiet = Context::new(&NoFiles);
        let from = group.from.resolve(hosts, "hosts", "", &mut quiet);
        let to = group.to.resolve(hosts, "hosts", "", &mut quiet);
        let mut passed = Passed::nothing(self.layout);
        let (Some(from), Some(to)) = (from, to) else {
            return passed;
        };
        let mut demand = Demand::new();
        match &group.workload {
            // Anyone may send to anyone.
            Workload::Poisson(_) | Workload::Incast(_) | Workload::Permutation(_) => {
                self.meet(&from, &to, &mut demand, &mut passed);
            }
            Workload::List(list) => {
                let numbers = self.layout.host_numbers();
                for arrival in list.transfers.list() {
                    let ends = [&arrival.source, &arrival.destination];
                    if let [Some(&a), Some(&b)] = ends.map(|name| numbers.get(name)) {
                        self.pair((a, b), &mut demand, &mut passed);
                    }
                }
            }
            _ => {
                for pair in group_pairs(group, &from, &to) {
                    self.pair(pair, &mut demand, &mut passed);
                }
            }
        }
        for (&last, first) in &demand {
            self.between(first, last, &mut passed);
        }
        passed
    }

    /// Each of one set with each of another.
    fn meet(&self, from: &[usize], to: &[usize], demand: &mut Demand, passed: &mut Passed) {
        let other = |host: usize, set: &[usize]| set.iter().copied().find(|&one| one != host);
        for pair in from.iter().filter_map(|&a| Some((a, other(a, to)?))) {
            self.pair(pair, demand, passed);
        }
        for pair in to.iter().filter_map(|&b| Some((other(b, from)?, b))) {
            self.pair(pair, demand, passed);
        }
        let firsts: BTreeSet<usize> = from.iter().filter_map(|&a| self.first_switch(a)).collect();
        // All that the pairs have entered is among them.
        for last in to.iter().filter_map(|&b| self.first_switch(b)) {
            demand.insert(last, firsts.clone());
        }
    }

    /// The switch of a host, unless its link leads to another host.
    fn first_switch(&self, host: usize) -> Option<usize> {
        match self.hosts[host] {
            Some((_, End::Switch(switch))) => Some(switch),
            _ => None,
        }
    }

    /// The links of both ends, and the last port.
    fn pair(&self, (from, to): (usize, usize), demand: &mut Demand, passed: &mut Passed) {
        let (Some((up, first)), Some((down, last))) = (self.hosts[from], self.hosts[to]) else {
            return;
        };
        passed.links[up.link] = true;
        passed.links[down.link] = true;
        if let (End::Switch(first), End::Switch(last)) = (first, last) {
            passed.ports[down.link][down.end] = true;
            demand.entry(last).or_default().insert(first);
        }
    }

    /// Every shortest path from some switches to one.
    fn between(&self, first: &BTreeSet<usize>, last: usize, passed: &mut Passed) {
        let hops = self.hops_to(last);
        let mut seen = vec![false; self.switches.len()];
        for &switch in first {
            seen[switch] = true;
        }
        let mut edge: Vec<usize> = first.iter().copied().collect();
        while let Some(switch) = edge.pop() {
            let Some(left) = hops[switch] else { continue };
            for &(port, next) in &self.switches[switch] {
                if hops[next].is_some_and(|hops| hops + 1 == left) {
                    passed.links[port.link] = true;
                    passed.ports[port.link][port.end] = true;
                    if !std::mem::replace(&mut seen[next], true) {
                        edge.push(next);
                    }
                }
            }
        }
    }

    /// From every switch to one, where there is a way.
    fn hops_to(&self, last: usize) -> Vec<Option<u32>> {
        let mut hops = vec![None; self.switches.len()];
        hops[last] = Some(0);
        let mut edge = VecDeque::from([(last, 0)]);
        while let Some((switch, done)) = edge.pop_front() {
            for &(_, next) in &self.switches[switch] {
                if hops[next].is_none() {
                    hops[next] = Some(done + 1);
                    edge.push_back((next, done + 1));
                }
            }
        }
        hops
    }
}

impl Passed {
    fn nothing(layout: &Layout) -> Self {
        Self {
            links: vec![false; layout.links.len()],
            ports: vec![[false; 2]; layout.links.len()],
        }
    }

    /// What is passed by either.
    pub(crate) fn add(&mut self, other: &Self) {
        for (link, also) in self.links.iter_mut().zip(&other.links) {
            *link |= also;
        }
        for (ports, also) in self
            .ports
            .iter_mut()
            .flatten()
            .zip(other.ports.iter().flatten())
        {
            *ports |= also;
        }
    }

    /// The links, in the order of the layout.
    pub(crate) fn links<'a>(&self, layout: &'a Layout) -> impl Iterator<Item = &'a Link> {
        let links = layout.links.iter().zip(&self.links);
        links.filter(|(_, passed)| **passed).map(|(link, _)| link)
    }

    /// The ports of switches, each as its switch and what it leads to, in the order of their links.
    pub(crate) fn ports(&self, layout: &Layout) -> impl Iterator<Item = (usize, End)> {
        let links = layout.links.iter().zip(&self.ports);
        links.flat_map(|(link, &[first, second])| {
            let (a, b) = link.ends;
            let ports = [first.then_some((a, b)), second.then_some((b, a))];
            ports
                .into_iter()
                .flatten()
                .filter_map(|(from, to)| match from {
                    End::Switch(switch) => Some((switch, to)),
                    End::Host(_) => None,
                })
        })
    }
}
