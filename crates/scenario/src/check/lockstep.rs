//! Warns of long flows that a deterministic network would keep in step.
//!
//! Two senders have links exactly as fast as the port that they share. Each packet of the one
//! arrives at the instant at which another leaves, and finds room. Those of the other find the buffer
//! full, every time. A little jitter ends that (Floyd and Jacobson, "On Traffic Phase Effects in
//! Packet-Switched Gateways", 1992). Leaves out: shared ports that are not a receiver's.

use std::collections::BTreeMap;

use incastle_units::Span;

use crate::language::flows::{Bulk, Group, Size, Workload};
use crate::language::limits::Capacity;
use crate::language::root::Root;
use crate::language::selection::{Name, Selection};
use crate::language::switch::{Buffer, Queue, Switch, SwitchGroup};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout};
use crate::topology::pairs::{GroupHosts, Pair};

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    if root.host.jitter > Span::ZERO {
        return;
    }
    // For each receiver, the first sender.
    let mut first = BTreeMap::new();
    for (name, group) in root.flows.iter().filter(|(_, group)| is_long(group)) {
        for Pair { from, to } in pairs(group, layout) {
            let other = *first.entry(to).or_insert(from);
            if other != from
                && [from, other]
                    .iter()
                    .all(|from| fits(root, layout, *from, to))
            {
                let receiver = quoted(&layout.hosts[to].to_string());
                cx.warn_at(
                    &format!("flows.{name}"),
                    format!(
                        "long flows to {receiver} share a drop-tail port exactly as fast as their \
                         senders' links, without any jitter: one may lock the others out"
                    ),
                )
                .help(
                    "an artefact of exact instants, which a little jitter ends: \
                         jitter = \"2 us\" in [host]",
                );
                return;
            }
        }
    }
}

fn is_long(group: &Group) -> bool {
    let unlimited = |bulk: &Bulk| bulk.size == Size::Unlimited;
    let long = matches!(&group.workload, Workload::Bulk(bulk) if unlimited(bulk));
    long && group.transport.tcp().is_some()
}

/// The hosts of each flow; none where they do not exist, which is reported elsewhere.
pub(super) fn pairs(group: &Group, layout: &Layout) -> Vec<Pair> {
    let hosts = GroupHosts::find(group, layout);
    hosts.map_or_else(Vec::new, |hosts| hosts.pairs(group))
}

/// Whether the sender's link is as fast as the receiver's, behind a drop-tail port.
fn fits(root: &Root, layout: &Layout, from: usize, to: usize) -> bool {
    let (Some(near), Some(far)) = (layout.access(from), layout.access(to)) else {
        return false;
    };
    let ((End::Switch(switch), _) | (_, End::Switch(switch))) = far.ends else {
        return false;
    };
    let switch = switch_at(root, layout, switch);
    near.rate == far.rate && drops_the_last(switch, &layout.hosts[to])
}

fn drops_the_last(switch: &Switch, receiver: &Name) -> bool {
    let endless = switch.buffer == Buffer::PerPort(Capacity::Unlimited);
    matches!(switch.queue_to(receiver), Queue::DropTail(_)) && !endless
}

/// The parameters of a switch.
pub(super) fn switch_at<'a>(root: &'a Root, layout: &Layout, switch: usize) -> &'a Switch {
    let group = group_of(root, layout, switch);
    group.map_or(&root.switch, |(_, group)| &group.switch)
}

/// The last group that names a switch, with its label; its keys are those of the switch.
pub(super) fn group_of<'a>(
    root: &'a Root,
    layout: &Layout,
    switch: usize,
) -> Option<&'a (String, SwitchGroup)> {
    let name = &layout.switches[switch];
    let mut groups = root.switches.iter();
    groups.rfind(|(label, group)| match &group.of {
        Some(of) => of.contains(name),
        None => Selection::named(label).contains(name),
    })
}
