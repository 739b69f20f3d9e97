//! Shortest paths between hosts, for idle round-trip times.

use std::collections::VecDeque;

use incastle_units::{Bytes, Serializer, Span};

use crate::topology::layout::{End, Layout, Link};

/// The neighbours of every node of a layout.
pub(crate) struct Paths<'a> {
    layout: &'a Layout,
    /// By node: (link, node at its other end).
    neighbours: Vec<Vec<(&'a Link, usize)>>,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(layout: &'a Layout) -> Self {
        let nodes = layout.hosts.len() + layout.switches.len();
        let mut neighbours = vec![Vec::new(); nodes];
        for link in &layout.links {
            let (a, b) = (layout.position(link.ends.0), layout.position(link.ends.1));
            neighbours[a].push((link, b));
            neighbours[b].push((link, a));
        }
        Self { layout, neighbours }
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

    /// The links of a path of the fewest links, from its end; none where there is no path.
    fn path(&self, from: usize, to: usize) -> Vec<&'a Link> {
        let from = self.layout.position(End::Host(from));
        let to = self.layout.position(End::Host(to));
        let mut came: Vec<Option<(&Link, usize)>> = vec![None; self.neighbours.len()];
        let mut edge = VecDeque::from([from]);
        while let Some(node) = edge.pop_front() {
            if node == to {
                break;
            }
            for &(link, next) in &self.neighbours[node] {
                if next != from && came[next].is_none() {
                    came[next] = Some((link, node));
                    edge.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while let Some((link, before)) = came[node] {
            path.push(link);
            node = before;
        }
        path
    }
}
