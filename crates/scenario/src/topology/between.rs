//! Existing links, chosen by two sets of nodes: those that fail, or are degraded.

use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::End;
use crate::topology::plan::Plan;

/// A link between two sets of nodes.
pub(super) struct Chosen {
    /// Its place.
    pub(super) link: usize,
    /// By direction, as of the link's nodes: whether it leads from the first set to the second.
    pub(super) forward: [bool; 2],
}

/// The links that an entry names.
pub(super) struct Wanted<'a> {
    pub(super) sets: &'a [Selection],
    /// The one of parallel links.
    pub(super) number: Option<u32>,
    /// The entry, for messages.
    pub(super) what: &'a str,
}

impl Plan {
    /// The links between two sets of nodes, for the entry at `path`.
    pub(super) fn between(
        &self,
        wanted: &Wanted<'_>,
        path: &str,
        cx: &mut Context<'_>,
    ) -> Option<Vec<Chosen>> {
        let key = &format!("{path}.between");
        let [first, second] = wanted.sets else {
            let message = format!("{} needs `between` with two sets of nodes", wanted.what);
            cx.error_at(key, message)
                .help(format!("between = [{}]", self.some_link()));
            return None;
        };
        let nodes: Vec<Name> = self.hosts.iter().chain(&self.switches).cloned().collect();
        let mut members = |set: &Selection| set.resolve(&nodes, "hosts or switches", key, cx);
        let (first, second) = (members(first)?, members(second)?);
        let flags = |members: &[usize]| {
            let mut flags = vec![false; nodes.len()];
            for &member in members {
                flags[member] = true;
            }
            flags
        };
        let (one, other) = (flags(&first), flags(&second));
        let chosen = self.links.iter().enumerate().map(|(place, link)| {
            let (a, b) = (self.node(link.ends.0), self.node(link.ends.1));
            Chosen {
                link: place,
                forward: [one[a] && other[b], one[b] && other[a]],
            }
        });
        let links: Vec<Chosen> = chosen.filter(|one| one.forward != [false; 2]).collect();
        if links.is_empty() {
            self.report_no_link(&nodes, [first[0], second[0]], key, cx);
            return None;
        }
        self.numbered(links, wanted.number, path, cx)
    }

    /// Those with the number among the parallel links of their nodes, or all.
    fn numbered(
        &self,
        links: Vec<Chosen>,
        number: Option<u32>,
        path: &str,
        cx: &mut Context<'_>,
    ) -> Option<Vec<Chosen>> {
        let Some(number) = number else {
            return Some(links);
        };
        let nth = |one: &Chosen| self.links[one.link].earlier + 1;
        let most = links.iter().map(nth).max().unwrap_or(1);
        let links: Vec<Chosen> = links.into_iter().filter(|one| nth(one) == number).collect();
        if links.is_empty() {
            let message = format!("no link between two of these nodes has the number {number}");
            cx.error_at(&format!("{path}.number"), message)
                .help(format!(
                    "parallel links count from 1 on; the last has the number {most}"
                ));
            return None;
        }
        Some(links)
    }

    /// Hosts and switches in one row.
    fn node(&self, end: End) -> usize {
        match end {
            End::Host(host) => host,
            End::Switch(switch) => self.hosts.len() + switch,
        }
    }

    fn report_no_link(
        &self,
        nodes: &[Name],
        [first, second]: [usize; 2],
        key: &str,
        cx: &mut Context<'_>,
    ) {
        let neighbours = self.links.iter().filter_map(|link| {
            let (near, far) = (self.node(link.ends.0), self.node(link.ends.1));
            let other = if near == first { far } else { near };
            (near == first || far == first).then(|| nodes[other].clone())
        });
        let [a, b] = [first, second].map(|node| quoted(&nodes[node].to_string()));
        cx.error_at(key, format!("no link between {a} and {b}"))
            .help(format!("{a} has links with {}", ranges(neighbours)));
    }

    /// A link by its nodes, for messages.
    pub(super) fn link_words(&self, link: usize) -> String {
        let (a, b) = self.links[link].ends;
        let [a, b] = [a, b].map(|end| quoted(&self.end_name(end).to_string()));
        format!("the link between {a} and {b}")
    }

    fn end_name(&self, end: End) -> &Name {
        match end {
            End::Host(host) => &self.hosts[host],
            End::Switch(switch) => &self.switches[switch],
        }
    }

    /// The nodes of a link, as an example.
    fn some_link(&self) -> String {
        let last = self.links.last().map(|link| link.ends);
        let name = |end| quoted(&self.end_name(end).to_string());
        last.map_or_else(String::new, |(a, b)| format!("{}, {}", name(a), name(b)))
    }
}

/// Names, with consecutive numbers as a range.
fn ranges(names: impl Iterator<Item = Name>) -> String {
    let mut ranges: Vec<(Name, Option<u32>)> = Vec::new();
    for name in names {
        match ranges.last_mut() {
            Some((first, last))
                if first.role == name.role
                    && name.index.is_some()
                    && last.map(|last| last + 1) == name.index =>
            {
                *last = name.index;
            }
            _ => {
                let index = name.index;
                ranges.push((name, index));
            }
        }
    }
    let words = ranges.iter().map(|(first, last)| match last {
        Some(last) if first.index != Some(*last) => quoted(&format!("{first}..{last}")),
        _ => quoted(&first.to_string()),
    });
    words.collect::<Vec<String>>().join(", ")
}
