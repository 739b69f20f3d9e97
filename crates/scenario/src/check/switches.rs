//! Checks of `[switch]` and `[switches.LABEL]`, with the groups of their ports.

use incastle_queueing::{DoubleThresholdError, LinearMarkerError, QueueError, RedError};
use incastle_units::{Amount, Bytes, Rate};

use crate::check::plausible;
use crate::language::grammar::value::Value;
use crate::language::limits::Capacity;
use crate::language::root::Root;
use crate::language::selection::{Name, Selection};
use crate::language::switch::{
    Buffer, DoubleThreshold, Queue, Shared, Switch, SwitchGroup, ThresholdReading,
};
use crate::packet_sizes::PacketSizes;
use crate::text::context::Context;
use crate::topology::layout::Layout;

/// The rate at which thresholds that grow with the rate are compared.
const REFERENCE_RATE: Rate = Rate::from_bits_per_second(25_000_000_000);

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let sizes = PacketSizes::of(root);
    check_switch("switch", &root.switch, sizes, cx);
    check_ports("switch", &root.switch, layout, sizes, cx);
    for (label, group) in &root.switches {
        let path = format!("switches.{label}");
        check_switch(&path, &group.switch, sizes, cx);
        check_ports(&path, &group.switch, layout, sizes, cx);
        switch_members(label, group, layout, cx);
    }
}

/// The groups of ports: their neighbors exist, and their disciplines fit the switch's buffer.
fn check_ports(
    path: &str,
    switch: &Switch,
    layout: &Layout,
    sizes: Option<PacketSizes>,
    cx: &mut Context<'_>,
) {
    let nodes: Vec<Name> = layout
        .hosts
        .iter()
        .chain(&layout.switches)
        .cloned()
        .collect();
    for (label, group) in &switch.ports {
        let path = format!("{path}.ports.{label}");
        let to = format!("{path}.to");
        let is_wrong = group.to.is_none() && cx.is_given(&to);
        if !is_wrong {
            let key = if group.to.is_some() { &to } else { &path };
            let destinations = group.destinations(label);
            destinations.resolve(&nodes, "hosts or switches", key, cx);
        }
        check_queue(&path, &group.queue, switch.buffer, sizes, cx);
    }
}

/// The switches of a group; errors in it are reported.
pub(crate) fn switch_members(
    label: &str,
    group: &SwitchGroup,
    layout: &Layout,
    cx: &mut Context<'_>,
) -> Option<Vec<usize>> {
    let path = format!("switches.{label}");
    match &group.of {
        Some(of) => of.resolve(&layout.switches, "switches", &format!("{path}.of"), cx),
        // It is wrong, and reported.
        None if cx.is_given(&format!("{path}.of")) => None,
        None => Selection::named(label).resolve(&layout.switches, "switches", &path, cx),
    }
}

/// Checks the discipline of `[path.queue]`, alone and with its buffer.
fn check_queue(
    path: &str,
    queue: &Queue,
    buffer: Buffer,
    sizes: Option<PacketSizes>,
    cx: &mut Context<'_>,
) {
    if let Err(error) = queue.to_config(REFERENCE_RATE).check() {
        let key = match error {
            QueueError::DoubleThreshold(DoubleThresholdError::MixedUnits) => "k2",
            QueueError::Linear(LinearMarkerError::MinAboveMax) => "k_min",
            QueueError::Linear(LinearMarkerError::PMax(_)) => "p_max",
            QueueError::Red(RedError::MixedUnits | RedError::MaxIsZero) => "max_th",
            QueueError::Red(RedError::MinAboveMax) => "min_th",
            QueueError::Red(RedError::MaxP(_)) => "max_p",
            QueueError::Red(RedError::Weight(_)) => "w_q",
            QueueError::Red(RedError::MeanPacketIsZero) => "mean_packet_size",
        };
        cx.error_at(&format!("{path}.queue.{key}"), error.to_string());
    }
    if let Queue::DoubleThreshold(double) = queue {
        check_thresholds(path, double, cx);
    }
    let lanes = match queue {
        Queue::Drr(_) => Some("fair queueing (drr)"),
        Queue::DualPi2(_) => Some("dualpi2"),
        _ => None,
    };
    if let (Some(lanes), Buffer::Shared(_)) = (lanes, buffer) {
        cx.error_at(
            &format!("{path}.queue.kind"),
            format!("{lanes} needs a buffer for each port, not a shared memory"),
        )
        .help("buffer = \"128 KiB\", for example");
    }
    if let Some(room) = Room::of(buffer) {
        warn_of_late_mark(path, queue, room, sizes, cx);
    }
    warn_of_early_mark(path, queue, sizes, cx);
}

fn check_switch(path: &str, switch: &Switch, sizes: Option<PacketSizes>, cx: &mut Context<'_>) {
    plausible::check_switch(path, switch, cx);
    check_queue(path, &switch.queue, switch.buffer, sizes, cx);
    if let Err(error) = switch.buffer.to_config().check() {
        cx.error_at(&format!("{path}.buffer"), error.to_string());
    }
    if let Buffer::PerPort(Capacity::Limited(amount)) = switch.buffer {
        if is_zero(amount) {
            cx.error_at(
                &format!("{path}.buffer"),
                "a buffer that stores nothing passes nothing on",
            )
            .help("the packet being sent is stored too: at least one packet");
        }
        if let (Amount::Bytes(bytes), Some(sizes)) = (amount, sizes)
            && (1..sizes.greatest.count()).contains(&bytes.count())
        {
            cx.warn_at(
                &format!("{path}.buffer"),
                format!(
                    "full packets of {} B do not fit the buffer of {bytes}: all are dropped",
                    sizes.greatest.count()
                ),
            )
            .help("the packet being sent is stored too: at least one packet");
        }
    }
}

/// Two thresholds are given by name, or both by number.
fn check_thresholds(path: &str, double: &DoubleThreshold, cx: &mut Context<'_>) {
    let key = |name: &str| format!("{path}.queue.{name}");
    let given = ["k1", "k2"].map(|name| cx.is_given(&key(name)));
    let Some(reading) = double.readings.thresholds else {
        if let [true, false] | [false, true] = given {
            let (known, missing) = if given[0] { ("k1", "k2") } else { ("k2", "k1") };
            cx.error_at(
                &key(known),
                format!("[{path}.queue] has {known} without {missing}"),
            )
            .help(format!(
                "give {missing} too, or readings = {{ thresholds = \"dt-dctcp\" }}"
            ));
        }
        return;
    };
    let numbers = ThresholdReading::numbers(Some(double.readings));
    if (double.k1, double.k2) == (numbers.k1, numbers.k2) {
        return;
    }
    let odd = if double.k1 == numbers.k1 { "k2" } else { "k1" };
    cx.error_at(
        &key(odd),
        format!(
            "thresholds = {} is from {} to {}, here it is from {} to {}",
            reading.write(),
            numbers.k1,
            numbers.k2,
            double.k1,
            double.k2
        ),
    )
    .help("give a reading, or k1 and k2");
}

fn is_zero(amount: Amount) -> bool {
    match amount {
        Amount::Packets(packets) => packets.count() == 0,
        Amount::Bytes(bytes) => bytes.count() == 0,
    }
}

/// The most that one port can store.
#[derive(Clone, Copy)]
struct Room {
    amount: Amount,
    shared: bool,
}

impl Room {
    fn of(buffer: Buffer) -> Option<Self> {
        match buffer {
            Buffer::PerPort(Capacity::Limited(amount)) => Some(Self {
                amount,
                shared: false,
            }),
            Buffer::PerPort(Capacity::Unlimited) => None,
            // A port alone stops at alpha times the free memory: alpha / (1 + alpha) of all.
            Buffer::Shared(Shared { shared, alpha }) => {
                let most = shared.count() as f64 * (alpha / (1.0 + alpha));
                Some(Self {
                    amount: Amount::Bytes(Bytes::new(most as u64)),
                    shared: true,
                })
            }
        }
    }

    /// Whether a queue in this room never exceeds a threshold.
    fn is_within(self, threshold: Amount, sizes: Option<PacketSizes>) -> bool {
        match (threshold, self.amount) {
            (Amount::Packets(mark), Amount::Packets(buffer)) => mark >= buffer,
            (Amount::Bytes(mark), Amount::Bytes(buffer)) => mark >= buffer,
            (Amount::Packets(mark), Amount::Bytes(buffer)) => sizes.is_some_and(|sizes| {
                mark.count().saturating_mul(sizes.least.count()) >= buffer.count()
            }),
            (Amount::Bytes(mark), Amount::Packets(buffer)) => sizes.is_some_and(|sizes| {
                mark.count() >= buffer.count().saturating_mul(sizes.greatest.count())
            }),
        }
    }
}

/// The key of the threshold above which a discipline begins to mark, and its value.
fn first_threshold(queue: &Queue) -> Option<(&'static str, Amount)> {
    match queue {
        Queue::Threshold(threshold) => Some(("marking_threshold", threshold.marking_threshold)),
        Queue::DoubleThreshold(double) => Some(("k1", double.k1)),
        Queue::Drr(drr) => Some(("marking_threshold", drr.marking_threshold?)),
        Queue::Red(red) => Some(("min_th", red.min_th)),
        Queue::DropTail(_) | Queue::DualPi2(_) | Queue::Priorities(_) => None,
        Queue::Linear(linear) => Some(("k_min", Amount::Bytes(linear.k_min.at(REFERENCE_RATE)))),
    }
}

/// Warns of a threshold that the queue never exceeds.
fn warn_of_late_mark(
    path: &str,
    queue: &Queue,
    room: Room,
    sizes: Option<PacketSizes>,
    cx: &mut Context<'_>,
) {
    let Some((key, threshold)) = first_threshold(queue) else {
        return;
    };
    if !room.is_within(threshold, sizes) {
        return;
    }
    let amount = room.amount;
    let full = if room.shared {
        format!("a port has at most {amount} of the shared memory")
    } else {
        format!("the buffer of {amount} is full")
    };
    let message = format!("{full} before the queue exceeds {threshold}: nothing is marked");
    cx.warn_at(&format!("{path}.queue.{key}"), message);
}

/// Warns of a threshold below one packet, which is probably one in the wrong unit.
fn warn_of_early_mark(path: &str, queue: &Queue, sizes: Option<PacketSizes>, cx: &mut Context<'_>) {
    let (Some((key, threshold)), Some(sizes)) = (first_threshold(queue), sizes) else {
        return;
    };
    let marks_all = !matches!(queue, Queue::Red(_)) && is_zero(threshold);
    if marks_all {
        let message =
            format!("{key} = {threshold}: every packet that finds another one waiting is marked");
        cx.warn_at(&format!("{path}.queue.{key}"), message)
            .help("DCTCP needs a K above C x RTT / 7 (Alizadeh et al. 2010, equation 13)");
        return;
    }
    let Amount::Bytes(threshold) = threshold else {
        return;
    };
    if threshold < sizes.least {
        let message = format!(
            "{key} = {threshold} is less than a full packet of {} B: every packet that waits is \
             above it",
            sizes.least.count()
        );
        cx.warn_at(&format!("{path}.queue.{key}"), message)
            .help("thresholds are packets or bytes, as \"20 packets\" or \"30 KB\"");
    }
}
