//! `[switch.qcn]` and `[host.qcn]`: Quantized Congestion Notification below the transport.
//!
//! Congestion points at switch ports sample arriving frames and notify their sources; reaction points
//! in the sources' NICs limit the rate of each flow (IEEE 802.1Qau). The variants I to VI and the
//! modifications II, III and IV are those that were proposed for incast. Leaves out: the algorithms of both
//! points (queueing, congestion), and the limits of a switch's memory (`check`).

use incastle_congestion::{AdaptiveIncrease, ReactionPointConfig};
use incastle_queueing::{CongestionMemory, CongestionPointConfig, Detail, QcnSampling};
use incastle_units::{Bytes, Packets, Rate, Span};
use serde_json::json;

use crate::grammar::declare::{key, table, words};
use crate::grammar::describe::{Description, Presence, Shape};
use crate::grammar::range::{above, at_least, below_one, between, fraction, within_a_day};
use crate::grammar::reader::Reader;
use crate::grammar::reader::Table;
use crate::grammar::value::{Value, wrong};
use crate::grammar::writer::Writer;
use crate::network::rates;
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};

/// The defaults of a congestion point.
const fn point() -> CongestionPointConfig {
    CongestionPointConfig::new(Bytes::new(128 << 10))
}

/// The defaults of a reaction point.
const fn limiter() -> ReactionPointConfig {
    ReactionPointConfig::new(Rate::from_bits_per_second(1_000_000_000))
}

table! {
    /// `[switch.qcn]`: the congestion points.
    pub struct CongestionPoints {
        /// The variant, or the modifications one by one.
        flat modifications: Modifications;
        /// The instants at which feedback is computed.
        value sampling: QcnSampling = QcnSampling::V22;
        /// Q_eq, the length at which the queue is to stay: a share of the buffer per port, or a
        /// size.
        value cp_q_eq: SetPoint = SetPoint::Percent(20.0);
        /// w: the weight of the queue's growth relative to its length, in the feedback.
        value cp_w: f64 = point().w, in at_least(0.0);
        /// Bytes that arrive from one sample to the next as long as there is no congestion.
        value cp_sample_base: Bytes = point().base, in above(Bytes::ZERO);
        /// Each sampling interval is multiplied by a random number from 1 - this to 1 + this.
        value jitter: f64 = point().jitter, in below_one();
        /// The sampling intervals of the heaviest congestion under modification III.
        value detail: Detail = Detail::Harmonic;
        /// The share of the buffer whose upward crossing is a congestion event of modification II.
        value crossing: f64 = CongestionMemory::default().crossing, in fraction();
        /// The maximum number of congestion events in the memory of modification II: each halves the sampling
        /// interval.
        value memory_cap: u32 = CongestionMemory::default().cap, in between(1, 20);
        /// Whether each sampling without congestion removes one event from the memory of modification II.
        value memory_decays: bool = CongestionMemory::default().decays;
        /// The ports with a congestion point, such as `"switch->receiver"`; `"all"` are those of all
        /// switches meant.
        value ports: Vec<String> = vec!["all".to_owned()];
    }
}

table! {
    /// `[host.qcn]`: the reaction points. Without effect unless a switch has `[switch.qcn]`.
    pub struct ReactionPoints {
        /// Whether notifications limit the flows; otherwise they are received and counted only.
        value obey: bool = true;
        /// The least rate of a limited flow.
        value rpg_min_rate: Rate = limiter().rpg_min_rate, in rates();
        /// R_AI: the growth of the target rate in each step of active increase.
        value rpg_ai_rate: Rate = limiter().increase, in rates();
        /// R_HAI: the same in hyper-active increase, times the steps in it.
        value rpg_hai_rate: Rate = limiter().rpg_hai_rate, in rates();
        /// Bytes sent in one stage of the byte counter.
        value rpg_byte_reset: Bytes = limiter().rpg_byte_reset, in above(Bytes::ZERO);
        /// The length of one stage of the timer.
        value rpg_time_reset: Span = limiter().timer, in within_a_day();
        /// Each stage is multiplied by a random number from 1 - this to 1 + this.
        value jitter: f64 = limiter().jitter, in below_one();
        /// Stages of fast recovery, before the rate is increased beyond the target.
        value rpg_threshold: u32 = limiter().rpg_threshold, in between(1, 1_000);
        /// The least factor by which one notification multiplies the rate.
        value rpg_min_dec_fac: f64 = limiter().rpg_min_dec_fac, in fraction();
        /// G_d: the share of the rate that one unit of feedback takes.
        value rpg_gd: f64 = limiter().gain, in fraction();
        /// The feedback that a notification adds to the memory of modification IV: scaled to at most 1, or
        /// raw.
        value adaptive: Adaptive = Adaptive::Scaled;
        /// The capacity of a flow's rate limiter. When it is full, the flow waits; nothing is lost.
        value queue: Packets = Packets::new(2), in at_least(Packets::new(1));
    }
}

/// Which of the modifications II, III and IV are in force; II and IV act at switches, IV in hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Modifications {
    /// II: remembered congestion shortens the sampling interval.
    pub memory: bool,
    /// III: the heaviest level of feedback has eight sampling intervals instead of one.
    pub detail: bool,
    /// IV: the memory of feedback slows the increase of the rate.
    pub adaptive: bool,
}

words! {
    /// A variant of QCN.
    pub enum Variant {
        /// QCN as the standard has it
        "I" => I,
        /// QCN with congestion-memory sampling: each time the queue fills up, sampling becomes denser
        "II" => II,
        /// QCN with detailed sampling: eight sampling intervals instead of one for heavy congestion
        "III" => III,
        /// QCN with adaptive increase: the more feedback, the slower a limited flow speeds up again
        "IV" => IV,
        /// QCN with congestion-memory sampling and adaptive increase, II and IV together
        "V" => V,
        /// QCN with detailed sampling and adaptive increase, III and IV together
        "VI" => VI,
    }
}

words! {
    /// A modification of QCN.
    pub enum Modification {
        /// Congestion-memory sampling.
        "II" => Memory,
        /// Detailed sampling.
        "III" => Detail,
        /// Adaptive increase.
        "IV" => Adaptive,
    }
}

words! {
    for QcnSampling {
        /// once per sampling interval, as in version 2.2 of QCN's pseudocode
        "v2.2" => V22,
        /// at every frame, and heavier feedback shortens the current interval (the pseudocode of November 2007)
        "2007-11" => Older,
        /// every frame is a sample
        "every-packet" => EveryPacket,
    }
}

words! {
    for Detail {
        /// 150 KB / k, k from 8 to 15.
        "harmonic" => Harmonic,
        /// From 18.5 KB to 1.5 KB in equal ratios.
        "geometric" => Geometric,
    }
}

words! {
    /// The feedback that a notification adds to the memory of modification IV.
    pub enum Adaptive {
        /// psi / 64 of each notification.
        "scaled" => Scaled,
        /// psi of each notification, the memory divided by 64 where it is used.
        "raw" => Raw,
    }
}

/// Q_eq as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetPoint {
    /// A percentage of the buffer per port.
    Percent(f64),
    /// This much.
    Of(Bytes),
}

impl Variant {
    fn modifications(self) -> Modifications {
        let (memory, detail, adaptive) = match self {
            Self::I => (false, false, false),
            Self::II => (true, false, false),
            Self::III => (false, true, false),
            Self::IV => (false, false, true),
            Self::V => (true, false, true),
            Self::VI => (false, true, true),
        };
        Modifications {
            memory,
            detail,
            adaptive,
        }
    }

    const ALL: [Self; 6] = [Self::I, Self::II, Self::III, Self::IV, Self::V, Self::VI];
}

impl Modifications {
    /// The variant that has these modifications, if there is one.
    fn variant(self) -> Option<Variant> {
        let same = |variant: &Variant| variant.modifications() == self;
        Variant::ALL.into_iter().find(same)
    }

    fn list(self) -> Vec<Modification> {
        [
            (self.memory, Modification::Memory),
            (self.detail, Modification::Detail),
            (self.adaptive, Modification::Adaptive),
        ]
        .into_iter()
        .filter_map(|(in_force, modification)| in_force.then_some(modification))
        .collect()
    }
}

/// A list of modifications, each at most once.
struct ModificationList(Modifications);

impl Value for ModificationList {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let single = std::slice::from_ref(node);
        let items = match &node.content {
            Content::List(items) => items.as_slice(),
            _ => single,
        };
        let mut all = Some(Modifications::default());
        for item in items {
            let read = Modification::read(item, key, cx);
            let (Some(modifications), Some(modification)) = (&mut all, read) else {
                all = None;
                continue;
            };
            let in_force = match modification {
                Modification::Memory => &mut modifications.memory,
                Modification::Detail => &mut modifications.detail,
                Modification::Adaptive => &mut modifications.adaptive,
            };
            if std::mem::replace(in_force, true) {
                cx.error(
                    item.place,
                    key,
                    format!("modification {} is named twice", modification.write()),
                )
                .help("each of \"II\", \"III\" and \"IV\" at most once");
                all = None;
            }
        }
        all.map(Self)
    }

    fn write(&self) -> String {
        let words: Vec<String> = self.0.list().iter().map(Value::write).collect();
        format!("[{}]", words.join(", "))
    }

    fn shape() -> Shape {
        let word = Modification::shape();
        Shape {
            words: format!("{}, one or a list", word.words),
            json: json!({
                "anyOf": [word.json, { "type": "array", "items": word.json, "uniqueItems": true }]
            }),
        }
    }
}

/// Two alternative keys: `variant`, and `modifications` where no variant has that combination.
impl Table for Modifications {
    fn describe(description: &mut Description) {
        description.value(key::<Variant>(
            "variant",
            &["None of the modifications (I), one (II, III, IV), II and IV (V), or III and IV (VI)."],
            Presence::Default(Variant::I.write()),
            None,
            None,
        ));
        description.value(key::<ModificationList>(
            "modifications",
            &["The modifications one by one, for any combination. Instead of `variant`."],
            Presence::Optional,
            None,
            None,
        ));
    }

    fn read(reader: &mut Reader<'_>, cx: &mut Context<'_>) -> Option<Self> {
        let variant = reader.value::<Variant>(cx, "variant");
        let listed = reader.value::<ModificationList>(cx, "modifications");
        let [short, long] = ["variant", "modifications"].map(|name| reader.key(name));
        if cx.is_given(&short) && cx.is_given(&long) {
            cx.error_at(&long, "variant and modifications are both given")
                .help("give one of the two; variant \"V\" is [\"II\", \"IV\"]");
        }
        let chosen = variant.unwrap_or(Variant::I).modifications();
        Some(listed.map_or(chosen, |list| list.0))
    }

    fn write(&self, writer: &mut Writer) {
        match self.variant() {
            Some(variant) => writer.value("variant", &variant.write()),
            None => writer.value("modifications", &ModificationList(*self).write()),
        }
    }
}

impl Value for SetPoint {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let percent = match &node.content {
            Content::Text(text) => text.trim().strip_suffix('%'),
            _ => None,
        };
        let Some(percent) = percent else {
            if matches!(node.content, Content::Text(_)) {
                return Bytes::read(node, key, cx).map(Self::Of);
            }
            wrong(node, key, &Self::shape().words, cx);
            return None;
        };
        let value = percent.trim().parse().ok();
        let value = value.filter(|value: &f64| *value > 0.0 && *value <= 100.0);
        if value.is_none() {
            wrong(node, key, "above 0 % and at most 100 %", cx);
        }
        value.map(Self::Percent)
    }

    fn write(&self) -> String {
        match self {
            Self::Percent(percent) => quoted(&format!("{percent} %")),
            Self::Of(bytes) => bytes.write(),
        }
    }

    fn shape() -> Shape {
        Shape {
            words: "a share of the buffer such as \"20 %\", or a size such as \"26 KB\"".to_owned(),
            json: json!({ "type": "string", "pattern": "^\\s*[0-9]" }),
        }
    }
}

impl SetPoint {
    /// The size in bytes, if the buffer is in bytes or the set point does not depend on it.
    pub fn bytes(self, buffer: Option<Bytes>) -> Option<Bytes> {
        match self {
            Self::Of(bytes) => Some(bytes),
            Self::Percent(percent) => {
                buffer.map(|buffer| Bytes::new((buffer.count() as f64 * percent / 100.0) as u64))
            }
        }
    }
}

impl CongestionPoints {
    /// The configuration of the queueing crate, at a port that may store `buffer` bytes.
    pub fn to_config(&self, buffer: Option<Bytes>) -> CongestionPointConfig {
        let set_point = self.cp_q_eq.bytes(buffer);
        CongestionPointConfig {
            buffer: buffer.unwrap_or(Bytes::MAX),
            set_point: set_point.expect("a checked set point is a size"),
            w: self.cp_w,
            base: self.cp_sample_base,
            jitter: self.jitter,
            sampling: self.sampling,
            memory: self.modifications.memory.then_some(CongestionMemory {
                crossing: self.crossing,
                cap: self.memory_cap,
                decays: self.memory_decays,
            }),
            detail: self.modifications.detail.then_some(self.detail),
        }
    }
}

impl ReactionPoints {
    /// The configuration of the congestion crate, with the modifications of the congestion points. The line
    /// rate is a placeholder: it is the NIC's.
    pub fn to_config(&self, modifications: &Modifications) -> ReactionPointConfig {
        ReactionPointConfig {
            line_rate: self.rpg_min_rate,
            rpg_min_rate: self.rpg_min_rate,
            increase: self.rpg_ai_rate,
            rpg_hai_rate: self.rpg_hai_rate,
            rpg_byte_reset: self.rpg_byte_reset,
            timer: self.rpg_time_reset,
            jitter: self.jitter,
            rpg_threshold: self.rpg_threshold,
            rpg_min_dec_fac: self.rpg_min_dec_fac,
            gain: self.rpg_gd,
            adaptive: match (modifications.adaptive, self.adaptive) {
                (false, _) => AdaptiveIncrease::Off,
                (true, Adaptive::Scaled) => AdaptiveIncrease::Scaled,
                (true, Adaptive::Raw) => AdaptiveIncrease::Raw,
            },
        }
    }
}
