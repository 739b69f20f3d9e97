//! Checks of `[network.pause_storms.LABEL]`: hosts whose switch obeys the frames, and periods.

use std::collections::BTreeSet;

use incastle_queueing::Priority;

use crate::check::lockstep::switch_at;
use crate::check::pfc::check_list;
use crate::language::pfc::PauseStorm;
use crate::language::root::{Compat, Root};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout};

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let end = root.run.duration;
    for (label, storm) in &root.network.pause_storms {
        let path = format!("network.pause_storms.{label}");
        if root.run.compat == Some(Compat::HpccNs3) {
            cx.error_at(&path, "compat = \"hpcc-ns3\" has no storms of pause frames")
                .help("leave the table or run.compat out");
        }
        let known = cx.count();
        let key = format!("{path}.priorities");
        check_list(&key, &storm.priorities, &mut BTreeSet::new(), cx);
        if cx.count() == known {
            check_hosts(&path, storm, root, layout, cx);
        }
        if let Some(until) = storm.until.filter(|until| *until <= storm.from) {
            cx.error_at(
                &format!("{path}.until"),
                format!("until {until} is not after from {}", storm.from),
            );
        }
        if storm.from >= end {
            cx.warn_at(
                &path,
                format!(
                    "the run ends after {end}, before the storm at {}",
                    storm.from
                ),
            );
        }
    }
}

/// The switch of each host has PFC for all priorities of the storm.
fn check_hosts(path: &str, storm: &PauseStorm, root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let key = format!("{path}.of");
    let hosts = storm.of.resolve(&layout.hosts, "hosts", &key, cx);
    for host in hosts.into_iter().flatten() {
        let Some(End::Switch(switch)) = layout
            .access(host)
            .and_then(|link| [link.ends.0, link.ends.1].into_iter().find(is_switch))
        else {
            continue;
        };
        let names = [&layout.hosts[host], &layout.switches[switch]];
        let [host, name] = names.map(|name| quoted(&name.to_string()));
        let pfc = switch_at(root, layout, switch).pfc.as_ref();
        let Some(pfc) = pfc.filter(|pfc| pfc.pause_frames) else {
            cx.error_at(
                &key,
                format!("{name}, the switch of {host}, has no PFC: it ignores pause frames"),
            )
            .help("[switch.pfc] priorities = [3], with [switch.queue] kind = \"priorities\"");
            return;
        };
        let lossy = |priority: &&Priority| !pfc.priorities.contains(priority);
        if let Some(priority) = storm.priorities.iter().find(lossy) {
            cx.error_at(
                &format!("{path}.priorities"),
                format!("priority {priority} is lossy at {name}, the switch of {host}: PFC does not pause it"),
            )
            .help("one of the priorities of [switch.pfc]");
            return;
        }
    }
}

const fn is_switch(end: &End) -> bool {
    matches!(end, End::Switch(_))
}
