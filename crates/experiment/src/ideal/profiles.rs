//! The profiles of the shortest paths between two switches: rates and delays of their links.
//!
//! Paths of the fewest links over all links that are ever up in the run, each at the highest rate that it
//! has there. One of several equal paths is kept, and none that another one beats at every link.
//! Leaves out: the access links of hosts, and longer paths.

use std::collections::{BTreeMap, VecDeque};

use incastle_units::{Rate, Span};

use incastle_scenario::topology::layout::{End, Layout};

/// A path between two switches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Profile {
    /// The rates of its links, the first one first.
    pub(super) rates: Vec<Rate>,
    /// The delay of all of them.
    pub(super) delay: Span,
}

/// More profiles than these between two switches become one that beats them all. No real network
/// has as many, and the number could grow with 2 to the number of links.
const MAX_PROFILES: usize = 32;

/// The profiles between the switches of a layout, found from one switch at a time.
pub(super) struct Profiles {
    /// By switch: the neighbor over a link, the link's highest rate, its delay.
    links: Vec<Vec<(usize, Rate, Span)>>,
    /// By first switch, as far as computed: for each last one the place in `sets`.
    from: BTreeMap<usize, Vec<Option<usize>>>,
    sets: Vec<Vec<Profile>>,
    places: BTreeMap<Vec<Profile>, usize>,
}

impl Profiles {
    /// The profiles of a run until `end`.
    pub(super) fn new(layout: &Layout, end: Span) -> Self {
        let mut links = vec![Vec::new(); layout.switches.len()];
        for link in layout.links.iter().filter(|link| link.is_ever_up(end)) {
            if let (End::Switch(a), End::Switch(b)) = link.ends {
                let (rate, delay) = (link.highest_rate(end), link.delay);
                links[a].push((b, rate, delay));
                links[b].push((a, rate, delay));
            }
        }
        Self {
            links,
            from: BTreeMap::new(),
            sets: Vec::new(),
            places: BTreeMap::new(),
        }
    }

    /// The profiles from one switch to another; none where it is unreachable.
    pub(super) fn between(&mut self, first: usize, last: usize) -> &[Profile] {
        if !self.from.contains_key(&first) {
            let sets = self.search(first).into_iter();
            let places = sets.map(|set| (!set.is_empty()).then(|| self.place(set)));
            let places = places.collect();
            self.from.insert(first, places);
        }
        match self.from[&first][last] {
            Some(place) => &self.sets[place],
            None => &[],
        }
    }

    /// A path that no path of at least as many links as the shortest ones can beat.
    pub(super) fn bound(&mut self, first: usize, last: usize) -> Option<Profile> {
        let hops = self.between(first, last).first()?.rates.len();
        let links = || self.links.iter().flatten();
        let fastest = links().map(|(_, rate, _)| *rate).max()?;
        let min = links().map(|(.., delay)| *delay).min()?;
        Some(Profile {
            rates: vec![fastest; hops],
            delay: Span::from_ps(min.as_ps().saturating_mul(hops as u64)),
        })
    }

    /// Whether two switches never have more than one path between them.
    pub(super) fn is_forest(&self) -> bool {
        let mut seen = vec![false; self.links.len()];
        (0..self.links.len()).all(|root| seen[root] || self.is_tree(root, &mut seen))
    }

    /// Whether the component of a switch that was not visited is a tree: one link less than switches.
    fn is_tree(&self, root: usize, seen: &mut [bool]) -> bool {
        let (mut switches, mut ends) = (0, 0);
        let mut edge = vec![root];
        seen[root] = true;
        while let Some(switch) = edge.pop() {
            switches += 1;
            ends += self.links[switch].len();
            for &(next, ..) in &self.links[switch] {
                if !std::mem::replace(&mut seen[next], true) {
                    edge.push(next);
                }
            }
        }
        ends == 2 * (switches - 1)
    }

    /// By last switch, its profiles from `first`, by breadth-first search.
    fn search(&self, first: usize) -> Vec<Vec<Profile>> {
        let mut hops = vec![usize::MAX; self.links.len()];
        let mut sets = vec![Vec::new(); self.links.len()];
        hops[first] = 0;
        sets[first].push(Profile {
            rates: Vec::new(),
            delay: Span::ZERO,
        });
        let mut edge = VecDeque::from([first]);
        while let Some(switch) = edge.pop_front() {
            let here = sets[switch].clone();
            for &(next, rate, delay) in &self.links[switch] {
                if hops[next] == usize::MAX {
                    hops[next] = hops[switch] + 1;
                    edge.push_back(next);
                }
                if hops[next] == hops[switch] + 1 {
                    for profile in &here {
                        add(&mut sets[next], profile.and(rate, delay));
                    }
                }
            }
        }
        for set in &mut sets {
            set.sort_unstable();
        }
        sets
    }

    fn place(&mut self, set: Vec<Profile>) -> usize {
        let next = self.sets.len();
        let place = *self.places.entry(set.clone()).or_insert(next);
        if place == next {
            self.sets.push(set);
        }
        place
    }
}

impl Profile {
    fn and(&self, rate: Rate, delay: Span) -> Self {
        let mut longer = self.clone();
        longer.rates.push(rate);
        longer.delay += delay;
        longer
    }

    /// Whether no packet is later here than on the other, which has as many links.
    fn beats(&self, other: &Self) -> bool {
        self.delay <= other.delay && self.rates.iter().zip(&other.rates).all(|(a, b)| a >= b)
    }
}

fn add(set: &mut Vec<Profile>, new: Profile) {
    if set.iter().any(|one| one.beats(&new)) {
        return;
    }
    set.retain(|one| !new.beats(one));
    set.push(new);
    if set.len() > MAX_PROFILES {
        let mut best = set[0].clone();
        for one in &set[1..] {
            best.delay = best.delay.min(one.delay);
            for (rate, other) in best.rates.iter_mut().zip(&one.rates) {
                *rate = (*rate).max(*other);
            }
        }
        *set = vec![best];
    }
}
