//! Spreads demand between hosts over the links of a network, on average.
//!
//! Each switch divides the traffic to a host evenly among its ports that lead one hop closer, as the
//! engine's routes do (incastle-routing). Loads of links are sums over all pairs, because
//! expectations add up. Leaves out: links that are down at the beginning and come up later, failures
//! after it, and the effect of chance on few flows (the hash of ECMP spreads them unevenly).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use incastle_units::Span;

use crate::topology::layout::{End, Layout};
use crate::topology::pairs::Pair;
use crate::topology::tier::{Direction, Tier};

/// The traffic matrix, in any unit: only the shares of its total matter.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Matrix {
    /// Each of `from` sends to each of `to` but itself, in proportion to the receiver's weight.
    Product {
        from: Vec<usize>,
        to: Vec<(usize, f64)>,
    },
    /// Pairs, each with its demand; some may repeat.
    Pairs(Vec<(Pair, f64)>),
}

/// The share of a demand on each directed link that it crosses: by number, in order.
pub(super) type Shares = Vec<(usize, f64)>;

/// A network of directed links. Their numbers are twice the index of the link in the layout, and
/// one more from its second node to its first.
pub(super) struct Network<'a> {
    pub(super) layout: &'a Layout,
    /// By host: the number of its link from there, and the neighbor.
    hosts: Vec<Option<(usize, End)>>,
    /// By switch: the numbers of its links to other switches, and these switches.
    switches: Vec<Vec<(usize, usize)>>,
}

/// The maximum number of visits to ports, over all last switches: a fat tree of k = 64 needs half as many.
const MAX_VISITS: usize = 1_000_000_000;

/// The traffic to the hosts of one switch from those of others.
struct Demand {
    last: usize,
    /// Times each of `firsts`.
    weight: f64,
    /// For each first switch; many demands share them.
    firsts: Rc<[(usize, f64)]>,
}

impl Matrix {
    /// The demand of all pairs.
    fn total(&self) -> f64 {
        match self {
            Self::Product { from, to } => {
                let senders: BTreeSet<usize> = from.iter().copied().collect();
                let others = |host| senders.len() - usize::from(senders.contains(&host));
                let demand = to
                    .iter()
                    .map(|&(host, weight)| weight * others(host) as f64);
                demand.sum()
            }
            Self::Pairs(pairs) => pairs.iter().map(|(_, demand)| demand).sum(),
        }
    }
}

impl<'a> Network<'a> {
    /// The network at the beginning.
    pub(super) fn new(layout: &'a Layout) -> Self {
        let mut network = Self {
            layout,
            hosts: vec![None; layout.hosts.len()],
            switches: vec![Vec::new(); layout.switches.len()],
        };
        for (place, link) in layout.links.iter().enumerate() {
            let (first, second) = link.ends;
            for (near, from, to) in [(0, first, second), (1, second, first)] {
                match (from, to) {
                    (End::Host(host), _) => network.hosts[host] = Some((2 * place + near, to)),
                    (End::Switch(from), End::Switch(to)) if !link.is_down(Span::ZERO) => {
                        network.switches[from].push((2 * place + near, to));
                    }
                    (End::Switch(_), _) => {}
                }
            }
        }
        network
    }

    /// The rate of a directed link, in bytes per second.
    pub(super) fn rate(&self, number: usize) -> f64 {
        self.layout.links[number / 2].rate.bytes_per_second_lossy()
    }

    /// The tier and the direction of a directed link.
    pub(super) fn class(&self, number: usize) -> (Tier, Direction) {
        let link = &self.layout.links[number / 2];
        (Tier::of(link), Direction::of(link, number % 2))
    }

    /// The name of a directed link, as that of the port at its beginning.
    pub(super) fn name(&self, number: usize) -> String {
        let link = &self.layout.links[number / 2];
        let from = match number % 2 {
            0 => link.ends.0,
            _ => link.ends.1,
        };
        self.layout.port_name(from, link)
    }

    /// The shares of a demand on all links; absent where the network is too large for those between
    /// switches.
    pub(super) fn shares(&self, matrix: &Matrix) -> Option<Shares> {
        let total = matrix.total();
        let mut load = vec![0.0; 2 * self.layout.links.len()];
        let demand = match matrix {
            Matrix::Product { from, to } => self.of_product(from, to, &mut load),
            Matrix::Pairs(pairs) => self.of_pairs(pairs, &mut load),
        };
        let ports: usize = self.switches.iter().map(Vec::len).sum();
        if demand.len().saturating_mul(ports) > MAX_VISITS {
            return None;
        }
        let mut search = Search::new(self.switches.len());
        for one in demand {
            search.send(&self.switches, &one, &mut load);
        }
        let shares = load.into_iter().enumerate().filter(|(_, load)| *load > 0.0);
        Some(
            shares
                .map(|(number, load)| (number, load / total))
                .collect(),
        )
    }

    /// Adds the load of access links, and returns the demand between switches.
    fn of_product(&self, from: &[usize], to: &[(usize, f64)], load: &mut [f64]) -> Vec<Demand> {
        let all: f64 = to.iter().map(|(_, weight)| weight).sum();
        let own: BTreeMap<usize, f64> = to.iter().copied().collect();
        let mut firsts: BTreeMap<usize, f64> = BTreeMap::new();
        for &host in from {
            let demand = all - own.get(&host).copied().unwrap_or_default();
            if let Some(first) = self.leave(host, demand, load) {
                *firsts.entry(first).or_default() += 1.0;
            }
        }
        let senders: BTreeSet<usize> = from.iter().copied().collect();
        let mut lasts: BTreeMap<usize, f64> = BTreeMap::new();
        for &(host, weight) in to {
            let others = senders.len() - usize::from(senders.contains(&host));
            if let Some(last) = self.arrive(host, weight * others as f64, load) {
                *lasts.entry(last).or_default() += weight;
            }
        }
        let firsts: Rc<[(usize, f64)]> = firsts.into_iter().collect();
        let demand = lasts.into_iter().map(|(last, weight)| Demand {
            last,
            weight,
            firsts: Rc::clone(&firsts),
        });
        demand.collect()
    }

    /// The same for pairs.
    fn of_pairs(&self, pairs: &[(Pair, f64)], load: &mut [f64]) -> Vec<Demand> {
        let mut demand: BTreeMap<usize, BTreeMap<usize, f64>> = BTreeMap::new();
        for &(Pair { from, to }, weight) in pairs {
            let first = self.leave(from, weight, load);
            let last = self.arrive(to, weight, load);
            if let (Some(first), Some(last)) = (first, last)
                && first != last
            {
                *demand.entry(last).or_default().entry(first).or_default() += weight;
            }
        }
        let demand = demand.into_iter().map(|(last, firsts)| Demand {
            last,
            weight: 1.0,
            firsts: firsts.into_iter().collect(),
        });
        demand.collect()
    }

    /// Adds a host's sent traffic, and returns its switch, if it has one.
    fn leave(&self, host: usize, demand: f64, load: &mut [f64]) -> Option<usize> {
        let (number, other) = self.hosts[host]?;
        load[number] += demand;
        match other {
            End::Switch(switch) => Some(switch),
            End::Host(_) => None,
        }
    }

    /// Adds a host's received traffic, and returns its switch. Between two linked hosts, the
    /// sender's call has added everything.
    fn arrive(&self, host: usize, demand: f64, load: &mut [f64]) -> Option<usize> {
        match self.hosts[host]? {
            (number, End::Switch(switch)) => {
                load[number ^ 1] += demand;
                Some(switch)
            }
            (_, End::Host(_)) => None,
        }
    }
}

/// Forwards demand to one last switch after the other.
struct Search {
    /// By switch: the number of links to the last one.
    distances: Vec<usize>,
    /// Switches in the order of their distances.
    order: Vec<usize>,
    /// By switch: the traffic still to be forwarded.
    here: Vec<f64>,
}

const FAR: usize = usize::MAX;

impl Search {
    fn new(switches: usize) -> Self {
        Self {
            distances: vec![FAR; switches],
            order: Vec::new(),
            here: vec![0.0; switches],
        }
    }

    /// Adds the traffic from the first switches to a last one, at all links between them. Traffic that cannot
    /// reach it adds nothing.
    fn send(&mut self, switches: &[Vec<(usize, usize)>], demand: &Demand, load: &mut [f64]) {
        let last = demand.last;
        self.measure(switches, last);
        for &(first, senders) in demand.firsts.iter() {
            self.here[first] = senders * demand.weight;
        }
        for &switch in self.order.iter().rev() {
            let here = std::mem::take(&mut self.here[switch]);
            if here <= 0.0 || switch == last {
                continue;
            }
            let distance = self.distances[switch];
            let closer = |next: usize| self.distances[next] + 1 == distance;
            let ports = switches[switch].iter().filter(|(_, next)| closer(*next));
            let share = here / ports.clone().count() as f64;
            for &(number, next) in ports {
                load[number] += share;
                self.here[next] += share;
            }
        }
        for &(first, _) in demand.firsts.iter() {
            self.here[first] = 0.0;
        }
        for &switch in &self.order {
            self.distances[switch] = FAR;
        }
    }

    /// Finds the distances to a switch by breadth-first search.
    fn measure(&mut self, switches: &[Vec<(usize, usize)>], last: usize) {
        self.order.clear();
        self.order.push(last);
        self.distances[last] = 0;
        let mut done = 0;
        while let Some(&switch) = self.order.get(done) {
            done += 1;
            let next_distance = self.distances[switch] + 1;
            for &(_, next) in &switches[switch] {
                if self.distances[next] == FAR {
                    self.distances[next] = next_distance;
                    self.order.push(next);
                }
            }
        }
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
    use crate::topology::layout::Link;
    use crate::topology::testing::distances;

    const SWITCHES: usize = 6;
    const HOSTS: usize = 8;

    /// Hosts at some switches, and links between switches.
    fn layout(places: &[usize], links: &[(usize, usize)]) -> Layout {
        let name = |role: &str, index: usize| Name {
            role: role.to_owned(),
            index: Some(index as u32),
        };
        let link = |ends: (End, End)| Link {
            ends,
            earlier: 0,
            group: "",
            rate: Rate::from_bits_per_second(1_000_000_000),
            delay: Span::ZERO,
            mtu: Bytes::new(1500),
            schedule: Vec::new(),
            failures: Vec::new(),
            degraded: Vec::new(),
        };
        let access = places.iter().enumerate();
        let access = access.map(|(host, &switch)| (End::Host(host), End::Switch(switch)));
        let between = links.iter().map(|&(a, b)| (End::Switch(a), End::Switch(b)));
        Layout::of(
            (0..HOSTS).map(|host| name("host", host)).collect(),
            (0..SWITCHES).map(|switch| name("switch", switch)).collect(),
            access.chain(between).map(link).collect(),
        )
    }

    /// Follows a packet along every path that it may take.
    fn follow(
        (at, last): (usize, usize),
        chance: f64,
        links: &[(usize, usize)],
        found: &mut [f64],
    ) {
        let distances = distances(SWITCHES, links);
        let steps = links.iter().enumerate().flat_map(|(place, &(a, b))| {
            let number = 2 * (HOSTS + place);
            [(number, a, b), (number + 1, b, a)]
        });
        let closer: Vec<_> = steps
            .filter(|&(_, from, to)| from == at && distances[to][last] + 1 == distances[at][last])
            .collect();
        for &(number, _, next) in &closer {
            let chance = chance / closer.len() as f64;
            found[number] += chance;
            follow((next, last), chance, links, found);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases(48)))]

        /// Sets and pairs agree with each other and with the average of single packets, on any network of switches.
        #[test]
        fn shares_are_those_of_single_packets(
            places in vec(0..SWITCHES, HOSTS),
            more in vec((0..SWITCHES, 0..SWITCHES), 0..8),
            from in proptest::sample::subsequence((0..HOSTS).collect::<Vec<_>>(), 1..=HOSTS),
            to in proptest::sample::subsequence((0..HOSTS).collect::<Vec<_>>(), 2..=HOSTS),
        ) {
            // A line joins all; further links make other paths, also two between the same switches.
            let line = (1..SWITCHES).map(|switch| (switch - 1, switch));
            let links: Vec<_> = line.chain(more.into_iter().filter(|(a, b)| a != b)).collect();
            let layout = layout(&places, &links);
            let network = Network::new(&layout);
            let to: Vec<(usize, f64)> = to.into_iter().map(|host| (host, 1.0 + host as f64)).collect();
            let mut pairs = Vec::new();
            for &a in &from {
                pairs.extend(to.iter().filter(|(b, _)| *b != a).map(|&(b, weight)| (Pair { from: a, to: b }, weight)));
            }
            let total: f64 = pairs.iter().map(|(_, weight)| weight).sum();
            let mut expected = vec![0.0; 2 * layout.links.len()];
            for (Pair { from: a, to: b }, weight) in pairs.clone() {
                let chance = weight / total;
                expected[2 * a] += chance;
                expected[2 * b + 1] += chance;
                follow((places[a], places[b]), chance, &links, &mut expected);
            }
            for matrix in [Matrix::Product { from, to }, Matrix::Pairs(pairs)] {
                let mut found = vec![0.0; expected.len()];
                for (number, share) in network.shares(&matrix).expect("a small network") {
                    found[number] = share;
                }
                for (number, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    prop_assert!((found - expected).abs() < 1e-12, "link {}", network.name(number));
                }
            }
        }
    }
}
