//! Checks of a group's transport where that is UDT or DCUDP.

use incastle_congestion::LossInUdpMode;
use incastle_units::{Amount, Bytes, Ecn};

use crate::check::group_transport::{GroupTransport, SilentPorts, unmarked, written};
use crate::check::lockstep::switch_at;
use crate::check::transport::warn_of_no_marks as warn_of_unmarked;
use crate::language::flows::Group;
use crate::language::limits::Capacity as Room;
use crate::language::switch::Buffer;
use crate::language::tcp::Congestion;
use crate::language::transport::Kind;
use crate::language::udt::Capacity;
use crate::language::window_control::{UdtControl, WindowControl};
use crate::language::wire::WireFormat;
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout};

pub(super) fn check(transport: GroupTransport<'_>, silent: &SilentPorts, cx: &mut Context<'_>) {
    let GroupTransport {
        path,
        group,
        layout,
        ..
    } = transport;
    warn_of_no_marks(path, group, silent, cx);
    check_window(path, group, silent, cx);
    check_capacity(path, group, layout, cx);
    check_packet(transport, cx);
}

/// A window control of UDT: marks that no port sets, and a window that holds no packet.
fn check_window(path: &str, group: &Group, silent: &SilentPorts, cx: &mut Context<'_>) {
    let Kind::Udt(udt) = &group.transport.kind else {
        return;
    };
    if let UdtControl::Revised(_) = udt.control
        && silent.all()
    {
        cx.warn_at(&written(path, &["congestion"], cx), unmarked("dcudp-r"))
            .help("let the switch mark: [switch.queue] with kind = \"threshold\" or \"red\"");
    }
    let Some(window) = udt.control.window() else {
        return;
    };
    if window.ecn() != Ecn::NotEct && silent.all() {
        warn_of_unmarked(path, &window.congestion, cx);
    }
    if matches!(window.congestion, Congestion::D2tcp(_)) && group.workload.deadline().is_some() {
        cx.warn_at(
            &written(path, &["congestion"], cx),
            "d2tcp sees no deadlines over UDT: it reacts as dctcp",
        )
        .help("kind = \"tcp\": TCP gives them to it");
    }
    let (payload, first) = (udt.stream.payload(), window.keys.initial_window);
    if WindowControl::bytes(first, payload) < payload {
        cx.error_at(
            &format!("{path}.initial_window"),
            format!("initial_window must be at least one packet of {payload}, found {first}"),
        );
    }
}

/// DCUDP where no port ever marks: on its whole path, or on a part of it.
fn warn_of_no_marks(path: &str, group: &Group, silent: &SilentPorts, cx: &mut Context<'_>) {
    let (Some(dcudp), Some(first)) = (group.transport.dcudp(), &silent.first) else {
        return;
    };
    let (place, there) = if silent.all() {
        (unmarked("dcudp"), "")
    } else {
        let (count, all) = silent.count;
        let place = format!(
            "dcudp through {}, which never marks ({count} of {all} switch ports on its path)",
            quoted(first)
        );
        (place, " there")
    };
    let (reaction, otherwise) = match dcudp.loss_in_udp_mode {
        LossInUdpMode::Ignore => (
            format!("it cannot react to congestion{there}"),
            ", or let losses count: loss_in_udp_mode = \"congestion-mode\"",
        ),
        LossInUdpMode::CongestionMode => (format!("it reacts to losses alone{there}"), ""),
    };
    cx.warn_at(&own_kind(path, cx), format!("{place}: {reaction}"))
        .help(format!(
            "let the switch mark: [switch.queue] with kind = \"threshold\" or \"red\"{otherwise}"
        ));
}

/// The group's `kind`; the group where that is inherited, so that it is clear which group is meant.
fn own_kind(path: &str, cx: &Context<'_>) -> String {
    let kind = format!("{path}.kind");
    let inherited = "transport.kind";
    let own = cx.is_given(&kind)
        && !(cx.is_given(inherited) && cx.place_of(inherited) == cx.place_of(&kind));
    let group = path.strip_suffix(".transport").unwrap_or(path);
    if own { kind } else { group.to_owned() }
}

/// A C that the host's own link does not have.
fn check_capacity(path: &str, group: &Group, layout: &Layout, cx: &mut Context<'_>) {
    let Some(Capacity::Rate(capacity)) = group.transport.dcudp().map(|dcudp| dcudp.capacity) else {
        return;
    };
    let mut quiet = Context::new(&NoFiles);
    let senders = group.from.resolve(&layout.hosts, "hosts", "", &mut quiet);
    // Missing hosts are reported elsewhere.
    let slower = senders.unwrap_or_default().into_iter().find_map(|host| {
        let rate = layout.access(host)?.rate;
        (rate < capacity).then_some((host, rate))
    });
    if let Some((host, rate)) = slower {
        let host = quoted(&layout.hosts[host].to_string());
        cx.warn_at(
            &format!("{path}.capacity"),
            format!("capacity of {capacity} is above the rate of the link of {host}, {rate}"),
        )
        .help("\"interface\" is the rate of each host's own link");
    }
}

/// Packets that exceed the last buffer of their path. TCP and datagrams get the switch's warning; a
/// connection whose data never arrive would only retransmit them.
fn check_packet(transport: GroupTransport<'_>, cx: &mut Context<'_>) {
    let GroupTransport {
        path,
        group,
        root,
        layout,
        ..
    } = transport;
    if group.transport.stream().is_none() {
        return;
    }
    let format = WireFormat::of(&group.transport);
    let size = Bytes::new(format.wire_size(format.payload));
    let mut quiet = Context::new(&NoFiles);
    let receivers = group.to.resolve(&layout.hosts, "hosts", "", &mut quiet);
    let small = receivers.unwrap_or_default().into_iter().find_map(|host| {
        let ((End::Switch(last), _) | (_, End::Switch(last))) = layout.access(host)?.ends else {
            return None;
        };
        match switch_at(root, layout, last).buffer {
            Buffer::PerPort(Room::Limited(Amount::Bytes(room))) if room < size => Some(room),
            _ => None,
        }
    });
    if let Some(room) = small {
        cx.error_at(
            &written(path, &["packet_size", "kind"], cx),
            format!("a packet of {size} does not fit the buffer of {room}: none would ever arrive"),
        )
        .help("a smaller packet_size, or a larger buffer under [switch]");
    }
}
