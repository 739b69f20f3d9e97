//! Checks of a group's transport where that is RDMA, and of `run.compat`.

use incastle_queueing::Priority;
use incastle_units::Span;

use crate::check::group_transport::{GroupTransport, SilentPorts, port_name, unmarked, written};
use crate::check::links::has_one_path;
use crate::check::lockstep::switch_at;
use crate::language::flows::Workload;
use crate::language::limits::Capacity;
use crate::language::network::Ecmp;
use crate::language::pfc::priority_set;
use crate::language::rdma::{AckTimeout, Control, Rdma, Window};
use crate::language::root::{Compat, Root};
use crate::language::switch::{Buffer, Queue};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout};

/// The path MTUs of InfiniBand (9.4.1).
pub(super) const MTUS: [u64; 5] = [256, 512, 1_024, 2_048, 4_096];

pub(super) fn check(transport: GroupTransport<'_>, silent: &SilentPorts, cx: &mut Context<'_>) {
    let Some(rdma) = transport.group.transport.rdma() else {
        return;
    };
    check_mtu(transport, rdma, cx);
    check_nic(transport, cx);
    check_telemetry(transport, rdma, cx);
    check_thresholds(transport.path, rdma, cx);
    warn_of_no_marks(transport.path, rdma, silent, cx);
    warn_of_reads(transport.path, rdma, cx);
    warn_of_lossy_class(transport, rdma, cx);
    warn_of_spraying(transport, cx);
}

fn check_mtu(transport: GroupTransport<'_>, rdma: &Rdma, cx: &mut Context<'_>) {
    let mtu = rdma.mtu.count();
    if transport.root.run.compat.is_some() || MTUS.contains(&mtu) {
        return;
    }
    cx.error_at(
        &written(transport.path, &["mtu", "kind"], cx),
        format!("mtu of {mtu} B: queue pairs have 256, 512, 1024, 2048 or 4096"),
    )
    .help("mtu = \"4096 B\"; run.compat = \"hpcc-ns3\" takes any");
}

/// A NIC pulls packets from its queue pairs when its line is free: it has no queue that could be full.
fn check_nic(transport: GroupTransport<'_>, cx: &mut Context<'_>) {
    if transport.root.host.queue == Capacity::Unlimited {
        return;
    }
    cx.error_at(
        "host.queue",
        "the NIC of queue pairs has no queue with a limit",
    )
    .help("queue = \"unlimited\": packets wait in the memory of their queue pair");
}

fn check_thresholds(path: &str, rdma: &Rdma, cx: &mut Context<'_>) {
    let Control::Timely(timely) = &rdma.congestion else {
        return;
    };
    let (low, high) = (timely.t_low, timely.t_high);
    if low > high {
        cx.error_at(
            &written(path, &["t_low", "t_high"], cx),
            format!("t_low of {low} is above t_high of {high}"),
        )
        .help("the gradient decides between the two thresholds: t_low must not be above t_high");
    }
}

/// Telemetry that the control needs and the packets do not gather, or over switches that add none.
fn check_telemetry(transport: GroupTransport<'_>, rdma: &Rdma, cx: &mut Context<'_>) {
    let GroupTransport {
        path, root, layout, ..
    } = transport;
    let word = rdma.congestion.word();
    if rdma.congestion.reads_telemetry() && !rdma.telemetry {
        cx.error_at(
            &written(path, &["telemetry", "congestion"], cx),
            format!("{word} needs telemetry (INT), and telemetry = false gathers none"),
        )
        .help("leave telemetry out: it is true under hpcc");
        return;
    }
    let lacks = |&(switch, to): &(usize, End)| {
        let keys = switch_at(root, layout, switch);
        !keys.telemetry || !keys.queue_to(layout.name(to)).gathers_telemetry()
    };
    let Some(port) = transport
        .passed
        .ports(layout)
        .find(lacks)
        .filter(|_| rdma.telemetry)
    else {
        return;
    };
    let reader = if rdma.congestion.reads_telemetry() {
        format!("{word} needs telemetry (INT) of every switch")
    } else {
        "telemetry = true".to_owned()
    };
    let name = quoted(&port_name(port, layout));
    let (because, help) = if switch_at(root, layout, port.0).telemetry {
        (
            "its kind of queue gathers none",
            "[switch.queue] with kind = \"priorities\" or \"linear\"",
        )
    } else {
        (
            "its switch has telemetry = false",
            "telemetry = true in [switch], and in the [switches.NAME] of that switch, or congestion = \"dcqcn\"",
        )
    };
    cx.error_at(
        &written(path, &["congestion", "telemetry", "kind"], cx),
        format!("{reader}, and the port {name} adds none: {because}"),
    )
    .help(help);
}

fn warn_of_no_marks(path: &str, rdma: &Rdma, silent: &SilentPorts, cx: &mut Context<'_>) {
    if !(rdma.congestion.needs_marks() && silent.all()) {
        return;
    }
    let word = rdma.congestion.word();
    cx.warn_at(
        &written(path, &["congestion", "kind"], cx),
        format!("{}: each queue pair stays at its greatest rate", unmarked(word)),
    )
    .help("let the switch mark: [switch.queue.marks.NAME] with kind = \"priorities\", or kind = \"linear\"");
}

/// READs under what needs the ACKs of data: their responses have none.
fn warn_of_reads(path: &str, rdma: &Rdma, cx: &mut Context<'_>) {
    if !rdma.is_read() {
        return;
    }
    let (what, key) = if rdma.congestion.needs_acks() {
        let word = rdma.congestion.word();
        (
            format!("{word} sees no queue, and all are sent at the greatest rate"),
            "congestion",
        )
    } else if matches!(rdma.window, Window::Limited(_)) {
        ("the window does not limit them".to_owned(), "window")
    } else {
        return;
    };
    cx.warn_at(
        &written(path, &[key, "verb", "kind"], cx),
        format!("the responses of READs have no ACKs: {what}"),
    )
    .help("congestion = \"dcqcn\" and window = \"unlimited\": CNPs reach it; or verb = \"write\"");
}

/// Packets that overtake each other, at a receiver that takes them in order alone.
fn warn_of_spraying(transport: GroupTransport<'_>, cx: &mut Context<'_>) {
    let network = &transport.root.network;
    if has_one_path(network) || !matches!(network.ecmp, Ecmp::Packet(_)) {
        return;
    }
    cx.warn_at(
        "network.ecmp",
        "packets of a queue pair overtake each other on their paths: it takes them in order alone, and \
         asks for all from a missing one on again, although nothing was lost",
    )
    .help("ecmp = \"flow\", or \"flowlet\" with a flowlet_gap above the difference of the paths' delays");
}

/// Queue pairs whose data a switch may drop, and the consequence.
fn warn_of_lossy_class(transport: GroupTransport<'_>, rdma: &Rdma, cx: &mut Context<'_>) {
    let GroupTransport {
        path,
        group,
        root,
        layout,
        ..
    } = transport;
    let class = group.transport.traffic_class;
    let is_listed = |switch: usize| {
        let of_class = u8::try_from(class).ok().and_then(Priority::new);
        let pfc = switch_at(root, layout, switch).pfc.as_ref();
        pfc.zip(of_class)
            .is_some_and(|(pfc, class)| priority_set(&pfc.priorities).contains(class))
    };
    let drops = |&(switch, _): &(usize, End)| {
        let keys = switch_at(root, layout, switch);
        let pauses = keys.pfc.as_ref().is_some_and(|pfc| pfc.pause_frames);
        !(pauses && is_listed(switch)) && keys.buffer != Buffer::PerPort(Capacity::Unlimited)
    };
    let Some(port) = transport.passed.ports(layout).find(drops) else {
        return;
    };
    let after = match rdma.ack_timeout {
        AckTimeout::After(span) => {
            let span = span.rounded();
            format!("a loss at the end of a message waits for ack_timeout, {span}")
        }
        AckTimeout::Off => {
            "without ack_timeout a loss at the end of a message ends the flow".to_owned()
        }
    };
    let name = quoted(&port_name(port, layout));
    cx.warn_at(
        &written(path, &["traffic_class", "kind"], cx),
        format!(
            "RDMA in a lossy class: a full buffer at {name} drops packets of traffic class {class}; \
             all from the lost one on are sent again, and {after}"
        ),
    )
    .help(if is_listed(port.0) {
        "PFC sends no pauses: [switch.pfc] pause_frames = true".to_owned()
    } else {
        format!(
            "protect the class: [switch.pfc] priorities = [{class}], with [switch.queue] kind = \"priorities\""
        )
    });
}

/// What the compatibility with HPCC's simulator needs.
pub(crate) fn check_compat(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    if root.run.compat != Some(Compat::HpccNs3) {
        return;
    }
    for (name, group) in &root.flows {
        let key = format!("flows.{name}");
        if group.transport.rdma().is_none() && !cx.is_removed("transport") {
            cx.error_at(&key, "compat = \"hpcc-ns3\" simulates queue pairs alone")
                .help("transport = { kind = \"rdma\" }, or leave run.compat out");
        }
        if !matches!(group.workload, Workload::Bulk(_) | Workload::FlowList(_)) {
            cx.error_at(
                &format!("{key}.workload"),
                "compat = \"hpcc-ns3\" needs flows that start at whole nanoseconds",
            )
            .help("workload = \"flow-list\" or \"bulk\"");
        }
    }
    if root.host.jitter > Span::ZERO {
        cx.error_at("host.jitter", "compat = \"hpcc-ns3\" has no jitter")
            .help("leave host.jitter out");
    }
    let odd = layout
        .links
        .iter()
        .find(|link| link.delay.as_ps() % 1_000 != 0);
    if let Some(link) = odd {
        cx.error_at(
            "network.delay",
            format!(
                "compat = \"hpcc-ns3\" counts whole nanoseconds, and a link has a delay of {}",
                link.delay
            ),
        )
        .help("delays of whole nanoseconds");
    }
    for switch in 0..layout.switches.len() {
        let keys = switch_at(root, layout, switch);
        if !matches!(keys.queue, Queue::Priorities(_)) {
            cx.error_at(
                "run.compat",
                format!(
                    "compat = \"hpcc-ns3\" needs a queue for each priority at {}",
                    quoted(&layout.switches[switch].to_string())
                ),
            )
            .help("[switch.queue] kind = \"priorities\", scheduler = \"round-robin\"");
            return;
        }
    }
}
