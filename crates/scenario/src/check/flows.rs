//! Checks of `[flows.NAME]`: hosts that exist and can reach each other, workloads that fit their
//! transport.

use incastle_units::{Bytes, Span};

use crate::check::{list, sets};
use crate::language::flows::{
    Count, Group, InterarrivalDistribution, Message, Query, Size, Stop, Workload,
};
use crate::language::root::{Root, RunStop};
use crate::language::sizes::MOST_BYTES;
use crate::language::transport::Kind;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;
use crate::topology::pairs::{MOST_FLOWS, group_pairs};

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    if root.flows.is_empty() && !cx.partial {
        cx.error_at(
            "flows",
            "the scenario has no flows".to_owned(),
            Some("add a group: [flows.NAME] with workload, from and to".to_owned()),
        );
    }
    check_end(root, cx);
    let parts = layout.parts();
    for (name, group) in &root.flows {
        let path = format!("flows.{name}");
        check_hosts(&path, group, layout, &parts, cx);
        check_times(&path, group, root.run.duration, cx);
        list::check_end(&path, (group, root.run.duration), cx);
        check_workload(&path, group, cx);
    }
}

/// A run that ends with its work needs work that ends.
fn check_end(root: &Root, cx: &mut Context<'_>) {
    let endless = !root.flows.iter().any(|(_, group)| group.is_finite());
    if root.run.stop == RunStop::WhenDone && endless && !root.flows.is_empty() && !cx.partial {
        cx.error_at(
            "run.stop",
            "\"when-done\", but no group of flows ends by itself".to_owned(),
            Some(
                "give a group a size, a number of rounds or a `stop`; or stop = \"duration\""
                    .to_owned(),
            ),
        );
    }
}

fn check_hosts(path: &str, group: &Group, layout: &Layout, parts: &[usize], cx: &mut Context<'_>) {
    let from = group
        .from
        .resolve(&layout.hosts, "hosts", &format!("{path}.from"), cx);
    let to = group
        .to
        .resolve(&layout.hosts, "hosts", &format!("{path}.to"), cx);
    let (Some(from), Some(to)) = (from, to) else {
        return;
    };
    check_servers(path, group, (&from, &to), cx);
    if sets::check(path, group, (&from, &to), &layout.hosts, cx).is_none() {
        return;
    }
    if let Workload::FlowList(one) = &group.workload {
        return list::check(path, &one.transfers, layout, (&from, &to), cx);
    }
    let pairs = group_pairs(group, &from, &to);
    if pairs.len() > MOST_FLOWS {
        cx.error_at(
            &format!("{path}.to"),
            format!(
                "a flow between each of {} hosts and each of {}: a group has at most {MOST_FLOWS} flows",
                from.len(),
                to.len()
            ),
            Some("fewer hosts in `from` or `to`, or fewer flows by `count`".to_owned()),
        );
    }
    if pairs.is_empty() {
        cx.error_at(
            &format!("{path}.to"),
            format!(
                "{} sends to itself",
                quoted(&layout.hosts[from[0]].to_string())
            ),
            Some("`from` and `to` must name at least two different hosts".to_owned()),
        );
    }
    if let Some((from, to)) = pairs.iter().find(|(from, to)| parts[*from] != parts[*to]) {
        cx.error_at(
            &format!("{path}.to"),
            format!(
                "{} cannot be reached from {}",
                quoted(&layout.hosts[*to].to_string()),
                quoted(&layout.hosts[*from].to_string())
            ),
            Some("no links lead from one to the other".to_owned()),
        );
    }
}

/// Each client sends requests to that number of different servers.
fn check_servers(
    path: &str,
    group: &Group,
    (from, to): (&[usize], &[usize]),
    cx: &mut Context<'_>,
) {
    let (true, Count::Number(wanted)) = (group.workload.is_requests(), group.count) else {
        return;
    };
    let hosts = sets::least_others(from, to);
    // No server at all is reported otherwise.
    if hosts > 0 && wanted as usize > hosts {
        cx.error_at(
            &format!("{path}.count"),
            format!("{wanted} servers, but `from` has only {hosts} hosts"),
            Some(
                "each server is a host of its own: more hosts (as senders of a star), or without \
                 `count` as many servers as there are"
                    .to_owned(),
            ),
        );
    }
}

fn check_times(path: &str, group: &Group, duration: Span, cx: &mut Context<'_>) {
    if let Stop::At(stop) = group.stop
        && stop <= group.start
    {
        cx.error_at(
            &format!("{path}.stop"),
            format!("stop at {stop} is not after the start at {}", group.start),
            None,
        );
    }
    if group.start >= duration {
        cx.warn_at(
            &format!("{path}.start"),
            format!(
                "the run ends after {duration}, before the start at {}",
                group.start
            ),
            None,
        );
    }
}

fn check_workload(path: &str, group: &Group, cx: &mut Context<'_>) {
    let needs = match (&group.workload, &group.transport.kind) {
        (Workload::Poisson(_) | Workload::FlowList(_), Kind::Datagram(_)) => Some("tcp"),
        (workload, Kind::Datagram(_)) if workload.has_rounds() => Some("tcp"),
        (Workload::PoissonDatagrams(_), Kind::Tcp(_) | Kind::Udt(_) | Kind::Dcudp(_)) => {
            Some("udp")
        }
        _ => None,
    };
    if let Some(kind) = needs {
        cx.error_at(
            &format!("{path}.workload"),
            format!(
                "workload \"{}\" needs another transport",
                group.workload.word()
            ),
            Some(format!("transport = {{ kind = \"{kind}\" }}")),
        );
    }
    match &group.workload {
        Workload::Bulk(bulk) => check_size(path, group, bulk.size, cx),
        Workload::Permutation(one) => check_size(path, group, one.size, cx),
        Workload::Cbr(cbr) => check_message(path, group, cbr.message, cx),
        Workload::OnOff(on_off) => check_message(path, group, on_off.message, cx),
        Workload::BarrierIncast(barrier) => {
            one_of(
                path,
                ["sru", "total_size"],
                &(barrier.sru, barrier.total_size),
                cx,
            );
        }
        Workload::AllToAll(all) => one_of(
            path,
            ["response_size", "total_size"],
            &(all.response_size, all.total_size),
            cx,
        ),
        Workload::Query(query) => check_query(path, query, cx),
        Workload::Poisson(poisson) => {
            one_of(
                path,
                ["load", "flow_rate"],
                &(poisson.load, poisson.flow_rate),
                cx,
            );
        }
        Workload::RandomIncast(incast) => {
            one_of(
                path,
                ["sru", "total_size"],
                &(incast.sru, incast.total_size),
                cx,
            );
            let rates = (incast.load, incast.incast_rate);
            one_of(path, ["load", "incast_rate"], &rates, cx);
        }
        // Their values were checked as they were read, their hosts with those of the group.
        Workload::FlowList(_) | Workload::AllReduce(_) => {}
        Workload::PoissonDatagrams(poisson) => {
            check_message(path, group, poisson.message, cx);
            one_of(
                path,
                ["load", "datagram_rate"],
                &(poisson.load, poisson.datagram_rate),
                cx,
            );
        }
    }
}

/// Datagrams that a flow writes in one instant: there is no control, and each is remembered until it is sent.
const MOST_DATAGRAMS: u64 = 1_000_000;

fn check_size(path: &str, group: &Group, size: Size, cx: &mut Context<'_>) {
    if let Size::Of(size) = size {
        within(path, "size", size, MOST_BYTES, cx);
    }
    if let (Kind::Datagram(datagram), Size::Of(size)) = (&group.transport.kind, size) {
        let datagrams = size.count().div_ceil(datagram.payload.count());
        if datagrams > MOST_DATAGRAMS {
            cx.error_at(
                &format!("{path}.size"),
                format!("{datagrams} datagrams at once: a flow has at most {MOST_DATAGRAMS}"),
                Some(
                    "a smaller size, or datagrams in time: workload = \"cbr\" with a rate"
                        .to_owned(),
                ),
            );
        }
    }
    if group.workload.deadline().is_some() && size == Size::Unlimited {
        cx.error_at(
            &format!("{path}.deadline"),
            "a deadline for flows without end".to_owned(),
            Some("give the flows a size".to_owned()),
        );
    }
    if matches!(group.transport.kind, Kind::Datagram(_)) && size == Size::Unlimited {
        cx.error_at(
            &format!("{path}.workload"),
            "datagrams without control would send without limit".to_owned(),
            Some("give a size, or a rate with workload = \"cbr\"".to_owned()),
        );
    }
}

fn check_query(path: &str, query: &Query, cx: &mut Context<'_>) {
    if let (Some(_), Some(_)) = (query.response_size, query.total_size) {
        one_of(
            path,
            ["response_size", "total_size"],
            &(query.response_size, query.total_size),
            cx,
        );
    }
    if query.rate.is_some() && query.think_time > Span::ZERO {
        cx.error_at(
            &format!("{path}.think_time"),
            "`think_time` waits for the last answer, and `rate` does not".to_owned(),
            Some("give one of the two".to_owned()),
        );
    }
    if query.rate.is_none()
        && !matches!(query.interarrival, InterarrivalDistribution::Exponential(_))
    {
        cx.error_at(
            &format!("{path}.interarrival_distribution"),
            "`interarrival_distribution` without `rate`: a client sends its next requests when all responses are complete".to_owned(),
            Some("give the queries per second of each client, such as rate = 7".to_owned()),
        );
    }
}

fn check_message(path: &str, group: &Group, message: Message, cx: &mut Context<'_>) {
    let Message::Of(size) = message else { return };
    within(path, "message", size, MOST_MESSAGE, cx);
    if let Kind::Datagram(datagram) = &group.transport.kind
        && size > datagram.payload
    {
        cx.error_at(
            &format!("{path}.message"),
            format!(
                "a message of {size} does not fit a datagram of {}",
                datagram.payload
            ),
            Some("a larger `payload` of the transport, or a smaller message".to_owned()),
        );
    }
}

/// The most bytes written at once: at the slowest rate their time is still countable.
const MOST_MESSAGE: Bytes = Bytes::new(1_000_000_000);

fn within(path: &str, name: &str, size: Bytes, most: Bytes, cx: &mut Context<'_>) {
    if size == Bytes::ZERO {
        above_zero(path, name, cx);
    }
    if size > most {
        cx.error_at(
            &format!("{path}.{name}"),
            format!("{name} must be at most {most}, found {size}"),
            None,
        );
    }
}

fn above_zero(path: &str, name: &str, cx: &mut Context<'_>) {
    cx.error_at(
        &format!("{path}.{name}"),
        format!("{name} must be above 0"),
        None,
    );
}

/// Exactly one of two keys.
fn one_of<T>(path: &str, names: [&str; 2], given: &(Option<T>, Option<T>), cx: &mut Context<'_>) {
    let [first, second] = names;
    match given {
        (Some(_), Some(_)) => cx.error_at(
            &format!("{path}.{second}"),
            format!("[{path}] has both {first} and {second}"),
            Some("give one of the two".to_owned()),
        ),
        (None, None) => {
            let missing = !cx.is_given(&format!("{path}.{first}"))
                && !cx.is_given(&format!("{path}.{second}"));
            if missing {
                cx.error_at(
                    path,
                    format!("[{path}] has neither {first} nor {second}"),
                    Some("give one of the two".to_owned()),
                );
            }
        }
        _ => {}
    }
}
