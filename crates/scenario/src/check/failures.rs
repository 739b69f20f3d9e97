//! Checks of `[network.failures.LABEL]`: flows without a path, and failures after the end.

use incastle_units::Span;

use crate::check::lockstep;
use crate::language::flows::{Group, Workload};
use crate::language::root::Root;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;
use crate::topology::pairs::Pair;

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
    let changes = changes.into_iter().filter(|at| *at < end);
    let network = Failing {
        layout,
        whole: layout.parts(),
        states: changes.map(|at| State::new(layout, at)).collect(),
        end,
    };
    for (name, group) in &root.flows {
        network.check_group(name, group, cx);
    }
}

/// The components of the network from an instant on.
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

    fn divides(&self, pair: Pair) -> bool {
        self.parts[pair.from] != self.parts[pair.to]
    }
}

/// A network whose links fail.
struct Failing<'a> {
    layout: &'a Layout,
    /// By host its component without failures.
    whole: Vec<usize>,
    states: Vec<State>,
    /// The end of the run.
    end: Span,
}

impl Failing<'_> {
    /// A pair of hosts without any path in all the run is an error, one without a path for a while a warning.
    fn check_group(&self, name: &str, group: &Group, cx: &mut Context<'_>) {
        let (key, states) = (format!("flows.{name}"), &self.states);
        let names = |pair: Pair| {
            [pair.from, pair.to].map(|host| quoted(&self.layout.hosts[host].to_string()))
        };
        // Hosts without a path even without failures are reported elsewhere.
        let mut pairs = pairs(group, self.layout);
        pairs.retain(|pair| self.whole[pair.from] == self.whole[pair.to]);
        let cut_off = |pair: &&Pair| states.iter().all(|state| state.divides(**pair));
        if let Some(pair) = pairs.iter().find(cut_off) {
            let [from, to] = names(*pair);
            cx.error_at(
                &key,
                format!("failed links leave no path between {from} and {to}, from the beginning to the end"),
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
        let mut later = states[number + 1..].iter();
        let until = later.find(|state| !state.divides(pair));
        let until = until.map_or(self.end, |state| state.from);
        let ([from, to], since) = (names(pair), states[number].from);
        let message = format!(
            "failed links leave no path between {from} and {to} from {since} to {until}: what is sent meanwhile \
             is lost"
        );
        cx.warn_at(&key, message);
    }
}

/// The hosts that the flows of a group may connect; none where they do not exist, which is reported
/// elsewhere.
fn pairs(group: &Group, layout: &Layout) -> Vec<Pair> {
    if let Workload::FlowList(list) = &group.workload {
        let numbers = layout.host_numbers();
        let arrivals = list.transfers.list().iter();
        let hosts = arrivals.filter_map(|arrival| {
            let [from, to] = [&arrival.source, &arrival.destination].map(|name| numbers.get(name));
            Some(Pair {
                from: *from?,
                to: *to?,
            })
        });
        return hosts.collect();
    }
    lockstep::pairs(group, layout)
}
