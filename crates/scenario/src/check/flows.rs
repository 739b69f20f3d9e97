//! Checks of `[flows.NAME]`: hosts that exist and can reach each other, workloads that fit their
//! transport.

use incastle_units::{Bytes, Span};

use crate::check::{list, sets};
use crate::language::flows::{
    Count, Group, InterarrivalDistribution, Message, Query, Size, Stop, Workload,
};
use crate::language::root::{Root, RunStop};
use crate::language::sizes::MAX_BYTES;
use crate::language::transport::Kind;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::Layout;
use crate::topology::pairs::{GroupHosts, MAX_FLOWS, Pair};

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    if root.flows.is_empty() && !cx.is_partial() {
        cx.error_at("flows", "the scenario has no flows")
            .help("add a group: [flows.NAME] with workload, from and to");
    }
    check_end(root, cx);
    let parts = layout.parts();
    for (name, group) in &root.flows {
        let path = format!("flows.{name}");
        check_hosts(&path, group, layout, &parts, cx);
        check_times(&path, group, root.run.duration, cx);
        list::check_end(&path, group, root.run.duration, cx);
        check_workload(&path, group, cx);
    }
}

/// A run that ends with its work needs work that ends.
fn check_end(root: &Root, cx: &mut Context<'_>) {
    let endless = !root.flows.iter().any(|(_, group)| group.is_finite());
    if root.run.stop == RunStop::WhenDone && endless && !root.flows.is_empty() && !cx.is_partial() {
        cx.error_at(
            "run.stop",
            "\"when-done\", but no group of flows ends by itself",
        )
        .help("give a group a size, a number of rounds or a `stop`; or stop = \"duration\"");
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
    let hosts = GroupHosts { from, to };
    check_servers(path, group, &hosts, cx);
    if sets::check(path, group, &hosts, &layout.hosts, cx).is_none() {
        return;
    }
    if let Workload::FlowList(one) = &group.workload {
        return list::check(path, &one.transfers, layout, &hosts, cx);
    }
    let pairs = hosts.pairs(group);
    if pairs.len() > MAX_FLOWS {
        cx.error_at(&format!("{path}.to"), format!(
                "a flow between each of {} hosts and each of {}: a group has at most {MAX_FLOWS} flows",
                hosts.from.len(),
                hosts.to.len()
            )).help("fewer hosts in `from` or `to`, or fewer flows by `count`");
    }
    if pairs.is_empty() {
        cx.error_at(
            &format!("{path}.to"),
            format!(
                "{} sends to itself",
                quoted(&layout.hosts[hosts.from[0]].to_string())
            ),
        )
        .help("`from` and `to` must name at least two different hosts");
    }
    let apart = |pair: &&Pair| parts[pair.from] != parts[pair.to];
    if let Some(pair) = pairs.iter().find(apart) {
        cx.error_at(
            &format!("{path}.to"),
            format!(
                "{} cannot be reached from {}",
                quoted(&layout.hosts[pair.to].to_string()),
                quoted(&layout.hosts[pair.from].to_string())
            ),
        )
        .help("no links lead from one to the other");
    }
}

/// Each client sends requests to that number of different servers.
fn check_servers(path: &str, group: &Group, hosts: &GroupHosts, cx: &mut Context<'_>) {
    let (true, Count::Number(wanted)) = (group.workload.is_requests(), group.count) else {
        return;
    };
    let others = sets::least_others(hosts);
    // No server at all is reported otherwise.
    if others > 0 && wanted as usize > others {
        cx.error_at(
            &format!("{path}.count"),
            format!("{wanted} servers, but `from` has only {others} hosts other than the client"),
        )
        .help(
            "each server is a separate host: more hosts (as senders of a star), or without \
                 `count` as many servers as there are",
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
        );
    }
    if group.start >= duration {
        cx.warn_at(
            &format!("{path}.start"),
            format!(
                "the run ends after {duration}, before the start at {}",
                group.start
            ),
        );
    }
}

fn check_workload(path: &str, group: &Group, cx: &mut Context<'_>) {
    let needs = match (&group.workload, &group.transport.kind) {
        _ if cx.is_removed("transport") => None,
        (Workload::Poisson(_) | Workload::FlowList(_), Kind::Datagram(_)) => Some("tcp"),
        (workload, Kind::Datagram(_)) if workload.has_rounds() => Some("tcp"),
        (
            Workload::PoissonDatagrams(_),
            Kind::Tcp(_) | Kind::Udt(_) | Kind::Dcudp(_) | Kind::Rdma(_),
        ) => Some("udp"),
        _ => None,
    };
    if let Some(kind) = needs {
        cx.error_at(
            &format!("{path}.workload"),
            format!(
                "workload \"{}\" needs another transport",
                group.workload.word()
            ),
        )
        .help(format!("transport = {{ kind = \"{kind}\" }}"));
    }
    match &group.workload {
        Workload::Bulk(bulk) => check_size(path, group, bulk.size, cx),
        Workload::Permutation(one) => check_size(path, group, one.size, cx),
        Workload::Cbr(cbr) => check_message(path, group, cbr.message, cx),
        Workload::OnOff(on_off) => check_message(path, group, on_off.message, cx),
        Workload::PoissonDatagrams(poisson) => check_message(path, group, poisson.message, cx),
        Workload::Query(query) => check_query(path, query, cx),
        // Their values were checked as they were read, their hosts with those of the group.
        Workload::BarrierIncast(_)
        | Workload::AllToAll(_)
        | Workload::Poisson(_)
        | Workload::RandomIncast(_)
        | Workload::FlowList(_)
        | Workload::AllReduce(_) => {}
    }
    for keys in alternatives(&group.workload) {
        one_of(path, keys, cx);
    }
}

/// Pairs of keys of which a workload has exactly one.
fn alternatives(workload: &Workload) -> Vec<[Given; 2]> {
    let key = |name, given| Given { name, given };
    let total = |total: Option<Bytes>| key("total_size", total.is_some());
    let load = |load: Option<f64>| key("load", load.is_some());
    match workload {
        Workload::BarrierIncast(one) => {
            vec![[key("sru", one.sru.is_some()), total(one.total_size)]]
        }
        Workload::AllToAll(one) => {
            let response = key("response_size", one.response_size.is_some());
            vec![[response, total(one.total_size)]]
        }
        Workload::Poisson(one) => {
            vec![[load(one.load), key("flow_rate", one.flow_rate.is_some())]]
        }
        Workload::RandomIncast(one) => vec![
            [key("sru", one.sru.is_some()), total(one.total_size)],
            [
                load(one.load),
                key("incast_rate", one.incast_rate.is_some()),
            ],
        ],
        Workload::PoissonDatagrams(one) => {
            vec![[
                load(one.load),
                key("datagram_rate", one.datagram_rate.is_some()),
            ]]
        }
        _ => Vec::new(),
    }
}

/// Datagrams that a flow writes in one instant: there is no control, and each is stored until it is sent.
const MAX_DATAGRAMS: u64 = 1_000_000;

fn check_size(path: &str, group: &Group, size: Size, cx: &mut Context<'_>) {
    if let Size::Of(size) = size {
        within(path, "size", size, MAX_BYTES, cx);
    }
    if let (Kind::Datagram(datagram), Size::Of(size)) = (&group.transport.kind, size) {
        let datagrams = size.count().div_ceil(datagram.payload.count());
        if datagrams > MAX_DATAGRAMS {
            cx.error_at(
                &format!("{path}.size"),
                format!("{datagrams} datagrams at once: a flow has at most {MAX_DATAGRAMS}"),
            )
            .help("a smaller size, or datagrams in time: workload = \"cbr\" with a rate");
        }
    }
    if group.workload.deadline().is_some() && size == Size::Unlimited {
        cx.error_at(
            &format!("{path}.deadline"),
            "a deadline for flows without end",
        )
        .help("give the flows a size");
    }
    if matches!(group.transport.kind, Kind::Datagram(_)) && size == Size::Unlimited {
        cx.error_at(
            &format!("{path}.workload"),
            "datagrams without control would send without limit",
        )
        .help("give a size, or a rate with workload = \"cbr\"");
    }
}

fn check_query(path: &str, query: &Query, cx: &mut Context<'_>) {
    if query.response_size.is_some() && query.total_size.is_some() {
        both(path, ["response_size", "total_size"], cx);
    }
    if query.rate.is_some() && query.think_time > Span::ZERO {
        cx.error_at(
            &format!("{path}.think_time"),
            "`think_time` waits for the last response, and `rate` does not",
        )
        .help("give one of the two");
    }
    if query.rate.is_none()
        && !matches!(query.interarrival, InterarrivalDistribution::Exponential(_))
    {
        cx.error_at(&format!("{path}.interarrival_distribution"), "`interarrival_distribution` without `rate`: a client sends its next requests when all responses are complete").help("give the queries per second of each client, such as rate = 7");
    }
}

fn check_message(path: &str, group: &Group, message: Message, cx: &mut Context<'_>) {
    let Message::Of(size) = message else { return };
    within(path, "message", size, MAX_MESSAGE, cx);
    if let Kind::Datagram(datagram) = &group.transport.kind
        && size > datagram.payload
    {
        cx.error_at(
            &format!("{path}.message"),
            format!(
                "a message of {size} does not fit a datagram of {}",
                datagram.payload
            ),
        )
        .help("a larger `payload` of the transport, or a smaller message");
    }
}

/// The maximum number of bytes written at once: at the slowest rate their time is still representable.
const MAX_MESSAGE: Bytes = Bytes::new(1_000_000_000);

fn within(path: &str, name: &str, size: Bytes, most: Bytes, cx: &mut Context<'_>) {
    if size == Bytes::ZERO {
        above_zero(path, name, cx);
    }
    if size > most {
        cx.error_at(
            &format!("{path}.{name}"),
            format!("{name} must be at most {most}, found {size}"),
        );
    }
}

fn above_zero(path: &str, name: &str, cx: &mut Context<'_>) {
    cx.error_at(&format!("{path}.{name}"), format!("{name} must be above 0"));
}

/// Exactly one of two keys.
fn one_of(path: &str, keys: [Given; 2], cx: &mut Context<'_>) {
    let [first, second] = keys.map(|key| key.name);
    match keys.map(|key| key.given) {
        [true, true] => both(path, [first, second], cx),
        [false, false] => {
            let missing = |name| !cx.is_given(&format!("{path}.{name}"));
            if missing(first) && missing(second) {
                cx.error_at(path, format!("[{path}] has neither {first} nor {second}"))
                    .help("give one of the two");
            }
        }
        _ => {}
    }
}

fn both(path: &str, [first, second]: [&str; 2], cx: &mut Context<'_>) {
    let message = format!("[{path}] has both {first} and {second}");
    cx.error_at(&format!("{path}.{second}"), message)
        .help("give one of the two");
}

/// A key, and whether it is given.
#[derive(Clone, Copy)]
struct Given {
    name: &'static str,
    given: bool,
}
