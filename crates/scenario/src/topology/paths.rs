//! Shortest paths between hosts, for idle round-trip times.

use std::collections::VecDeque;

use incastle_units::{Bytes, Serializer, Span};

use crate::topology::layout::{End, Layout, Link};

/// The links of a layout by their ends. Hosts are the ends of paths only: a search visits switches.
pub(crate) struct Paths<'a> {
    /// By host: its link and what is at the other end.
    hosts: Vec<Option<(&'a Link, End)>>,
    /// By switch: (link, switch at its other end).
    switches: Vec<Vec<(&'a Link, usize)>>,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        let mut paths = Self {
            hosts: vec![None; layout.hosts.len()],
            switches: vec![Vec::new(); layout.switches.len()],
        };
        for link in &layout.links {
            let (a, b) = link.ends;
            paths.enter(link, a, b);
            paths.enter(link, b, a);
        }
        paths
    }

    fn enter(&mut self, link: &'a Link, from: End, to: End) {
        match (from, to) {
            (End::Host(host), _) => self.hosts[host] = Some((link, to)),
            (End::Switch(from), End::Switch(to)) => self.switches[from].push((link, to)),
            (End::Switch(_), End::Host(_)) => {}
        }
    }

    /// How long packets of these sizes take between two hosts of an empty network, one after the
    /// other, on a path of the fewest links.
    pub(crate) fn span(&self, from: usize, to: usize, sizes: &[Bytes]) -> Span {
        let mut span = Span::ZERO;
        for link in self.path(from, to) {
            for &size in sizes {
                span += link.delay + Serializer::new(link.rate).span(size);
            }
        }
        span
    }

    /// The links of a path of the fewest links, from the last to the first; none where there is no
    /// path.
    pub(crate) fn path(&self, from: usize, to: usize) -> Vec<&'a Link> {
        let (Some((up, first)), Some((down, last))) = (self.hosts[from], self.hosts[to]) else {
            return Vec::new();
        };
        match (first, last) {
            (End::Switch(first), End::Switch(last)) => {
                let mut path = vec![down];
                path.extend(self.between(first, last));
                path.push(up);
                path
            }
            _ => vec![up],
        }
    }

    /// The links between two switches, from the last to the first.
    fn between(&self, first: usize, last: usize) -> Vec<&'a Link> {
        let mut came: Vec<Option<(&Link, usize)>> = vec![None; self.switches.len()];
        let mut edge = VecDeque::from([first]);
        while let Some(switch) = edge.pop_front() {
            if switch == last {
                break;
            }
            for &(link, next) in &self.switches[switch] {
                if next != first && came[next].is_none() {
                    came[next] = Some((link, switch));
                    edge.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut switch = last;
        while let Some((link, before)) = came[switch] {
            path.push(link);
            switch = before;
        }
        path
    }
}
