//! Checks of `[network.links.LABEL]`: rates that change in time, and a connected network.

use incastle_units::Span;

use crate::language::network::{Ecmp, Network, Schedule, Topology};
use crate::language::root::Root;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;

pub(crate) fn check(root: &Root, cx: &mut Context<'_>) {
    warn_of_one_path(&root.network, cx);
    for (label, group) in &root.network.links {
        if let Some(schedule) = &group.schedule {
            let key = format!("network.links.{label}.schedule");
            check_schedule(&key, schedule, root.run.duration, cx);
        }
    }
}

/// Whether each two hosts have one path, whatever the sizes of the network.
pub(super) fn has_one_path(network: &Network) -> bool {
    matches!(
        network.topology,
        Topology::Star(_) | Topology::Dumbbell(_) | Topology::Tree(_)
    )
}

/// A choice among paths where there is one.
fn warn_of_one_path(network: &Network, cx: &mut Context<'_>) {
    if has_one_path(network) && !matches!(network.ecmp, Ecmp::Flow(_)) {
        cx.warn_at(
            "network.ecmp",
            format!(
                "ecmp = {} without effect: a {} has one path between two hosts",
                quoted(network.ecmp.word()),
                network.topology.word()
            ),
        )
        .help("several paths are in \"leaf-spine\", \"fat-tree\", \"clos\" and \"graph\"");
    }
}

/// Every switch must have a route to every host. Flows without a path are reported before.
pub(crate) fn check_whole(layout: &Layout, cx: &mut Context<'_>) {
    if cx.has_errors() {
        return;
    }
    if let Some((switch, host)) = layout.apart() {
        cx.error_at(
            "network.links",
            format!(
                "no links lead from switch {} to host {}",
                quoted(&layout.switches[switch].to_string()),
                quoted(&layout.hosts[host].to_string())
            ),
        )
        .help("a network is one: parts without a link between them are scenarios of their own");
    }
}

fn check_schedule(key: &str, Schedule(changes): &Schedule, end: Span, cx: &mut Context<'_>) {
    let Some(first) = changes.first() else {
        cx.error_at(key, "the schedule is empty")
            .help("without `schedule` the rate stays as it is");
        return;
    };
    if first.at == Span::ZERO {
        cx.error_at(
            key,
            "the schedule begins at 0 s, where `rate` already says the rate",
        )
        .help("the first change comes after the beginning");
    }
    if let Some(pair) = changes.windows(2).find(|pair| pair[0].at >= pair[1].at) {
        cx.error_at(
            key,
            format!(
                "the schedule does not ascend: {} follows {}",
                pair[1].at, pair[0].at
            ),
        )
        .help("the changes of a schedule are in order of time");
    }
    if let Some(late) = changes.iter().find(|change| change.at >= end) {
        cx.warn_at(
            key,
            format!("the run ends after {end}, before the change at {}", late.at),
        );
    }
}
