//! Checks of `[switch.qcn]`, `[switches.LABEL.qcn]` and `[host.qcn]`.
//!
//! There is no check that notifications reach their source. They always do: every link has both directions,
//! and a network is only built where each switch has a route to each host.

use incastle_queueing::{CongestionMemory, Detail};
use incastle_units::Bytes;

use crate::check::measure::check_ports;
use crate::language::grammar::reader::read_table;
use crate::language::limits::Capacity;
use crate::language::qcn::{Adaptive, CongestionPoints, ReactionPoints, SetPoint};
use crate::language::root::Root;
use crate::language::switch::{Buffer, Switch};
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout, Link};

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let groups = root.switches.iter();
    let groups = groups.map(|(label, group)| (format!("switches.{label}"), &group.switch));
    let switches: Vec<(String, &Switch)> = std::iter::once(("switch".to_owned(), &root.switch))
        .chain(groups)
        .collect();
    for (path, switch) in &switches {
        if let Some(points) = &switch.qcn {
            check_points(path, switch, points, cx);
            check_ports(&points.ports, &format!("{path}.qcn.ports"), layout, cx);
        }
    }
    check_agreement(&switches, cx);
    if let Some(points) = switches.iter().find_map(|(_, switch)| switch.qcn.as_ref()) {
        check_rates(root, layout, cx);
        let is_scaled = root.host.qcn.adaptive == Adaptive::Scaled;
        let key = KeyOf {
            name: "adaptive",
            modification: "IV",
            is_idle: !is_scaled && !points.modifications.adaptive,
        };
        warn_idle("host.qcn", &[key], cx);
    } else if sets_reaction_points(root, cx)
        && !cx.is_removed("switch")
        && !cx.is_removed("switches")
    {
        cx.warn_at(
            "host.qcn",
            "[host.qcn] without any [switch.qcn]: no notification is sent, and it has no effect",
        )
        .help("add [switch.qcn], or leave [host.qcn] out");
    }
}

/// Whether `[host.qcn]` has a value other than its default.
fn sets_reaction_points(root: &Root, cx: &Context<'_>) -> bool {
    let place = cx.place_of("host.qcn");
    let mut quiet = Context::new(&NoFiles);
    let default = read_table("host.qcn".to_owned(), place, &[], &mut quiet);
    default.is_none_or(|default: ReactionPoints| default != root.host.qcn)
}

/// A key of a modification.
struct KeyOf {
    name: &'static str,
    modification: &'static str,
    /// Whether it differs from its default although the modification is not in force.
    is_idle: bool,
}

/// Warns of keys of a modification that is not in force: they have no effect.
fn warn_idle(table: &str, keys: &[KeyOf], cx: &mut Context<'_>) {
    for KeyOf {
        name, modification, ..
    } in keys.iter().filter(|key| key.is_idle)
    {
        cx.warn_at(
            &format!("{table}.{name}"),
            format!("{name} belongs to modification {modification}, which is not in force"),
        )
        .help("see variant and modifications in [switch.qcn]");
    }
}

fn warn_idle_points(path: &str, points: &CongestionPoints, cx: &mut Context<'_>) {
    let default = CongestionMemory::default();
    let in_force = points.modifications;
    let of_memory = |name, is_idle| KeyOf {
        name,
        modification: "II",
        is_idle: is_idle && !in_force.memory,
    };
    let keys = [
        of_memory(
            "crossing",
            points.crossing.to_bits() != default.crossing.to_bits(),
        ),
        of_memory("memory_cap", points.memory_cap != default.cap),
        of_memory("memory_decays", points.memory_decays != default.decays),
        KeyOf {
            name: "detail",
            modification: "III",
            is_idle: points.detail != Detail::Harmonic && !in_force.detail,
        },
    ];
    warn_idle(&format!("{path}.qcn"), &keys, cx);
}

fn check_points(path: &str, switch: &Switch, points: &CongestionPoints, cx: &mut Context<'_>) {
    warn_idle_points(path, points, cx);
    let key = format!("{path}.qcn.cp_q_eq");
    let known = switch.buffer.bytes_per_port();
    let why_not = why_no_bytes(switch.buffer);
    if points.modifications.memory && known.is_none() {
        cx.error_at(
            &modifications_key(path, cx),
            format!("modification II counts how often a port's buffer fills up, but {why_not}"),
        )
        .help("give the switch a buffer per port in bytes, such as \"128 KiB\"");
    }
    if cx.error_keys().contains(&key) {
        // A placeholder for the wrong value would only give errors that follow from it.
        return;
    }
    let Some(cp_q_eq) = points.cp_q_eq.bytes(known) else {
        if let SetPoint::Percent(percent) = points.cp_q_eq {
            cx.error_at(
                &key,
                format!("cp_q_eq is {percent} % of the port's buffer, but {why_not}"),
            )
            .help("give cp_q_eq as a size, such as cp_q_eq = \"26 KB\"");
        }
        return;
    };
    let most = match switch.buffer {
        Buffer::Shared(shared) => Some(shared.shared),
        Buffer::PerPort(_) => known,
    };
    if cp_q_eq == Bytes::ZERO {
        cx.error_at(
            &key,
            "cp_q_eq must be above 0 B: feedback is measured in parts of it",
        )
        .help("20 % of the buffer is usual");
    }
    if let Some(most) = most.filter(|most| cp_q_eq > *most) {
        cx.error_at(
            &key,
            format!(
                "cp_q_eq of {cp_q_eq} is above the buffer of {most}: the queue never gets there"
            ),
        )
        .help("20 % of the buffer is usual");
    }
}

/// The reason why a port's buffer has no number of bytes, if it has none.
fn why_no_bytes(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::PerPort(Capacity::Limited(_)) => "the buffer is counted in packets",
        Buffer::PerPort(Capacity::Unlimited) => "the buffer is unlimited",
        Buffer::Shared(_) => "the buffer is shared by all ports",
    }
}

fn modifications_key(path: &str, cx: &Context<'_>) -> String {
    let listed = format!("{path}.qcn.modifications");
    if cx.is_given(&listed) {
        listed
    } else {
        format!("{path}.qcn.variant")
    }
}

/// Modification IV acts in the hosts, which are the same for all switches.
fn check_agreement(switches: &[(String, &Switch)], cx: &mut Context<'_>) {
    let with_points: Vec<(&str, bool)> = switches
        .iter()
        .filter_map(|(path, switch)| {
            let points = switch.qcn.as_ref()?;
            Some((path.as_str(), points.modifications.adaptive))
        })
        .collect();
    let Some(((first, adaptive), others)) = with_points.split_first() else {
        return;
    };
    if let Some((path, _)) = others.iter().find(|(_, other)| other != adaptive) {
        cx.error_at(
            &modifications_key(path, cx),
            format!("[{first}.qcn] and [{path}.qcn] do not agree on modification IV"),
        )
        .help("IV acts in the hosts: all switches have it, or none");
    }
}

/// A limiter that may never be slower than its NIC limits nothing.
fn check_rates(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let least = root.host.qcn.rpg_min_rate;
    let slowest = |link: &Link| {
        let later = link.schedule.iter().map(|(_, rate)| *rate);
        later.chain([link.rate]).min().unwrap_or(link.rate)
    };
    let slower = layout.links.iter().find_map(|link| match link.ends {
        (End::Host(host), _) | (_, End::Host(host)) if slowest(link) < least => {
            Some((host, slowest(link)))
        }
        _ => None,
    });
    if let Some((host, rate)) = slower {
        cx.warn_at("host.qcn.rpg_min_rate", format!(
                "rpg_min_rate of {least} is above the rate of {}, {rate}: its flows are never limited",
                quoted(&layout.hosts[host].to_string())
            ));
    }
}
