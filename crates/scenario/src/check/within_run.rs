//! Rounds and pauses that the run is too short for.

use incastle_units::{Bytes, Span};

use crate::check::sets::least_others;
use crate::language::flows::{Count, Group, Query, Workload};
use crate::language::limits::Rounds;
use crate::language::root::Root;
use crate::text::context::Context;
use crate::topology::layout::Layout;
use crate::topology::pairs::GroupHosts;

/// Longer times are not written out.
const LONG_SECONDS: f64 = 1e6;

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    if cx.is_removed("run") {
        return;
    }
    for (name, group) in &root.flows {
        let path = format!("flows.{name}");
        let time = root.run.duration.saturating_sub(group.start);
        check_pause(&path, &group.workload, time, cx);
        if let Some(hosts) = GroupHosts::find(group, layout) {
            check_round(&path, group, &hosts, layout, time, cx);
        }
    }
}

/// A pause after the first round that does not end.
fn check_pause(path: &str, workload: &Workload, time: Span, cx: &mut Context<'_>) {
    let (pause, rounds) = match workload {
        Workload::BarrierIncast(one) => (one.think_time, one.rounds),
        Workload::AllToAll(one) => (one.think_time, one.rounds),
        Workload::Query(one) if one.rate.is_none() => (one.think_time, one.rounds),
        _ => return,
    };
    if pause >= time && rounds != Rounds::Number(1) {
        cx.warn_at(
            &format!("{path}.think_time"),
            format!(
                "think_time of {pause}, and the run ends {time} after the start: one round at most"
            ),
        )
        .help("shorten think_time, or write rounds = 1 where that is meant");
    }
}

/// Rounds of more bytes than the link of any client carries in the run.
fn check_round(
    path: &str,
    group: &Group,
    hosts: &GroupHosts,
    layout: &Layout,
    time: Span,
    cx: &mut Context<'_>,
) {
    let (name, size, total) = match &group.workload {
        Workload::BarrierIncast(one) => ("sru", one.sru, one.total_size),
        Workload::AllToAll(one) => ("response_size", one.response_size, one.total_size),
        Workload::Query(one) => {
            let size = one.response_size.unwrap_or(Query::UNIT);
            ("response_size", Some(size), one.total_size)
        }
        _ => return,
    };
    let servers = match group.count {
        Count::Number(number) => u64::from(number),
        Count::Each => least_others(hosts) as u64,
    };
    let (key, words, bytes) = match (total, size) {
        (Some(total), _) => ("total_size", format!("{total}"), total.count() as f64),
        (None, Some(size)) => {
            let all = servers as f64 * size.count() as f64;
            (name, responses(servers, size), all)
        }
        (None, None) => return,
    };
    let links = hosts.to.iter().filter_map(|host| layout.access(*host));
    let Some(rate) = links.map(|link| link.highest_rate(time)).max() else {
        return;
    };
    let seconds = bytes / rate.bytes_per_second_lossy();
    if seconds > time.as_secs_lossy() {
        let least = if seconds < LONG_SECONDS {
            Span::from_secs_lossy(seconds).rounded()
        } else {
            format!("more than {LONG_SECONDS} s")
        };
        cx.warn_at(
            &format!("{path}.{key}"),
            format!("no round can be complete: {words} at {rate} take {least}, and the run ends {time} after the start"),
        )
        .help("check the unit of the size, the rate of the links, and run.duration");
    }
}

fn responses(servers: u64, size: Bytes) -> String {
    if servers == 1 {
        return format!("a response of {size}");
    }
    format!("{servers} responses of {size}")
}
