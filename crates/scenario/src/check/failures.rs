//! Checks of `[network.failures.LABEL]`: flows without a path, and failures after the end.

use incastle_units::Span;

use crate::check::lockstep;
use crate::language::flows::{Group, Workload};
use crate::language::root::Root;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let end = root.run.duration;
    for (label, failure) in &root.network.failures {
        if failure.down >= end {
            cx.warn_at(
                &format!("network.failures.{label}"),
                format!(
                    "the run ends after {end}, before the failure at {}",
                    failure.down
                ),
            );
        }
    }
    let changes = layout.changes();
    if changes.len() == 1 && !layout.links.iter().any(|link| link.is_down(Span::ZERO)) {
        return;
    }
    let whole = layout.parts();
    let changes = changes.into_iter().filter(|at| *at < end);
    let states: Vec<State> = changes.map(|at| State::new(layout, at)).collect();
    for (name, group) in &root.flows {
        check_group(name, group, (layout, &whole), (&states, end), cx);
    }
}

/// The parts of the network from an instant on.
struct State {
    from: Span,
    parts: Vec<usize>,
}

impl State {
    fn new(layout: &Layout, from: Span) -> Self {
        Self {
            from,
            parts: layout.parts_without(|link| link.is_down(from)),
        }
    }

    fn divides(&self, (a, b): (usize, usize)) -> bool {
        self.parts[a] != self.parts[b]
    }
}

/// A pair of hosts without any path in all the run is an error, one without a path for a while a warning.
fn check_group(
    name: &str,
    group: &Group,
    (layout, whole): (&Layout, &[usize]),
    (states, end): (&[State], Span),
    cx: &mut Context<'_>,
) {
    let key = format!("flows.{name}");
    let names = |(a, b): (usize, usize)| [a, b].map(|host| quoted(&layout.hosts[host].to_string()));
    // Those without a path even without failures are told of elsewhere.
    let pairs: Vec<(usize, usize)> = pairs(group, layout)
        .into_iter()
        .filter(|&(a, b)| whole[a] == whole[b])
        .collect();
    let cut_off = |pair: &&(usize, usize)| states.iter().all(|state| state.divides(**pair));
    if let Some(pair) = pairs.iter().find(cut_off) {
        let [from, to] = names(*pair);
        cx.error_at(
            &key,
            format!(
                "failed links leave no path between {from} and {to}, from the beginning to the end"
            ),
        )
        .help("see [network.failures]");
        return;
    }
    let divided = states.iter().enumerate().find_map(|(number, state)| {
        Some((number, *pairs.iter().find(|pair| state.divides(**pair))?))
    });
    let Some((number, pair)) = divided else {
        return;
    };
    let later = &states[number + 1..];
    let until = later.iter().find(|state| !state.divides(pair));
    let until = until.map_or(end, |state| state.from);
    let [from, to] = names(pair);
    cx.warn_at(&key, format!(
            "failed links leave no path between {from} and {to} from {} to {until}: what is sent meanwhile \
             is lost",
            states[number].from
        ));
}

/// The hosts that the flows of a group may connect; none where they do not exist, which is told
/// elsewhere.
fn pairs(group: &Group, layout: &Layout) -> Vec<(usize, usize)> {
    if let Workload::FlowList(list) = &group.workload {
        let numbers = layout.host_numbers();
        let arrivals = list.transfers.list().iter();
        let hosts = arrivals.filter_map(|arrival| {
            let [from, to] = [&arrival.source, &arrival.destination].map(|name| numbers.get(name));
            Some((*from?, *to?))
        });
        return hosts.collect();
    }
    lockstep::pairs(group, layout)
}
