//! The links and the ports of switches on which a group's data may travel. They are those on all shortest
//! paths from a sender to a receiver, among which incastle-routing chooses.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use incastle_units::Span;

use crate::language::flows::{Group, Workload};
use crate::topology::layout::{End, Layout, Link};
use crate::topology::pairs::{GroupHosts, Pair, covering};

/// Links by the node at either side.
pub(crate) struct Routes<'a> {
    layout: &'a Layout,
    /// By host: the port at the other side of its link, and that node.
    hosts: Vec<Option<(PortAt, End)>>,
    /// By switch: its port, and the neighbor switch.
    switches: Vec<Vec<(PortAt, usize)>>,
}

/// A port: its link, and its side of the link.
#[derive(Debug, Clone, Copy)]
struct PortAt {
    link: usize,
    end: usize,
}

/// A path with the fewest links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Shortest {
    /// The delays of its links, one way.
    pub(crate) delay: Span,
    /// The seconds that its links take for a byte, one way, all of them together.
    pub(crate) seconds_per_byte: f64,
    /// Its switches.
    pub(crate) hops: u32,
}

/// The links and ports on paths of data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    /// By link of the layout.
    links: Vec<bool>,
    /// By link of the layout: the switches' ports at either side.
    ports: Vec<[bool; 2]>,
}

/// The pairs of switches between which data travel: for each last one, the first ones.
/// If any host may send to any, all last ones have the same first ones.
type Demand = BTreeMap<usize, Rc<BTreeSet<usize>>>;

/// Switches at one distance, each with the last ones that it has that distance to.
type Shell = Vec<(usize, u64)>;

/// Last switches that are searched from at once: the bits of a word.
const AT_ONCE: usize = u64::BITS as usize;

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
            routes.enter(place, [a, b], [0, 1]);
            routes.enter(place, [b, a], [1, 0]);
        }
        routes
    }

    /// The path from one host to another with the fewest links; of several the one of the least delay.
    pub(crate) fn shortest(&self, pair: Pair) -> Option<Shortest> {
        let ((up, first), (down, last)) = (self.hosts[pair.from]?, self.hosts[pair.to]?);
        let of = |port: PortAt| {
            let link = &self.layout.links[port.link];
            (link.delay, 1.0 / link.rate.bytes_per_second_lossy())
        };
        let sum = |one: (Span, f64), other: (Span, f64)| {
            let delay = one.0.as_ps().saturating_add(other.0.as_ps());
            (Span::from_ps(delay), one.1 + other.1)
        };
        let found = |(delay, seconds_per_byte), hops| Shortest {
            delay,
            seconds_per_byte,
            hops,
        };
        let (End::Switch(first), End::Switch(last)) = (first, last) else {
            return Some(found(of(up), 0));
        };
        let mut seen = vec![false; self.switches.len()];
        let mut shell = BTreeMap::from([(first, sum(of(up), of(down)))]);
        let mut hops = 0;
        while !shell.is_empty() {
            hops += 1;
            if let Some(&path) = shell.get(&last) {
                return Some(found(path, hops));
            }
            let mut farther = BTreeMap::new();
            for (&switch, &path) in &shell {
                seen[switch] = true;
                for &(port, next) in &self.switches[switch] {
                    let path = sum(path, of(port));
                    let least = farther.entry(next).or_insert(path);
                    if path.0 < least.0 {
                        *least = path;
                    }
                }
            }
            farther.retain(|next, _| !seen[*next]);
            shell = farther;
        }
        None
    }

    fn enter(&mut self, link: usize, [from, to]: [End; 2], [near, far]: [usize; 2]) {
        let at = |end| PortAt { link, end };
        match (from, to) {
            (End::Host(host), _) => self.hosts[host] = Some((at(far), to)),
            (End::Switch(from), End::Switch(to)) => self.switches[from].push((at(near), to)),
            (End::Switch(_), End::Host(_)) => {}
        }
    }

    /// The links and ports on the paths of a group's data; none where its hosts do not exist, which is reported elsewhere.
    pub(crate) fn passed(&self, group: &Group) -> Passed {
        let mut passed = Passed::nothing(self.layout);
        let Some(hosts) = GroupHosts::find(group, self.layout) else {
            return passed;
        };
        let mut demand = Demand::new();
        match &group.workload {
            // Any host may send to any other.
            Workload::Poisson(_) | Workload::RandomIncast(_) | Workload::Permutation(_) => {
                self.meet(&hosts, &mut demand, &mut passed);
            }
            Workload::FlowList(list) => {
                let numbers = self.layout.host_numbers();
                for arrival in list.transfers.list() {
                    let ends = [&arrival.source, &arrival.destination];
                    if let [Some(&from), Some(&to)] = ends.map(|name| numbers.get(name)) {
                        self.pair(Pair { from, to }, &mut demand, &mut passed);
                    }
                }
            }
            _ => {
                for pair in hosts.pairs(group) {
                    self.pair(pair, &mut demand, &mut passed);
                }
            }
        }
        let demand: Vec<_> = demand.into_iter().collect();
        for some in demand.chunks(AT_ONCE) {
            self.between(some, &mut passed);
        }
        passed
    }

    /// Each of one set with each of another.
    fn meet(&self, hosts: &GroupHosts, demand: &mut Demand, passed: &mut Passed) {
        let GroupHosts { from, to } = hosts;
        for pair in covering(from, to) {
            self.pair(pair, demand, passed);
        }
        let firsts: BTreeSet<usize> = from.iter().filter_map(|&a| self.first_switch(a)).collect();
        let lasts: BTreeSet<usize> = to.iter().filter_map(|&b| self.first_switch(b)).collect();
        // It includes everything that the pairs have added.
        let firsts = Rc::new(firsts);
        demand.extend(lasts.into_iter().map(|last| (last, Rc::clone(&firsts))));
    }

    /// The switch of a host, unless its link leads to another host.
    fn first_switch(&self, host: usize) -> Option<usize> {
        match self.hosts[host] {
            Some((_, End::Switch(switch))) => Some(switch),
            _ => None,
        }
    }

    /// The links of both hosts, and the last port.
    fn pair(&self, pair: Pair, demand: &mut Demand, passed: &mut Passed) {
        let (Some((up, first)), Some((down, last))) = (self.hosts[pair.from], self.hosts[pair.to])
        else {
            return;
        };
        passed.links[up.link] = true;
        passed.links[down.link] = true;
        if let (End::Switch(first), End::Switch(last)) = (first, last) {
            passed.ports[down.link][down.end] = true;
            Rc::make_mut(demand.entry(last).or_default()).insert(first);
        }
    }

    /// Every shortest path of a demand, for at most as many last switches as a word has bits.
    fn between(&self, demand: &[(usize, Rc<BTreeSet<usize>>)], passed: &mut Passed) {
        // By switch: the last switches of the data that pass it.
        let mut passing: Vec<u64> = vec![0; self.switches.len()];
        for (bit, (_, firsts)) in demand.iter().enumerate() {
            for &first in firsts.iter() {
                passing[first] |= 1 << bit;
            }
        }
        let shells = self.shells(demand.iter().map(|(last, _)| *last));
        // By switch: the last switches to which it is one link closer.
        let mut nearer: Vec<u64> = vec![0; self.switches.len()];
        for shells in shells.windows(2).rev() {
            let [near, far] = [&shells[0], &shells[1]];
            for &(switch, lasts) in near {
                nearer[switch] = lasts;
            }
            for &(switch, lasts) in far {
                for &(port, next) in &self.switches[switch] {
                    let onward = passing[switch] & lasts & nearer[next];
                    if onward != 0 {
                        passed.links[port.link] = true;
                        passed.ports[port.link][port.end] = true;
                        passing[next] |= onward;
                    }
                }
            }
            for &(switch, _) in near {
                nearer[switch] = 0;
            }
        }
    }

    /// By number of links: the switches with shortest paths of that length, each with the last ones that it has them to.
    /// All of these are searched from at once, a bit of each word for each: a network is read once for 64 of
    /// them (M. Then et al., "The more the merrier: efficient multi-source graph traversal", VLDB 2014).
    fn shells(&self, lasts: impl Iterator<Item = usize>) -> Vec<Shell> {
        let mut seen: Vec<u64> = vec![0; self.switches.len()];
        let mut found = seen.clone();
        let mut shell: Shell = lasts
            .enumerate()
            .map(|(bit, last)| (last, 1 << bit))
            .collect();
        let mut shells = Vec::new();
        while !shell.is_empty() {
            for &(switch, lasts) in &shell {
                seen[switch] |= lasts;
            }
            let mut next_ones = Vec::new();
            for &(switch, lasts) in &shell {
                for &(_, next) in &self.switches[switch] {
                    let new = lasts & !seen[next];
                    if new != 0 && found[next] == 0 {
                        next_ones.push(next);
                    }
                    found[next] |= new;
                }
            }
            let farther = next_ones.into_iter();
            let farther = farther.map(|next| (next, std::mem::take(&mut found[next])));
            shells.push(std::mem::replace(&mut shell, farther.collect()));
        }
        shells
    }
}

impl Passed {
    fn nothing(layout: &Layout) -> Self {
        Self {
            links: vec![false; layout.links.len()],
            ports: vec![[false; 2]; layout.links.len()],
        }
    }

    /// The union of both.
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

    /// The ports of switches, each as its switch and its neighbor, in the order of their links.
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

#[cfg(test)]
mod tests {
    use incastle_cases::cases;
    use incastle_units::{Bytes, Rate};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::language::selection::Name;
    use crate::topology::testing::distances;

    /// More than are searched from at once.
    const SWITCHES: usize = AT_ONCE + 9;

    fn layout(links: &[(usize, usize)]) -> Layout {
        let names = (0..SWITCHES).map(|switch| Name::parse(&format!("switch:{switch}")));
        let link = |&(a, b): &(usize, usize)| Link {
            earlier: 0,
            ends: (End::Switch(a), End::Switch(b)),
            group: "links",
            rate: Rate::from_bits_per_second(1_000_000_000),
            delay: Span::ZERO,
            mtu: Bytes::new(1500),
            schedule: Vec::new(),
            failures: Vec::new(),
            degraded: Vec::new(),
        };
        let links = links.iter().map(link).collect();
        Layout::of(
            vec![],
            names.map(|name| name.expect("a name")).collect(),
            links,
        )
    }

    #[test]
    fn the_delay_is_that_of_the_fewest_links() {
        let names = |role: &str, count: u32| -> Vec<Name> {
            let name = |index| Name::parse(&format!("{role}:{index}")).expect("a name");
            (0..count).map(name).collect()
        };
        let link = |a, b, us| Link {
            earlier: 0,
            ends: (a, b),
            group: "links",
            rate: Rate::from_bits_per_second(1_000_000_000),
            delay: Span::from_us(us),
            mtu: Bytes::new(1500),
            schedule: Vec::new(),
            failures: Vec::new(),
            degraded: Vec::new(),
        };
        let (host, switch) = (End::Host, End::Switch);
        // Switch 3 has no link; 0 to 2 leads over 1, or over the fast 4 and 5.
        let links = vec![
            link(host(0), switch(0), 1),
            link(host(1), switch(2), 2),
            link(host(2), switch(3), 1),
            link(switch(0), switch(1), 10),
            link(switch(0), switch(1), 20),
            link(switch(1), switch(2), 30),
            link(switch(0), switch(4), 1),
            link(switch(4), switch(5), 1),
            link(switch(5), switch(2), 1),
        ];
        let layout = Layout::of(names("host", 3), names("switch", 6), links);
        let routes = Routes::new(&layout, Span::ZERO);
        let shortest = |from, to| routes.shortest(Pair { from, to });
        for path in [shortest(0, 1), shortest(1, 0)] {
            let path = path.expect("there is a path");
            assert_eq!((path.delay, path.hops), (Span::from_us(43), 3));
            // Four links of 1 Gbit/s.
            assert!((path.seconds_per_byte - 32e-9).abs() < 1e-15);
        }
        assert_eq!(shortest(0, 2), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(24)))]

        /// Any network, and any first and last switches.
        #[test]
        fn ports_on_shortest_paths_are_passed_and_no_others(
            links in vec((0..SWITCHES, 0..SWITCHES), 1..3 * SWITCHES),
            firsts in vec(vec(0..SWITCHES, 0..4), SWITCHES),
        ) {
            let links: Vec<_> = links.into_iter().filter(|(a, b)| a != b).collect();
            let layout = layout(&links);
            let routes = Routes::new(&layout, Span::ZERO);
            let demand = firsts.iter().enumerate();
            let demand: Vec<(usize, Rc<BTreeSet<usize>>)> =
                demand.map(|(last, firsts)| (last, Rc::new(firsts.iter().copied().collect()))).collect();
            let mut passed = Passed::nothing(&layout);
            for some in demand.chunks(AT_ONCE) {
                routes.between(some, &mut passed);
            }
            let distances = distances(SWITCHES, &links);
            let is_passed = |from: usize, to: usize| demand.iter().any(|(last, firsts)| {
                firsts.iter().any(|&first| {
                    let whole = distances[first][*last];
                    whole < SWITCHES && distances[first][from] + 1 + distances[to][*last] == whole
                })
            });
            for (place, &(a, b)) in links.iter().enumerate() {
                let wanted = [is_passed(a, b), is_passed(b, a)];
                prop_assert_eq!(passed.ports[place], wanted, "link {} from {} to {}", place, a, b);
                prop_assert_eq!(passed.links[place], wanted != [false; 2]);
            }
        }
    }
}
