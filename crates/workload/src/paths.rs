//! Shortest paths between hosts, for idle round-trip times: as the network is at the beginning.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use incastle_units::{Bytes, Serializer, Span};

use incastle_scenario::topology::layout::{End, Layout, Link};
use incastle_scenario::topology::pairs::Pair;

/// The links of a layout by their nodes. Hosts are the ends of paths only: a search visits switches.
///
/// All flows of a run share one, so that each tree is searched once. A run is one thread: its lock is
/// never contended.
pub struct Paths {
    layout: Arc<Layout>,
    /// By host: its link and the neighbor.
    hosts: Vec<Option<(LinkAt, End)>>,
    /// By switch: (link, neighbor switch, whether it is up).
    switches: Vec<Vec<(LinkAt, usize, bool)>>,
    /// By first switch: its trees of shortest paths, as far as computed.
    trees: Mutex<BTreeMap<usize, Trees>>,
}

/// The place of a link in the layout.
type LinkAt = usize;

/// The maximum number of first switches in the cache.
const MAX_TREES: usize = 512;

/// By switch: the link and the switch before it on the path from the first.
type Tree = Vec<Option<(LinkAt, usize)>>;

/// The tree over the links that are up, and, if a switch is unreachable over these, the one over all links.
type Trees = [Option<Tree>; 2];

/// The links that a search follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    LinksThatAreUp,
    AllLinks,
}

impl Paths {
    /// The paths of a layout.
    pub fn new(layout: &Arc<Layout>) -> Self {
        let mut paths = Self {
            layout: Arc::clone(layout),
            hosts: vec![None; layout.hosts.len()],
            switches: vec![Vec::new(); layout.switches.len()],
            trees: Mutex::default(),
        };
        for (place, link) in layout.links.iter().enumerate() {
            let (a, b) = link.ends;
            paths.enter(place, a, b);
            paths.enter(place, b, a);
        }
        paths
    }

    /// The hosts, switches and links.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn enter(&mut self, link: LinkAt, from: End, to: End) {
        match (from, to) {
            (End::Host(host), _) => self.hosts[host] = Some((link, to)),
            (End::Switch(from), End::Switch(to)) => {
                let up = !self.layout.links[link].is_down(Span::ZERO);
                self.switches[from].push((link, to, up));
            }
            (End::Switch(_), End::Host(_)) => {}
        }
    }

    /// The time of packets of these sizes between two hosts of an empty network, one after the
    /// other, on a shortest path.
    pub fn span(&self, hosts: Pair, sizes: &[Bytes]) -> Span {
        let mut span = Span::ZERO;
        for link in self.path(hosts) {
            for &size in sizes {
                span += link.delay + Serializer::new(link.rate).span(size);
            }
        }
        span
    }

    /// The links of a shortest path, from the last to the first; none where there is no
    /// path.
    pub fn path(&self, hosts: Pair) -> Vec<&Link> {
        let (Some((up, first)), Some((down, last))) =
            (self.hosts[hosts.from], self.hosts[hosts.to])
        else {
            return Vec::new();
        };
        let places = match (first, last) {
            (End::Switch(first), End::Switch(last)) => {
                let mut path = vec![down];
                path.extend(self.between(first, last));
                path.push(up);
                path
            }
            _ => vec![up],
        };
        let links = &self.layout.links;
        places.into_iter().map(|place| &links[place]).collect()
    }

    /// The links between two switches, from the last to the first: links that are up, if the switch is
    /// reachable over them, else all.
    fn between(&self, first: usize, last: usize) -> Vec<LinkAt> {
        if first == last {
            return Vec::new();
        }
        let mut trees = self.trees();
        if trees.len() >= MAX_TREES && !trees.contains_key(&first) {
            trees.clear();
        }
        let [up, all] = trees.entry(first).or_default();
        let up = up.get_or_insert_with(|| self.tree(first, Over::LinksThatAreUp));
        let tree = match up[last] {
            Some(_) => up,
            None => all.get_or_insert_with(|| self.tree(first, Over::AllLinks)),
        };
        let mut path = Vec::new();
        let mut switch = last;
        while let Some((link, before)) = tree[switch] {
            path.push(link);
            switch = before;
        }
        path
    }

    fn trees(&self) -> MutexGuard<'_, BTreeMap<usize, Trees>> {
        self.trees.lock().expect("no thread panics with the lock")
    }

    /// Shortest paths from a switch, over links that are up or over all, by breadth-first search.
    fn tree(&self, first: usize, over: Over) -> Tree {
        let mut came: Tree = vec![None; self.switches.len()];
        let mut edge = VecDeque::from([first]);
        while let Some(switch) = edge.pop_front() {
            for &(link, next, up) in &self.switches[switch] {
                if next != first && came[next].is_none() && (up || over == Over::AllLinks) {
                    came[next] = Some((link, switch));
                    edge.push_back(next);
                }
            }
        }
        came
    }
}
