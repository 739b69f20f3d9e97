//! Values that are valid and surely not meant, each compared with the value that it has to fit.
//!
//! The comparisons leave room for studies of extremes: a warning needs a factor of ten or more, or a limit that has
//! no effect at all.

use std::collections::BTreeSet;

use incastle_units::{Bytes, Rate, Span};

use crate::check::group_transport::written;
use crate::language::flows::{Bulk, Group, Permutation, Poisson, Query, Size, Workload};
use crate::language::rdma::{AckTimeout, BaseRtt, Control, MaxRate, Rdma, RetryLimit};
use crate::language::root::Root;
use crate::language::sizes::Sizes;
use crate::language::switch::{Buffer, Drr, Queue, Shared, Switch};
use crate::language::tcp::{Congestion, Prague, Swift, Tcp, WindowLimit};
use crate::language::wire::WireFormat;
use crate::packet_sizes::extended_header;
use crate::text::context::Context;
use crate::text::node::Place;
use crate::topology::layout::Layout;
use crate::topology::pairs::{GroupHosts, Pair};
use crate::topology::routes::Routes;

/// The least segments of Linux (`TCP_MIN_MSS` in `include/net/tcp.h`).
const LEAST_MSS: Bytes = Bytes::new(88);

/// Segments of the largest usual initial window (RFC 6928, section 2).
const USUAL_WINDOW: u64 = 10;

/// Above this a single port may take 99 % of a shared memory: the limit has no effect.
const MOST_ALPHA: f64 = 99.0;

/// From here on a round trip is not one of a data center.
const LONG_RTT: Span = Span::from_ms(1);

/// Many times as much as fits.
const MANY: u64 = 10;

/// The path of a group's first flow, without any other data.
struct Idle {
    /// The delays of the links, there and back.
    delays: Span,
    /// The round trip of a full packet and its ACK, without waiting.
    rtt: Span,
    /// The rate of the sender's link.
    line: Rate,
    /// The rate of the slower of both hosts' links.
    rate: Rate,
    /// Its switches.
    hops: u32,
}

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    check_delays(root, cx);
    let routes = Routes::new(layout, Span::ZERO);
    let mut longest: Option<Span> = None;
    let mut seen = BTreeSet::new();
    for (name, group) in &root.flows {
        let Some(hosts) = GroupHosts::find(group, layout) else {
            continue;
        };
        check_deadline(&format!("flows.{name}"), group, &hosts, layout, cx);
        let Some(idle) = idle(group, &hosts, root, layout, &routes) else {
            continue;
        };
        longest = longest.max(Some(idle.rtt));
        let path = format!("flows.{name}.transport");
        if let Some(tcp) = group.transport.tcp() {
            check_transport(&path, tcp, &idle, &mut seen, cx);
        }
        if group.transport.stream().is_some()
            && let Some(congestion) = group.transport.window_control()
            && seen.insert(("congestion", cx.place_of(&format!("{path}.congestion"))))
        {
            check_control(&path, congestion, &idle, cx);
        }
        if let Some(rdma) = group.transport.rdma() {
            check_ack_timeout(&path, rdma, &idle, &mut seen, cx);
            check_rates(&path, rdma, &idle, &mut seen, cx);
            check_base_rtt(&path, rdma, &idle, &mut seen, cx);
        }
    }
    if let Some(rtt) = longest {
        check_jitter(root.host.jitter, rtt, cx);
    }
}

/// Checks TCP against the path. `seen` are the places of the keys that were checked: groups that inherit one would
/// have a warning each.
fn check_transport(
    path: &str,
    tcp: &Tcp,
    idle: &Idle,
    seen: &mut BTreeSet<(&str, Place)>,
    cx: &mut Context<'_>,
) {
    let key = format!("{path}.initial_window");
    if seen.insert(("initial_window", cx.place_of(&key))) {
        check_initial_window(&key, tcp, idle, cx);
    }
    let key = written(path, &["initial_rto", "min_rto"], cx);
    if seen.insert(("initial_rto", cx.place_of(&key))) {
        check_initial_rto(&key, tcp, idle, cx);
    }
    if seen.insert(("congestion", cx.place_of(&format!("{path}.congestion")))) {
        check_control(path, &tcp.congestion, idle, cx);
    }
    let key = format!("{path}.min_rto");
    // Whoever writes it, or the preset that it is from, means it. One warning is enough for all groups.
    let is_default = !cx.is_given(&key) && !cx.is_given(&format!("{path}.preset"));
    if is_default
        && !cx.has_errors()
        && idle.rtt < LONG_RTT
        && seen.insert(("min_rto", Place::File(0)))
    {
        let own = cx.is_given(path);
        let key = if own { &key } else { "transport.min_rto" };
        check_min_rto(key, tcp, idle, cx);
    }
}

/// Linux's default, a thousand and more round trips of a data center.
fn check_min_rto(key: &str, tcp: &Tcp, idle: &Idle, cx: &mut Context<'_>) {
    let (least, rtt) = (tcp.min_rto, idle.rtt.rounded());
    let times = least.as_ps() / idle.rtt.as_ps().max(1);
    cx.warn_at(key, format!(
            "the default min_rto of {least} is {times} round trips of {rtt} without waiting: a timeout stops its flow for that long"
        ))
        .help(format!(
            "min_rto = \"10 ms\" and initial_rto = \"100 ms\" (Alizadeh et al. 2010 have 10 ms), or min_rto = \"{least}\" where Linux's default is meant"
        ));
}

/// A timer of queue pairs that expires before the ACK can be there, or whenever it waits for a while.
fn check_ack_timeout(
    path: &str,
    rdma: &Rdma,
    idle: &Idle,
    seen: &mut BTreeSet<(&str, Place)>,
    cx: &mut Context<'_>,
) {
    let key = written(path, &["ack_timeout", "kind"], cx);
    let AckTimeout::After(timeout) = rdma.ack_timeout else {
        return;
    };
    let is_short = timeout < idle.rtt.saturating_mul(MANY);
    if !is_short || !seen.insert(("ack_timeout", cx.place_of(&key))) {
        return;
    }
    let rtt = idle.rtt.rounded();
    let message = if timeout < idle.rtt {
        format!(
            "ack_timeout of {timeout} is below the round trip of {rtt} without waiting: packets are sent again before their ACK can be there"
        )
    } else {
        let rest = (timeout - idle.rtt).rounded();
        format!(
            "ack_timeout of {timeout} leaves {rest} for queues and pauses, above the round trip of {rtt} without waiting: packets that wait longer are sent again, though none is lost"
        )
    };
    let failure = match rdma.retry_limit {
        RetryLimit::Unlimited => String::new(),
        RetryLimit::Times(limit) => {
            format!(", and a queue pair fails after {limit} retries without progress")
        }
    };
    cx.warn_at(&key, message + &failure).help(
        "raise ack_timeout above the longest round trip, with queues and pauses; or leave it out",
    );
}

/// A least rate that a control of queue pairs cannot go below.
fn check_rates(
    path: &str,
    rdma: &Rdma,
    idle: &Idle,
    seen: &mut BTreeSet<(&str, Place)>,
    cx: &mut Context<'_>,
) {
    let key = format!("{path}.min_rate");
    let most = match rdma.max_rate {
        MaxRate::Line => idle.line,
        MaxRate::Rate(most) => most.min(idle.line),
    };
    if rdma.min_rate < most || !seen.insert(("min_rate", cx.place_of(&key))) {
        return;
    }
    cx.warn_at(
        &key,
        format!(
            "min_rate of {} is not below the greatest rate of {most}: the control has no effect",
            rdma.min_rate
        ),
    )
    .help("a small part of the rate of the link: HPCC's simulator has 100 Mbit/s for 25 Gbit/s");
}

/// A base RTT of HPCC in which the path holds a small part of its window.
fn check_base_rtt(
    path: &str,
    rdma: &Rdma,
    idle: &Idle,
    seen: &mut BTreeSet<(&str, Place)>,
    cx: &mut Context<'_>,
) {
    let key = format!("{path}.base_rtt");
    let (Control::Hpcc(_), BaseRtt::Span(base)) = (&rdma.congestion, rdma.base_rtt) else {
        return;
    };
    if base.saturating_mul(2) >= idle.rtt || !seen.insert(("base_rtt", cx.place_of(&key))) {
        return;
    }
    let share = 100.0 * base.as_secs_lossy() / idle.rtt.as_secs_lossy();
    cx.warn_at(&key, format!(
            "base_rtt of {base} is {share:.0} % of the round trip of {} without waiting: hpcc takes what is on its way for a queue, and leaves links idle",
            idle.rtt.rounded()
        ))
        .help("base_rtt = \"path\", or the longest round trip without waiting");
}

/// Links that deliver nothing before the end of the run.
fn check_delays(root: &Root, cx: &mut Context<'_>) {
    let network = &root.network;
    let groups = network.links.iter().filter_map(|(label, group)| {
        let key = format!("network.links.{label}.delay");
        group.delay.map(|delay| (key, delay))
    });
    let all = ("network.delay".to_owned(), network.delay);
    for (key, delay) in std::iter::once(all).chain(groups) {
        let end = root.run.duration;
        if delay >= end && !cx.is_removed("run") {
            cx.warn_at(&key, format!("delay of {delay}, and the run ends after {end}: nothing arrives over such a link"))
                .help("the delay of a link in a data center is some microseconds");
        }
    }
}

fn check_jitter(jitter: Span, rtt: Span, cx: &mut Context<'_>) {
    if jitter > rtt.saturating_mul(MANY) {
        let times = jitter.as_ps() / rtt.as_ps().max(1);
        cx.warn_at("host.jitter", format!(
            "jitter of {jitter} is {times} times the longest round trip without waiting, {}: it determines all times",
            rtt.rounded()
        ))
        .help("a jitter that desynchronizes senders is some packet times, such as \"2 us\"");
    }
}

fn check_initial_window(key: &str, tcp: &Tcp, idle: &Idle, cx: &mut Context<'_>) {
    let mut window = tcp.bytes(tcp.initial_window);
    for limit in [tcp.max_cwnd, tcp.receive_window] {
        if let WindowLimit::Limited(limit) = limit {
            window = window.min(tcp.bytes(limit));
        }
    }
    let product = idle.rate.bytes_per_second_lossy() * idle.rtt.as_secs_lossy();
    let product = Bytes::new(product as u64);
    let usual = Bytes::new(USUAL_WINDOW * tcp.mss.count());
    if window.count() / MANY > product.max(usual).count() {
        let times = window.count() / product.count().max(1);
        let (rate, rtt) = (idle.rate, idle.rtt.rounded());
        cx.warn_at(key, format!(
            "initial_window of {} is {times} bandwidth-delay products of {product} ({rate} for {rtt}): flows have no slow start",
            tcp.initial_window
        ))
        .help("RFC 6928 has \"10 packets\"");
    }
}

/// A first timeout before the first answer can be there.
fn check_initial_rto(key: &str, tcp: &Tcp, idle: &Idle, cx: &mut Context<'_>) {
    let rto = tcp.initial_rto.max(tcp.min_rto);
    if rto < idle.delays {
        let delays = idle.delays.rounded();
        cx.warn_at(key, format!(
            "a first timeout after {rto}, and the delays of the links are {delays} there and back: the first packet of each flow is sent again for nothing"
        ))
        .help("raise initial_rto and min_rto, or check the unit of the links' delay");
    }
}

/// Parameters of a control that do not fit the round trip.
fn check_control(path: &str, congestion: &Congestion, idle: &Idle, cx: &mut Context<'_>) {
    if let Congestion::Swift(swift) = congestion {
        check_swift(path, swift, idle, cx);
    }
    // Whoever writes it means it.
    if let Congestion::Prague(Prague { rtt_target, .. }) = *congestion
        && !cx.is_given(&format!("{path}.rtt_target"))
        && rtt_target > idle.rtt.saturating_mul(MANY)
    {
        let times = rtt_target.as_secs_lossy() / idle.rtt.as_secs_lossy();
        let rtt = idle.rtt.rounded();
        cx.warn_at(&format!("{path}.congestion"), format!(
            "prague with the default rtt_target of {rtt_target}, and the round trip without waiting is {rtt}: after slow start the window grows {:.0} times as slowly",
            times * times
        ))
        .help(format!("rtt_target = \"0 s\" in a data center, or rtt_target = \"{rtt_target}\" where that is meant"));
    }
}

/// A target that the delay of the empty path exceeds.
fn check_swift(path: &str, swift: &Swift, idle: &Idle, cx: &mut Context<'_>) {
    let hops = u64::from(idle.hops);
    let target = swift.base_target + swift.hop_scale.saturating_mul(hops);
    if target < idle.rtt {
        let rtt = idle.rtt.rounded();
        cx.warn_at(&written(path, &["base_target", "congestion"], cx), format!(
            "swift with a target of {target} ({} and {hops} x {}), and the round trip without waiting is {rtt}: the window stays small on the empty path",
            swift.base_target, swift.hop_scale
        ))
        .help("raise base_target: to the round trip without waiting, and the queueing delay that is allowed");
    }
}

/// Deadlines that no transfer can meet, not even between the nearest hosts on an empty network without switches' links.
fn check_deadline(
    path: &str,
    group: &Group,
    hosts: &GroupHosts,
    layout: &Layout,
    cx: &mut Context<'_>,
) {
    let Some(deadline) = group.workload.deadline() else {
        return;
    };
    let fastest = |hosts: &[usize]| {
        let links = hosts.iter().filter_map(|host| layout.access(*host));
        let delay = links.clone().map(|link| link.delay).min()?;
        Some((delay, links.map(|link| link.highest_rate(Span::MAX)).max()?))
    };
    let (Some((near, up)), Some((far, down))) = (fastest(&hosts.from), fastest(&hosts.to)) else {
        return;
    };
    // Without switches both have the same link.
    let one_way = if layout.switches.is_empty() {
        near.max(far)
    } else {
        near + far
    };
    let ways = if group.workload.is_requests() { 2 } else { 1 };
    let (delays, rate) = (one_way.saturating_mul(ways), up.min(down));
    let bytes = least_bytes(&group.workload);
    let sending = bytes.count() as f64 / rate.bytes_per_second_lossy();
    let least = Span::from_secs_lossy(delays.as_secs_lossy() + sending);
    if deadline < least {
        let least = if bytes == Bytes::ZERO {
            format!("the delays of the links are {delays}")
        } else {
            let least = least.rounded();
            format!("{bytes} at {rate} with delays of {delays} take {least} at least")
        };
        cx.warn_at(
            &format!("{path}.deadline"),
            format!("no transfer can meet a deadline of {deadline}: {least}"),
        )
        .help("a deadline is some times the flow completion time without other flows");
    }
}

/// The application bytes of the smallest transfer of a workload, or 0 where that is not given.
fn least_bytes(workload: &Workload) -> Bytes {
    let given = match workload {
        Workload::Bulk(Bulk {
            size: Size::Of(bytes),
            ..
        })
        | Workload::Permutation(Permutation {
            size: Size::Of(bytes),
            ..
        })
        | Workload::Poisson(Poisson {
            sizes: Sizes::Fixed(bytes),
            ..
        }) => Some(*bytes),
        Workload::BarrierIncast(one) => one.sru,
        Workload::RandomIncast(one) => one.sru,
        Workload::AllToAll(one) => one.response_size,
        Workload::Query(one) if one.total_size.is_none() => {
            Some(one.response_size.unwrap_or(Query::UNIT))
        }
        Workload::FlowList(one) => one.transfers.list().iter().map(|one| one.bytes).min(),
        _ => None,
    };
    given.unwrap_or(Bytes::ZERO)
}

/// The path of a group's first flow; none where it has no flow or no path, which is reported elsewhere.
fn idle(
    group: &Group,
    hosts: &GroupHosts,
    root: &Root,
    layout: &Layout,
    routes: &Routes<'_>,
) -> Option<Idle> {
    let from = hosts.from[0];
    let to = *hosts.to.iter().find(|to| **to != from)?;
    let path = routes.shortest(Pair { from, to })?;
    let format = WireFormat::of(&group.transport);
    let ack = (group.transport.rdma()).map_or(format.headers, Rdma::ack);
    let full = format.wire_size(format.payload + extended_header(&group.transport, root));
    let sending = (full + format.framed(ack)) as f64 * path.seconds_per_byte;
    let (up, down) = (layout.access(from)?.rate, layout.access(to)?.rate);
    Some(Idle {
        delays: path.delay.saturating_mul(2),
        rtt: Span::from_secs_lossy(2.0 * path.delay.as_secs_lossy() + sending),
        line: up,
        rate: up.min(down),
        hops: path.hops,
    })
}

/// Checks parameters of TCP against each other.
pub(super) fn check_tcp(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    if tcp.mss < LEAST_MSS {
        let headers = 40;
        cx.warn_at(
            &format!("{path}.mss"),
            format!(
                "mss of {}: each packet of {} has {headers} B of headers",
                tcp.mss,
                Bytes::new(tcp.mss.count() + headers)
            ),
        )
        .help(format!(
            "Linux has at least {LEAST_MSS} (TCP_MIN_MSS), RFC 9293 has 536 B by default"
        ));
    }
    if let WindowLimit::Limited(most) = tcp.max_cwnd
        && tcp.bytes(tcp.min_cwnd) > tcp.bytes(most)
    {
        cx.warn_at(
            &written(path, &["min_cwnd", "max_cwnd"], cx),
            format!(
                "min_cwnd of {} is above max_cwnd of {most}: the window never changes",
                tcp.min_cwnd
            ),
        )
        .help("lower min_cwnd, or raise max_cwnd");
    }
    if let WindowLimit::Limited(most) = tcp.max_cwnd
        && tcp.bytes(tcp.initial_window) > tcp.bytes(most)
        && tcp.bytes(tcp.initial_window).count() > USUAL_WINDOW * tcp.mss.count()
    {
        cx.warn_at(
            &format!("{path}.initial_window"),
            format!(
                "initial_window of {} is above max_cwnd of {most}, which limits it",
                tcp.initial_window
            ),
        )
        .help("lower initial_window, or raise max_cwnd");
    }
    // Whoever writes it means it.
    let is_default = !cx.is_given(&format!("{path}.initial_rto"));
    if is_default && tcp.initial_rto > tcp.min_rto.saturating_mul(MANY) {
        let (initial, least) = (tcp.initial_rto, tcp.min_rto);
        let times = initial.as_ps() / least.as_ps().max(1);
        cx.warn_at(
            &format!("{path}.min_rto"),
            format!(
                "min_rto of {least}, but a lost SYN or first segment costs the default initial_rto of {initial}, {times} times as much"
            ),
        )
        .help(format!("initial_rto = \"{least}\" as well, or initial_rto = \"{initial}\" where that is meant"));
    }
}

/// Checks what a switch shares, and where it marks.
pub(super) fn check_switch(path: &str, switch: &Switch, cx: &mut Context<'_>) {
    if let Buffer::Shared(Shared { alpha, .. }) = switch.buffer
        && alpha > MOST_ALPHA
    {
        let share = 100.0 * alpha / (1.0 + alpha);
        cx.warn_at(
            &format!("{path}.buffer.alpha"),
            format!("alpha = {alpha}: one port may take {share:.1} % of the shared memory"),
        )
        .help("at alpha = 1 it may take half (Dynamic Thresholds, Choudhury and Hahne 1998)");
    }
    if let Queue::Drr(Drr { quantum, .. }) = switch.queue
        && quantum < LEAST_MSS
    {
        cx.warn_at(
            &format!("{path}.queue.quantum"),
            format!("quantum of {quantum}: a packet waits for many rounds, and the simulation is slow"),
        )
        .help("a full packet, such as \"1500 B\", is sent in each round (Shreedhar and Varghese 1995)");
    }
}
