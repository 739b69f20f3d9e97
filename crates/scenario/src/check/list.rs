//! Checks of transfers from a list: hosts that exist, belong to the group, and can reach each other;
//! transfers that can begin.

use std::collections::BTreeMap;

use incastle_units::Span;

use crate::check::dependences;
use crate::language::arrivals::{Arrival, Arrivals};
use crate::language::flows::{Group, Stop, Workload};
use crate::language::selection::{Name, names_help};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;
use crate::topology::pairs::GroupHosts;

/// Warns of transfers that would begin after the end of their group, or of the run.
pub(crate) fn check_end(path: &str, group: &Group, duration: Span, cx: &mut Context<'_>) {
    let Workload::FlowList(list) = &group.workload else {
        return;
    };
    let (key, end) = match group.stop {
        Stop::At(stop) if stop < duration => (format!("{path}.stop"), stop),
        Stop::At(_) | Stop::End => ("run.duration".to_owned(), duration),
    };
    if group.start >= end {
        return;
    }
    let all = list.transfers.list();
    let late = |one: &&Arrival| !one.waits() && one.start >= end - group.start;
    let late = all.iter().filter(late).count();
    if late > 0 {
        cx.warn_at(
            &format!("{path}.transfers"),
            format!(
                "{late} of {} transfers never begin: {key} = {end} comes before",
                all.len()
            ),
        );
    }
}

/// Reports the first impossible transfer.
pub(crate) fn check(
    path: &str,
    arrivals: &Arrivals,
    layout: &Layout,
    hosts: &GroupHosts,
    cx: &mut Context<'_>,
) {
    let judge = Judge {
        numbers: layout.host_numbers(),
        hosts: &layout.hosts,
        parts: layout.parts(),
        from: membership(&hosts.from, layout),
        to: membership(&hosts.to, layout),
    };
    let problem = arrivals
        .list()
        .iter()
        .find_map(|arrival| Some((arrival, judge.problem(arrival)?)))
        .or_else(|| {
            let (arrival, problem) = dependences::never_begins(arrivals)?;
            Some((arrival, (problem, Some(ADVANCED.to_owned()))))
        });
    if let Some((arrival, (problem, help))) = problem {
        cx.error_at(
            &format!("{path}.transfers"),
            format!("{}: {problem}", arrivals.place(arrival)),
        )
        .help_if(help);
    }
}

fn membership(hosts: &[usize], layout: &Layout) -> Vec<bool> {
    let mut members = vec![false; layout.hosts.len()];
    for &host in hosts {
        members[host] = true;
    }
    members
}

/// The event counts that a transfer may wait for.
const ADVANCED: &str = "a count is advanced by transfers that name it under `acknowledged` or `arrived`, \
                        each once";

struct Judge<'a> {
    numbers: BTreeMap<&'a Name, usize>,
    hosts: &'a [Name],
    parts: Vec<usize>,
    from: Vec<bool>,
    to: Vec<bool>,
}

impl Judge<'_> {
    /// The error of a transfer, and its remedy.
    fn problem(&self, arrival: &Arrival) -> Option<(String, Option<String>)> {
        let number = |name: &Name| self.numbers.get(name).copied();
        let unknown = |name: &Name| {
            let found = quoted(&name.to_string());
            let help = names_help(&name.role, self.hosts, "hosts");
            (format!("no host {found}"), Some(help))
        };
        let Some(from) = number(&arrival.source) else {
            return Some(unknown(&arrival.source));
        };
        let Some(to) = number(&arrival.destination) else {
            return Some(unknown(&arrival.destination));
        };
        let (source, destination) = (
            quoted(&arrival.source.to_string()),
            quoted(&arrival.destination.to_string()),
        );
        let widen = |key: &str| {
            let help = format!(
                "`from` and `to` are the hosts that the list may name, such as {key} = \"all\""
            );
            Some(help)
        };
        if from == to {
            return Some((format!("{source} sends to itself"), None));
        }
        if !self.from[from] {
            return Some((format!("{source} is not in `from`"), widen("from")));
        }
        if !self.to[to] {
            return Some((format!("{destination} is not in `to`"), widen("to")));
        }
        (self.parts[from] != self.parts[to]).then(|| {
            (
                format!("{destination} cannot be reached from {source}"),
                None,
            )
        })
    }
}
