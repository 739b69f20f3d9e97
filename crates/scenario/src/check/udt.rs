//! Checks of a group's transport where that is UDT or DCUDP.

use incastle_units::{Amount, Bytes};

use crate::check::lockstep::switch_at;
use crate::check::transport::written;
use crate::language::flows::Group;
use crate::language::switch::Buffer;
use crate::language::udt::{Capacity, Loss};
use crate::language::{Capacity as Room, Root};
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout};
use crate::workload::Stack;

pub(super) fn check(
    (name, group): (&str, &Group),
    marks: bool,
    (root, layout): (&Root, Option<&Layout>),
    cx: &mut Context<'_>,
) {
    let path = format!("flows.{name}.transport");
    if group.transport.dcudp().is_some() && !marks {
        warn_of_no_marks(&path, group, cx);
    }
    if let Some(layout) = layout {
        check_capacity(&path, group, layout, cx);
        check_packet(&path, group, (root, layout), cx);
    }
}

/// DCUDP where nothing ever asks it to slow down.
fn warn_of_no_marks(path: &str, group: &Group, cx: &mut Context<'_>) {
    let ignores = |loss| loss == Loss::Ignore;
    let deaf = group
        .transport
        .dcudp()
        .is_some_and(|dcudp| ignores(dcudp.loss_in_udp_mode));
    let message = if deaf {
        "dcudp over queues that never mark: it cannot react to congestion"
    } else {
        "dcudp over queues that never mark: it reacts to losses alone"
    };
    let otherwise = if deaf {
        ", or let losses count: loss_in_udp_mode = \"congestion-mode\""
    } else {
        ""
    };
    cx.warn_at(
        &written(path, &["kind"], cx),
        message.to_owned(),
        Some(format!(
            "let the switch mark: [switch.queue] with kind = \"threshold\" or \"red\"{otherwise}"
        )),
    );
}

/// A C that the host's own link does not have.
fn check_capacity(path: &str, group: &Group, layout: &Layout, cx: &mut Context<'_>) {
    let Some(Capacity::Rate(capacity)) = group.transport.dcudp().map(|dcudp| dcudp.capacity) else {
        return;
    };
    let mut quiet = Context::new(&NoFiles);
    let senders = group.from.resolve(&layout.hosts, "hosts", "", &mut quiet);
    // Hosts that do not exist are told of elsewhere.
    let slower = senders.unwrap_or_default().into_iter().find_map(|host| {
        let rate = layout.access(host)?.rate;
        (rate < capacity).then_some((host, rate))
    });
    if let Some((host, rate)) = slower {
        let host = quoted(&layout.hosts[host].to_string());
        cx.warn_at(
            &format!("{path}.capacity"),
            format!("capacity of {capacity} is above the rate of the link of {host}, {rate}"),
            Some("\"interface\" is the rate of each host's own link".to_owned()),
        );
    }
}

/// Packets that the last buffer of their path never takes. TCP and datagrams get the switch's warning; a
/// connection whose data never arrive would do nothing but repeat them.
fn check_packet(path: &str, group: &Group, (root, layout): (&Root, &Layout), cx: &mut Context<'_>) {
    if group.transport.stream().is_none() {
        return;
    }
    let stack = Stack::new(&group.transport, root.host.burst);
    let size = Bytes::new(stack.wire_size(stack.payload()));
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
            Some("a smaller packet_size, or a larger buffer under [switch]".to_owned()),
        );
    }
}
