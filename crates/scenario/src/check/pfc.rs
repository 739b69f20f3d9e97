//! Checks of priorities, their memory, and `[switch.pfc]`.

use std::collections::{BTreeMap, BTreeSet};

use incastle_queueing::{PAUSE_FRAME_SIZE, Priority, PriorityMemoryError, pause_span};
use incastle_units::{Bytes, Rate};

use crate::check::lockstep::{group_of, switch_at};
use crate::check::pfc_effects;
use crate::check::pfc_memory::{self, Crowded};
use crate::language::pfc::{Headroom, Marking, Pfc, Priorities, Scheduler};
use crate::language::root::{Compat, Root};
use crate::language::switch::{Buffer, Queue, Switch};
use crate::lossless::{has_priorities, links_of, memory, needed_headroom};
use crate::packet_sizes::PacketSizes;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::layout::{End, Layout, Link};

/// The rate at which thresholds that grow with the rate are compared.
const REFERENCE_RATE: Rate = Rate::from_bits_per_second(25_000_000_000);

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let groups = root.switches.iter();
    let groups = groups.map(|(label, group)| (format!("switches.{label}"), &group.switch));
    let all = std::iter::once(("switch".to_owned(), &root.switch)).chain(groups);
    let mut is_wrong = false;
    for (path, switch) in all {
        let known = cx.count();
        check_keys(&path, switch, root, cx);
        is_wrong |= cx.count() > known;
        pfc_effects::warn(&path, switch, cx);
    }
    check_watchdogs(root, layout, cx);
    if is_wrong {
        // Sums over wrong keys would only repeat these errors.
        return;
    }
    let mut crowded = Vec::new();
    for number in 0..layout.switches.len() {
        let switch = switch_at(root, layout, number);
        if has_priorities(switch) {
            crowded.extend(check_memory(number, switch, root, layout, cx));
        }
    }
    if root.run.compat != Some(Compat::HpccNs3) {
        warn_of_headrooms(root, layout, cx);
    }
    pfc_memory::report(&crowded, cx);
}

/// One watchdog for all switches with PFC, or none.
fn check_watchdogs(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let switches = (0..layout.switches.len()).map(|number| switch_at(root, layout, number));
    let mut watchdogs = switches.filter_map(|switch| Some(&switch.pfc.as_ref()?.watchdog));
    let Some(first) = watchdogs.next() else {
        return;
    };
    if watchdogs.any(|other| other != first) {
        cx.error_at("switches", "watchdogs of PFC differ between switches")
            .help("set watchdog under [switch.pfc] alone");
    }
}

/// The keys of one switch, whatever its links.
fn check_keys(path: &str, switch: &Switch, root: &Root, cx: &mut Context<'_>) {
    let kind = format!("{path}.queue.kind");
    let is_all = |is: bool| {
        switch
            .ports
            .iter()
            .all(|(_, group)| is == is_of_priorities(&group.queue))
    };
    if !is_all(has_priorities(switch)) {
        cx.error_at(&kind, "priorities at some ports of a switch alone: they share one memory")
            .help("kind = \"priorities\" under [switch.queue]; the groups of ports may differ in scheduler and marks");
        return;
    }
    if let Some(pfc) = &switch.pfc {
        if !has_priorities(switch) {
            cx.error_at(
                &format!("{path}.pfc"),
                "PFC pauses priorities, and the queues of this switch have none",
            )
            .help("[switch.queue] kind = \"priorities\"");
            return;
        }
        check_pfc(&format!("{path}.pfc"), pfc, switch, root, cx);
    }
    let Queue::Priorities(priorities) = &switch.queue else {
        return;
    };
    if !matches!(switch.buffer, Buffer::Shared(_)) {
        cx.error_at(
            &format!("{path}.buffer"),
            "queues for priorities share one memory of the switch",
        )
        .help("buffer = { shared = \"16 MiB\", alpha = 1.0 }, for example");
    }
    if switch.qcn.is_some() {
        cx.error_at(&format!("{path}.qcn"), "QCN does not know priorities")
            .help("leave qcn out, or choose another kind of queue");
    }
    check_queue(&format!("{path}.queue"), priorities, root, cx);
    for (label, group) in &switch.ports {
        if let Queue::Priorities(priorities) = &group.queue {
            check_queue(&format!("{path}.ports.{label}.queue"), priorities, root, cx);
        }
    }
}

fn is_of_priorities(queue: &Queue) -> bool {
    matches!(queue, Queue::Priorities(_))
}

/// A list of priorities: each once, at least one.
pub(super) fn check_list(
    key: &str,
    priorities: &[Priority],
    seen: &mut BTreeSet<Priority>,
    cx: &mut Context<'_>,
) {
    if priorities.is_empty() {
        cx.error_at(key, "no priority is named")
            .help("priorities = [3], for example");
    }
    for &priority in priorities {
        if !seen.insert(priority) {
            cx.error_at(key, format!("priority {priority} twice"))
                .help("name each priority once");
        }
    }
}

fn check_pfc(path: &str, pfc: &Pfc, switch: &Switch, root: &Root, cx: &mut Context<'_>) {
    check_list(
        &format!("{path}.priorities"),
        &pfc.priorities,
        &mut BTreeSet::new(),
        cx,
    );
    let compat = root.run.compat == Some(Compat::HpccNs3);
    match (pfc.xoff, pfc.xon) {
        (None, None) => {}
        (Some(_), None) | (None, Some(_)) => {
            let (known, missing) = if pfc.xoff.is_some() {
                ("xoff", "xon")
            } else {
                ("xon", "xoff")
            };
            cx.error_at(
                &format!("{path}.{known}"),
                format!("{known} without {missing}"),
            )
            .help(format!(
                "give {missing} too, or a dynamic threshold by alpha alone"
            ));
        }
        (Some(xoff), Some(xon)) => {
            if xon > xoff {
                cx.error_at(
                    &format!("{path}.xon"),
                    format!("xon of {xon} is above xoff of {xoff}"),
                )
                .help("a port resumes at or below the threshold at which it paused");
            }
            if xoff < pfc.reserve {
                let message = format!("xoff of {xoff} is below the reserve of {}", pfc.reserve);
                cx.error_at(&format!("{path}.xoff"), message)
                    .help("lower reserve, or raise xoff");
            }
            if let Buffer::Shared(shared) = switch.buffer
                && xoff >= shared.shared
            {
                let message = format!(
                    "xoff of {xoff} is not below the buffer of {}: nothing is paused before it is full",
                    shared.shared
                );
                let key = format!("{path}.xoff");
                if compat {
                    cx.warn_at(&key, message);
                } else {
                    cx.error_at(&key, message)
                        .help("raise buffer, or lower xoff");
                }
            }
        }
    }
    if pfc.headroom == Headroom::Bytes(Bytes::ZERO) && pfc.pause_frames {
        let key = format!("{path}.headroom");
        let message =
            "PFC without headroom: what arrives after a pause is dropped in a lossless class";
        if compat {
            cx.warn_at(&key, message);
        } else {
            cx.error_at(&key, message)
                .help("headroom = \"auto\" is the need of each link");
        }
    }
}

fn check_queue(path: &str, priorities: &Priorities, root: &Root, cx: &mut Context<'_>) {
    let mut seen = BTreeSet::new();
    for (label, marks) in &priorities.marks {
        let path = format!("{path}.marks.{label}");
        check_list(
            &format!("{path}.priorities"),
            &marks.priorities,
            &mut seen,
            cx,
        );
        if let Marking::Linear(linear) = &marks.marking
            && let Err(error) = linear.to_config(REFERENCE_RATE).check()
        {
            cx.error_at(&format!("{path}.k_min"), error.to_string());
        }
    }
    let shares = match &priorities.scheduler {
        Scheduler::Strict(_) | Scheduler::RoundRobin(_) => return,
        Scheduler::Dwrr(shares) => shares,
        Scheduler::Mixed(mixed) => {
            check_list(
                &format!("{path}.strict"),
                &mixed.strict,
                &mut BTreeSet::new(),
                cx,
            );
            &mixed.shares
        }
    };
    let weights = &shares.weights;
    if weights.len() != Priority::COUNT || weights.contains(&0) {
        cx.error_at(
            &format!("{path}.weights"),
            "weights are eight numbers above 0, for the priorities 0 to 7",
        )
        .help("weights = [1, 1, 1, 8, 1, 1, 1, 1], for example");
    }
    let largest = PacketSizes::greatest_of(root);
    if shares.quantum < largest {
        let quantum = shares.quantum;
        cx.warn_at(
            &format!("{path}.quantum"),
            format!("a quantum of {quantum} is less than a full packet of {largest}: some rounds send nothing"),
        )
        .help("shares stay right, but are reached over several rounds");
    }
}

/// Warns of marks and quanta that do not fit the links. Returns the switch if its headrooms and reserves
/// leave nothing to share.
fn check_memory(
    number: usize,
    switch: &Switch,
    root: &Root,
    layout: &Layout,
    cx: &mut Context<'_>,
) -> Option<Crowded> {
    let config = memory(number, switch, root, layout)?;
    let mut crowded = None;
    let compat = root.run.compat == Some(Compat::HpccNs3);
    let name = quoted(&layout.switches[number].to_string());
    let path = path_of(number, root, layout);
    let taken = config.memory.set_apart();
    let capacity = config.memory.capacity;
    if taken >= capacity && compat {
        cx.warn_at(
            &format!("{path}.buffer"),
            format!("headrooms and reserves of {name} take {taken} of {capacity}: under compat = \"hpcc-ns3\" its threshold is above a billion bytes, and nothing is paused"),
        );
    } else if let Err(error) = config.memory.check() {
        let key = match error {
            PriorityMemoryError::NoShared { .. } => {
                crowded = Some(Crowded::of(number, &config.memory, root, layout, cx));
                None
            }
            PriorityMemoryError::Alpha(_) => Some("pfc.alpha"),
            PriorityMemoryError::Thresholds => Some("pfc.xoff"),
            PriorityMemoryError::UncountedLossless(_) => Some("pfc.priorities"),
        };
        if let Some(key) = key {
            cx.error_at(&format!("{path}.{key}"), format!("at {name} {error}"));
        }
    }
    warn_of_marks(&path, switch, links_of(number, layout), capacity, cx);
    let pauses = |pfc: &&Pfc| pfc.pause_frames && !compat;
    let Some(pfc) = switch.pfc.as_ref().filter(pauses) else {
        return crowded;
    };
    warn_of_quanta(&path, pfc, root, links_of(number, layout), cx);
    crowded
}

/// Thresholds of marks that no queue of the switch can reach.
fn warn_of_marks<'a>(
    path: &str,
    switch: &Switch,
    links: impl Iterator<Item = &'a Link>,
    capacity: Bytes,
    cx: &mut Context<'_>,
) {
    let (Queue::Priorities(priorities), Some(least)) =
        (&switch.queue, links.map(|link| link.rate).min())
    else {
        return;
    };
    for (label, marks) in &priorities.marks {
        let (key, threshold) = match &marks.marking {
            Marking::Linear(linear) => ("k_min", linear.k_min.at(least)),
            Marking::Step(step) => ("marking_threshold", step.marking_threshold.at(least)),
        };
        if threshold >= capacity {
            cx.warn_at(
                &format!("{path}.queue.marks.{label}.{key}"),
                format!("{key} of {threshold} is not below the memory of {capacity}: no queue reaches it, and nothing is marked"),
            )
            .help("a threshold below the bytes at which the switch pauses or drops");
        }
    }
}

/// A refresh leaves at half of a pause, and may wait behind a full packet.
fn warn_of_quanta<'a>(
    path: &str,
    pfc: &Pfc,
    root: &Root,
    mut links: impl Iterator<Item = &'a Link>,
    cx: &mut Context<'_>,
) {
    let Ok(quanta) = u16::try_from(pfc.quanta) else {
        return;
    };
    let late = PacketSizes::greatest_of(root) + PAUSE_FRAME_SIZE;
    let expires = |link: &&Link| pause_span(quanta, link.rate) / 2 < link.rate.span_of(late);
    let Some(link) = links.find(expires) else {
        return;
    };
    cx.warn_at(
        &format!("{path}.pfc.quanta"),
        format!(
            "{quanta} quanta are {} at {}: a refresh leaves at half of that, and may wait behind a packet of {}. Pauses expire before it, and a lossless class may drop",
            pause_span(quanta, link.rate).rounded(),
            link.rate,
            PacketSizes::greatest_of(root),
        ),
    )
    .help("quanta = 65535, the greatest time; a frame ends a pause that is no longer needed");
}

/// The headroom that a link needs.
type Need<'a> = (Bytes, &'a Link);

/// Warns of headrooms that are less than links need: once for each table that gives one, of the link that needs most.
fn warn_of_headrooms(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let mut lacking: BTreeMap<String, (Bytes, Vec<Need<'_>>)> = BTreeMap::new();
    for link in &layout.links {
        let (a, b) = link.ends;
        // Both switches of a link may have the same table.
        let tables: BTreeMap<_, _> = [a, b]
            .into_iter()
            .filter_map(|end| headroom_of(end, root, layout))
            .collect();
        for (path, (bytes, pfc)) in tables {
            let need = needed_headroom(link, pfc, root);
            if need > bytes {
                let (_, needs) = lacking.entry(path).or_insert((bytes, Vec::new()));
                needs.push((need, link));
            }
        }
    }
    for (path, (bytes, needs)) in lacking {
        warn_of_headroom(&path, bytes, needs, layout, cx);
    }
}

/// The table of a switch that sends pause frames, and the bytes of headroom that it gives.
fn headroom_of<'a>(
    end: End,
    root: &'a Root,
    layout: &Layout,
) -> Option<(String, (Bytes, &'a Pfc))> {
    let End::Switch(number) = end else {
        return None;
    };
    let pfc = switch_at(root, layout, number).pfc.as_ref()?;
    let Headroom::Bytes(bytes) = pfc.headroom else {
        return None;
    };
    let path = path_of(number, root, layout);
    pfc.pause_frames.then_some((path, (bytes, pfc)))
}

fn warn_of_headroom(
    path: &str,
    bytes: Bytes,
    mut needs: Vec<Need<'_>>,
    layout: &Layout,
    cx: &mut Context<'_>,
) {
    needs.sort_by_key(|(need, _)| *need);
    let Some((need, link)) = needs.pop() else {
        return;
    };
    let others = match needs.len() {
        0 => String::new(),
        1 => "; so it is for another link".to_owned(),
        others => format!("; so it is for {others} other links"),
    };
    let (a, b) = link.ends;
    cx.warn_at(
        &format!("{path}.pfc.headroom"),
        format!(
            "headroom of {bytes} is too small for the link between {} and {} at {} with a delay of {}: it needs {need}, and a lossless class may drop{others}",
            quoted(&layout.name(a).to_string()),
            quoted(&layout.name(b).to_string()),
            link.rate,
            link.delay
        ),
    )
    .help("headroom = \"auto\" is the need of each link");
}

/// The table whose keys a switch has.
pub(super) fn path_of(number: usize, root: &Root, layout: &Layout) -> String {
    group_of(root, layout, number).map_or_else(
        || "switch".to_owned(),
        |(label, _)| format!("switches.{label}"),
    )
}
