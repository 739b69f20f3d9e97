//! `[switch]`: buffers, queue disciplines, congestion points.

use incastle_queueing::{
    BufferConfig, DoubleThresholdConfig, DualPi2Config, PortBuffer, QueueConfig, RedAction,
    RedConfig, SharedBufferConfig, ThresholdConfig,
};
use incastle_units::{Amount, Bytes, Packets, Rate, Span};

use crate::grammar::declare::{NoKeys, choice, table, words};
use crate::grammar::describe::Shape;
use crate::grammar::range::{above, at_least, between, fraction, proper_fraction};
use crate::grammar::reader::Table;
use crate::grammar::reader::read_table;
use crate::grammar::value::{Value, wrong};
use crate::limits::Capacity;
use crate::network::MAX_MTU;
use crate::pfc::{LinearMarks, Pfc, Priorities};
use crate::qcn::CongestionPoints;
use crate::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};

table! {
    /// `[switch]`
    pub struct Switch {
        /// The memory: an amount per port, or `{ shared = "4 MB", alpha = 0.21 }` for one memory
        /// of all ports with Dynamic Thresholds.
        value buffer: Buffer = Buffer::PerPort(Capacity::Limited(Amount::Bytes(Bytes::new(128 << 10))));
        /// The queue discipline of every port.
        section queue: Queue;
        /// Ports whose discipline differs, under labels of your own.
        each ports: PortGroup;
        /// Priority-based flow control, with `kind = "priorities"` of the queue.
        maybe pfc: Pfc;
        /// Whether packets gather telemetry (INT) at its ports where their transport asks for it.
        value telemetry: bool = true;
        /// Congestion notification (QCN), in addition to the discipline.
        maybe qcn: CongestionPoints;
    }
}

table! {
    /// `[switches.LABEL]`: keys that are not given are those of `[switch]`.
    pub struct SwitchGroup {
        /// The switches meant. Without it the label itself is meant.
        option of: Selection;
        /// Their parameters.
        flat switch: Switch;
    }
}

table! {
    /// `[switch.ports.LABEL]`
    pub struct PortGroup {
        /// The neighbors of these ports: hosts or switches. Without it the label itself is
        /// meant.
        option to: Selection;
        /// Their queue discipline: keys that are not given are those of the switch's `queue`.
        section queue: Queue;
    }
}

/// The memory of a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Buffer {
    /// This much for each port.
    PerPort(Capacity),
    /// One memory for all.
    Shared(Shared),
}

table! {
    /// A shared memory.
    pub struct Shared {
        /// The memory of the whole switch.
        value shared: Bytes, in above(Bytes::ZERO);
        /// The limit of one port, as a multiple of the free memory.
        value alpha: f64 = SharedBufferConfig::DEFAULT_ALPHA, in above(0.0);
    }
}

impl Copy for Shared {}

impl Value for Buffer {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        match &node.content {
            Content::Table(entries) => {
                read_table(key.to_owned(), node.place, entries, cx).map(Self::Shared)
            }
            Content::Text(text) => {
                let Some(memory) = shared_memory(text) else {
                    return Capacity::read(node, key, cx).map(Self::PerPort);
                };
                let message = format!("{} is written as a table", quoted(text));
                let help = format!("buffer = {{ shared = {} }}", quoted(&memory.to_string()));
                cx.error(node.place, key, message).help(help);
                None
            }
            _ => {
                wrong(node, key, &Self::shape().words, cx);
                None
            }
        }
    }

    fn write(&self) -> String {
        match self {
            Self::PerPort(capacity) => capacity.write(),
            Self::Shared(shared) => crate::grammar::declare::inline(shared),
        }
    }

    fn shape() -> Shape {
        let capacity = Capacity::shape();
        Shape {
            words: format!(
                "{}, or {{ shared = \"4 MB\", alpha = 0.21 }}",
                capacity.words
            ),
            json: serde_json::json!({
                "anyOf": [capacity.json, crate::grammar::json::object(&Shared::description())]
            }),
        }
    }
}

/// The memory in a text such as "16 MB shared".
fn shared_memory(text: &str) -> Option<Bytes> {
    let text = text.trim();
    let memory = text
        .strip_suffix("shared")
        .or_else(|| text.strip_prefix("shared"))?;
    memory.trim().parse().ok()
}

choice! {
    /// The queue discipline.
    pub enum Queue by kind = "drop-tail" {
        /// no marking; the buffer alone drops
        "drop-tail" => DropTail(NoKeys),
        /// random early detection by the average queue (Floyd and Jacobson 1993)
        "red" => Red(Red),
        /// marks when the instantaneous queue is above K (DCTCP)
        "threshold" => Threshold(Threshold),
        /// marks from one crossing to another: K1 begins, K2 ends (DT-DCTCP, DT-CWA)
        "double-threshold" => DoubleThreshold(DoubleThreshold),
        /// fair queueing: round robin over the flows or traffic classes of a port, quantum by quantum (deficit round robin, Shreedhar and Varghese 1995)
        "drr" => Drr(Drr),
        /// marks with a probability that grows with the instantaneous queue (DCQCN)
        "linear" => Linear(LinearMarks),
        /// a queue for each priority, in one memory of the switch; with or without PFC
        "priorities" => Priorities(Priorities),
        /// two coupled queues, for L4S (ECT(1), see prague) and for all other traffic: DualPI2 (RFC 9332)
        "dualpi2" => DualPi2(DualPi2),
    }
}

table! {
    /// RED. Thresholds in bytes measure queue and packets in bytes.
    pub struct Red {
        /// Below this average nothing is marked.
        value min_th: Amount = RedConfig::default().min_th;
        /// From this average on everything is marked. In the unit of `min_th`.
        value max_th: Amount = RedConfig::default().max_th;
        /// The probability of a mark just below `max_th`.
        value max_p: f64 = RedConfig::default().max_p, in fraction();
        /// The weight of the newest sample in the average.
        value w_q: f64 = RedConfig::default().w_q, in fraction();
        /// Between `max_th` and twice `max_th` the probability rises to 1 instead of jumping.
        value gentle: bool = RedConfig::default().gentle;
        /// The treatment of the packets that RED chooses. ECN-capable ones are marked, or marked while
        /// the average is below `max_th` and dropped from there on, or all are dropped.
        value action: RedAction = RedAction::Mark;
        /// The packet size whose transmission time is the unit of idle time, and the unit of size in byte mode.
        value mean_packet_size: Bytes = RedConfig::default().mean_packet_size, in between(Bytes::new(1), MAX_MTU);
    }
}

words! {
    for RedAction {
        /// Marks those that are ECN-capable, drops the others.
        "mark" => Mark,
        /// The same while the average is below `max_th`; drops all from there on.
        "mark-below-max" => MarkBelowMax,
        /// Drops them all.
        "drop" => Drop,
    }
}

table! {
    /// The threshold marker.
    pub struct Threshold {
        /// K: an arriving packet is marked when more than this waits.
        value marking_threshold: Amount;
        /// The treatment above K of packets that are not ECN-capable.
        value not_ect: NotEct = NotEct::Admit;
    }
}

table! {
    /// The relay of two thresholds. Without any key as printed in 2018.
    pub struct DoubleThreshold {
        /// The readings of the literature.
        section readings: ThresholdReadings;
        /// Marking begins when the queue rises above this.
        value k1: Amount = ThresholdReading::numbers(readings).k1, shown "of `readings.thresholds`, else 35 packets";
        /// Marking ends when the queue falls to this or below; where it is above `k1`, also when
        /// the queue falls to `k1`. In the unit of `k1`.
        value k2: Amount = ThresholdReading::numbers(readings).k2, shown "of `readings.thresholds`, else 30 packets";
        /// The treatment of packets that would be marked and are not ECN-capable.
        value not_ect: NotEct = NotEct::Admit;
    }
}

table! {
    /// Readings of the double threshold.
    pub struct ThresholdReadings {
        /// A pair of thresholds from the literature, instead of `k1` and `k2`.
        option thresholds: ThresholdReading;
    }
}

impl Copy for ThresholdReadings {}

words! {
    /// A pair of thresholds from the literature.
    pub enum ThresholdReading {
        /// From 35 to 30 packets, as Sreekumari 2018 prints it: hysteresis.
        "as-printed" => AsPrinted,
        /// From 30 to 35 packets, the order of Chen et al. 2013: marking begins early while the queue grows, and ends early while it shrinks.
        "dt-dctcp" => DtDctcp,
        /// From 15 to 25 packets, around DCTCP's K = 20.
        "around-k" => AroundK,
    }
}

table! {
    /// Deficit round robin: a queue for each flow or traffic class, within the port's one buffer.
    pub struct Drr {
        /// Bytes that a flow or traffic class may send per round, in addition to its deficit from the previous one.
        value quantum: Bytes = Bytes::new(1_500), in between(Bytes::new(1), Bytes::new(1 << 30));
        /// The packet that is dropped when the buffer is full.
        value drop: FairDrop = FairDrop::Longest;
        /// The unit that has a separate queue in the round robin.
        value classify_by: ClassifyBy = ClassifyBy::Flow;
        /// K: an arriving ECN-capable packet is marked when more than this waits in its own queue. Without it nothing is marked.
        option marking_threshold: Amount;
    }
}

table! {
    /// DualPI2. The buffer holds both queues.
    pub struct DualPi2 {
        /// The target delay of the queue of classic traffic.
        value target: Span = DualPi2Config::default().target, in at_least(Span::from_us(1));
        /// The longest round-trip time of the traffic: longer ones make the controller more careful.
        value rtt_max: Span = DualPi2Config::default().rtt_max, in at_least(Span::from_us(3));
        /// k: the probability of a mark in the L4S queue is this multiple of the base probability, whose square is that of a mark or drop in the classic queue.
        value coupling: f64 = DualPi2Config::default().coupling, in between(1.0, 100.0);
        /// An L4S packet that has waited longer than this may be marked for its own delay.
        value l4s_min_th: Span = DualPi2Config::default().min_th;
        /// The probability of such a mark rises to 1 over this delay above `l4s_min_th`; at 0 it is 1 from there on.
        value l4s_range: Span = DualPi2Config::default().range;
        /// There is no such mark while no more packets than this wait in the L4S queue.
        value l4s_th_len: Packets = DualPi2Config::default().th_len;
        /// The share of the line that the classic queue gets while packets wait in both.
        value classic_share: f64 = DualPi2Config::default().classic_share, in proper_fraction();
    }
}

words! {
    /// The unit with a separate queue.
    pub enum ClassifyBy {
        /// Each flow.
        "flow" => Flow,
        /// Each traffic class, the `class` of a transport.
        "traffic-class" => TrafficClass,
    }
}

words! {
    /// The packet that a full fair queue drops.
    pub enum FairDrop {
        /// The last one of the flow or class with the most bytes.
        "longest" => Longest,
        /// The arriving one.
        "arriving" => Arriving,
    }
}

words! {
    /// The treatment of packets that would be marked and are not ECN-capable.
    pub enum NotEct {
        /// They are stored, as long as there is memory.
        "admit" => Admit,
        /// They are dropped, as some real switches do.
        "drop" => Drop,
    }
}

impl Capacity {
    /// As the queueing crate has it.
    pub fn to_port_buffer(self) -> PortBuffer {
        match self {
            Self::Unlimited => PortBuffer::Unlimited,
            Self::Limited(amount) => PortBuffer::Limited(amount),
        }
    }
}

impl Buffer {
    /// The bytes of each port, where there is such a number.
    pub fn bytes_per_port(self) -> Option<Bytes> {
        match self {
            Self::PerPort(Capacity::Limited(Amount::Bytes(bytes))) => Some(bytes),
            _ => None,
        }
    }

    /// As the queueing crate has it.
    pub fn to_config(self) -> BufferConfig {
        match self {
            Self::PerPort(capacity) => BufferConfig::PerPort(capacity.to_port_buffer()),
            Self::Shared(shared) => BufferConfig::Shared(SharedBufferConfig {
                capacity: shared.shared,
                alpha: shared.alpha,
            }),
        }
    }
}

impl PortGroup {
    /// The neighbors of the ports.
    pub fn destinations(&self, label: &str) -> Selection {
        self.to.clone().unwrap_or_else(|| Selection::named(label))
    }
}

impl Switch {
    /// Which group the port to this host or switch belongs to: the last that names it, if any does.
    pub fn port_group(&self, destination: &Name) -> Option<usize> {
        let leads_there =
            |(label, group): &(String, PortGroup)| group.destinations(label).contains(destination);
        self.ports.iter().rposition(leads_there)
    }

    /// The discipline of the port to this host or switch.
    pub fn queue_to(&self, destination: &Name) -> &Queue {
        let group = self.port_group(destination);
        group.map_or(&self.queue, |group| &self.ports[group].1.queue)
    }
}

impl ThresholdReading {
    /// The thresholds of a reading; without one those of 2018.
    pub fn numbers(readings: Option<ThresholdReadings>) -> DoubleThresholdConfig {
        match readings.and_then(|readings| readings.thresholds) {
            None | Some(Self::AsPrinted) => DoubleThresholdConfig::AS_PRINTED,
            Some(Self::DtDctcp) => DoubleThresholdConfig::DT_DCTCP,
            Some(Self::AroundK) => DoubleThresholdConfig::AROUND_K,
        }
    }
}

impl DualPi2 {
    /// As the queueing crate has it.
    pub fn to_config(&self) -> DualPi2Config {
        DualPi2Config {
            target: self.target,
            rtt_max: self.rtt_max,
            coupling: self.coupling,
            min_th: self.l4s_min_th,
            range: self.l4s_range,
            th_len: self.l4s_th_len,
            classic_share: self.classic_share,
        }
    }
}

impl Queue {
    /// As the queueing crate has it, at a port of this rate.
    pub fn to_config(&self, rate: Rate) -> QueueConfig {
        match self {
            // DualPI2 judges packets that leave, not those that come; each priority has its own markers.
            Self::DropTail(_) | Self::DualPi2(_) | Self::Priorities(_) => QueueConfig::DropTail,
            Self::Linear(linear) => QueueConfig::Linear(linear.to_config(rate)),
            // Fair queueing is the port's order; its marks are those of a threshold in each queue.
            Self::Drr(drr) => drr
                .marking_threshold
                .map_or(QueueConfig::DropTail, |marking_threshold| {
                    QueueConfig::Threshold(ThresholdConfig::new(marking_threshold))
                }),
            Self::Threshold(threshold) => QueueConfig::Threshold(ThresholdConfig {
                marking_threshold: threshold.marking_threshold,
                drop_not_ect: threshold.not_ect == NotEct::Drop,
            }),
            Self::DoubleThreshold(double) => QueueConfig::DoubleThreshold(DoubleThresholdConfig {
                k1: double.k1,
                k2: double.k2,
                drop_not_ect: double.not_ect == NotEct::Drop,
            }),
            Self::Red(red) => QueueConfig::Red(RedConfig {
                min_th: red.min_th,
                max_th: red.max_th,
                max_p: red.max_p,
                w_q: red.w_q,
                gentle: red.gentle,
                action: red.action,
                mean_packet_size: red.mean_packet_size,
            }),
        }
    }

    /// Whether packets gather telemetry at its port: not where flows or kinds of traffic have queues of their own.
    pub fn gathers_telemetry(&self) -> bool {
        !matches!(self, Self::Drr(_) | Self::DualPi2(_))
    }

    /// Whether the discipline ever marks a packet of this priority.
    pub fn marks(&self, priority: u32) -> bool {
        match self {
            Self::DropTail(_) => false,
            Self::Drr(drr) => drr.marking_threshold.is_some(),
            Self::Threshold(_) | Self::DoubleThreshold(_) | Self::DualPi2(_) | Self::Linear(_) => {
                true
            }
            Self::Red(red) => red.action != RedAction::Drop,
            Self::Priorities(priorities) => priorities.marks_priority(priority),
        }
    }
}
