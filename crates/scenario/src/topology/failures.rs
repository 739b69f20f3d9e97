//! Failures of links: from `[network.failures]` to the layout.

use incastle_units::Span;

use crate::language::network::Failure;
use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::End;
use crate::topology::plan::Plan;

/// Start and end.
type Period = (Span, Option<Span>);

impl Plan {
    /// Adds a failure to its links; errors in it are reported.
    pub(super) fn fail(&mut self, label: &str, failure: &Failure, cx: &mut Context<'_>) {
        let path = format!("network.failures.{label}");
        if let Some(up) = failure.up.filter(|up| *up <= failure.down) {
            cx.error_at(
                &format!("{path}.up"),
                format!("up at {up} is not after down at {}", failure.down),
            );
            return;
        }
        let key = format!("{path}.between");
        for link in self.between(failure, &key, cx).unwrap_or_default() {
            let link = &mut self.links[link];
            link.failures.push((failure.down, failure.up));
            link.failures = joined(std::mem::take(&mut link.failures));
        }
    }

    /// The links between two sets of nodes.
    fn between(&self, failure: &Failure, key: &str, cx: &mut Context<'_>) -> Option<Vec<usize>> {
        let [first, second] = failure.between.as_slice() else {
            cx.error_at(key, "a failure needs `between` with two sets of nodes")
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
        let links = self.links.iter().enumerate().filter(|(_, link)| {
            let (a, b) = (self.node(link.ends.0), self.node(link.ends.1));
            one[a] && other[b] || one[b] && other[a]
        });
        let links: Vec<usize> = links.map(|(place, _)| place).collect();
        if links.is_empty() {
            self.report_no_link(&nodes, [first[0], second[0]], key, cx);
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

    /// The nodes of a link, as an example.
    fn some_link(&self) -> String {
        let last = self.links.last().map(|link| link.ends);
        let name = |end| match end {
            End::Host(host) => quoted(&self.hosts[host].to_string()),
            End::Switch(switch) => quoted(&self.switches[switch].to_string()),
        };
        last.map_or_else(String::new, |(a, b)| format!("{}, {}", name(a), name(b)))
    }
}

/// The same periods in order, with overlapping and adjacent ones merged.
fn joined(mut periods: Vec<Period>) -> Vec<Period> {
    periods.sort_unstable();
    let mut all: Vec<Period> = Vec::new();
    for (down, up) in periods {
        match all.last_mut() {
            // Down for good, or until after this one begins.
            Some((_, until)) if until.is_none_or(|until| down <= until) => {
                *until = until.and_then(|until| up.map(|up| up.max(until)));
            }
            _ => all.push((down, up)),
        }
    }
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_that_overlap_are_one() {
        let us = Span::from_us;
        let period = |down, up: Option<u64>| (us(down), up.map(us));
        let join = |periods: &[(u64, Option<u64>)]| {
            joined(periods.iter().map(|&(down, up)| period(down, up)).collect())
        };
        assert_eq!(
            join(&[(5, Some(7)), (1, Some(2))]),
            [period(1, Some(2)), period(5, Some(7))]
        );
        assert_eq!(
            join(&[(1, Some(5)), (2, Some(3)), (5, Some(8))]),
            [period(1, Some(8))]
        );
        assert_eq!(
            join(&[(3, None), (1, Some(3)), (9, Some(10))]),
            [period(1, None)]
        );
    }
}
