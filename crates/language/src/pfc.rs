//! `[switch.pfc]`: priority-based flow control (IEEE 802.1Qbb), and `kind = "priorities"` of a queue.
//!
//! Both describe one memory: admission by ingress port and priority, and a queue for each priority at the egress
//! ports. Leaves out: the accounting and the scheduling (incastle-queueing).

use incastle_queueing::{
    LinearMarkerConfig, Priority, PriorityEcnConfig, PrioritySet, Quanta, SchedulerConfig,
    WatchdogAction, WatchdogConfig,
};
use incastle_units::{Bytes, Rate, Span};
use serde_json::json;

use crate::grammar::declare::{NoKeys, choice, table, word_or, words};
use crate::grammar::describe::Shape;
use crate::grammar::range::{above, above_to, between, fraction, within_a_day};
use crate::grammar::value::{Value, name_of, wrong};
use crate::proportional::Proportional;
use crate::selection::Selection;
use crate::text::context::Context;
use crate::text::node::{Content, Node};
use crate::text::overrides::ONE_LIST;

/// The priority of RDMA by convention, of PFC and of storms where no other is given.
const DEFAULT_LOSSLESS: Priority = Priority::ALL[3];
/// The priority that is served before all others where no other is given.
const HIGHEST: Priority = Priority::ALL[Priority::COUNT - 1];

/// The greatest alpha.
const MAX_ALPHA: f64 = 1e6;

/// The defaults of keys that other keys replace.
pub const ALPHA: f64 = 0.125;
/// Of `resume_offset`.
pub const RESUME_OFFSET: Bytes = Bytes::new(3 << 10);
/// Of `quanta`, the greatest value.
pub const QUANTA: u32 = 65_535;

table! {
    /// `[switch.pfc]`
    pub struct Pfc {
        /// The lossless priorities: those that PFC protects from drops.
        value priorities: Vec<Priority> = vec![DEFAULT_LOSSLESS];
        /// Dynamic threshold: an ingress port pauses its peer from this multiple of the free shared memory on.
        value alpha: f64 = ALPHA, in above_to(0.0, MAX_ALPHA), from "HPCC-ns3, switch-mmu.cc: shift 3";
        /// Static threshold instead of `alpha`: it pauses from these bytes on. With `xon`.
        option xoff: Bytes, in above(Bytes::ZERO);
        /// With `xoff`: it resumes when no more than this is stored.
        option xon: Bytes;
        /// With `alpha`: it resumes this far below the threshold.
        value resume_offset: Bytes = RESUME_OFFSET, from "HPCC-ns3, switch-mmu.cc";
        /// Memory that each lossless priority of each ingress port has for itself.
        value reserve: Bytes = Bytes::new(4 << 10), from "HPCC-ns3, switch-mmu.cc";
        /// Memory of an ingress port for what arrives after its pause was sent. `"auto"` is the need of rate, cable, PHY, largest packet and response time.
        value headroom: Headroom = Headroom::Auto, from "IEEE 802.1Q, annex N";
        /// With `headroom = "auto"`: the delay of PHY and MAC, at both ends together.
        value interface_delay: Span = Span::ZERO, in between(Span::ZERO, Span::from_ms(1));
        /// Whether the switch sends pause frames. Without them it admits by the same thresholds, and drops. With `compat = "hpcc-ns3"` it sends them even so, and they are ignored.
        value pause_frames: bool = true;
        /// The time of a pause frame in quanta of 512 bit times; the switch refreshes a pause at half of it.
        value quanta: u32 = QUANTA, in between(1, QUANTA), from "IEEE 802.1Qbb; the greatest value";
        /// The PFC watchdog: the end of pauses that last too long.
        maybe watchdog: PfcWatchdog;
    }
}

table! {
    /// `[switch.pfc.watchdog]`
    pub struct PfcWatchdog {
        /// A pause of this length is a storm.
        value detection: Span = WatchdogConfig::default().detection, in within_a_day(), from "SONiC, test plan of the PFC watchdog";
        /// The storm ends when the priority was not paused for this time.
        value restoration: Span = WatchdogConfig::default().restoration, in within_a_day(), from "SONiC, test plan of the PFC watchdog";
        /// The treatment of packets during a storm.
        value action: WatchdogAction = WatchdogAction::Drop, from "SONiC, test plan of the PFC watchdog";
    }
}

table! {
    /// `[network.pause_storms.LABEL]`
    pub struct PauseStorm {
        /// The hosts.
        value of: Selection;
        /// The priorities that their frames pause: lossless ones of their switches.
        value priorities: Vec<Priority> = vec![DEFAULT_LOSSLESS];
        /// When they begin.
        value from: Span = Span::ZERO;
        /// When they end; the last pause then expires, 65535 quanta after its frame. Without it they go on.
        option until: Span;
    }
}

words! {
    for WatchdogAction {
        /// Those that wait and those that arrive are dropped.
        "drop" => Drop,
        /// They are sent, whatever is paused.
        "forward" => Forward,
    }
}

word_or! {
    /// The headroom of an ingress port.
    pub enum Headroom {
        /// By rate and delay of its link.
        "auto" => Auto,
        /// This much.
        Bytes(Bytes),
    }
}

table! {
    /// A queue for each priority. The buffer is one memory for all ports: its `alpha` limits a lossy priority at an egress port.
    pub struct Priorities {
        /// The choice of the priority that sends next.
        flat scheduler: Scheduler;
        /// Marks, under labels of your own: priorities that no label names mark nothing.
        each marks: PriorityMarks;
    }
}

choice! {
    /// The choice of the priority that sends next.
    pub enum Scheduler by scheduler = "strict" {
        /// the highest number first
        "strict" => Strict(NoKeys),
        /// deficit weighted round robin
        "dwrr" => Dwrr(Dwrr),
        /// some priorities, the highest number first, above deficit weighted round robin of all others
        "mixed" => Mixed(Mixed),
        /// priority 0 first, never paused; then a packet of each other priority in turn (HPCC's simulator)
        "round-robin" => RoundRobin(NoKeys),
    }
}

table! {
    /// Deficit weighted round robin.
    pub struct Dwrr {
        /// The weights of the priorities 0 to 7.
        value weights: Vec<u32> = vec![1; Priority::COUNT];
        /// Bytes that the smallest weight may send per round: at least a full packet, so that each round sends one.
        value quantum: Bytes = Bytes::new(4_200), in between(Bytes::new(1), Bytes::new(1 << 30));
    }
}

table! {
    /// Strict priorities above deficit weighted round robin.
    pub struct Mixed {
        /// The priorities that are served before all others.
        value strict: Vec<Priority> = vec![HIGHEST];
        /// The weights of the others.
        flat shares: Dwrr;
    }
}

table! {
    /// The marks of some priorities.
    pub struct PriorityMarks {
        /// The priorities meant, which share no queue: each marks by its own.
        value priorities: Vec<Priority>;
        /// The rule.
        flat marking: Marking;
    }
}

choice! {
    /// The rule of marks.
    pub enum Marking by marking = "linear" {
        /// with a probability that grows from `k_min` to `k_max`, with certainty above it (DCQCN)
        "linear" => Linear(LinearMarks),
        /// with certainty above a threshold, never below it (DCTCP)
        "step" => Step(StepMarks),
    }
}

table! {
    /// Marks whose probability grows with the queue.
    pub struct LinearMarks {
        /// Up to this queue nothing is marked.
        value k_min: Proportional<Bytes>;
        /// Above this queue everything is marked.
        value k_max: Proportional<Bytes>;
        /// The probability of a mark at `k_max`.
        value p_max: f64 = 1.0, in fraction();
    }
}

table! {
    /// Marks above a threshold.
    pub struct StepMarks {
        /// K: marked when more than this waits.
        value marking_threshold: Proportional<Bytes>;
    }
}

impl Value for Priority {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let number = match node.content {
            Content::Integer(number) => u8::try_from(number).ok(),
            _ => None,
        };
        let priority = number.and_then(Self::new);
        if priority.is_none() {
            let expected = Self::shape().words;
            match list_meant(&node.content) {
                Some(list) => {
                    let message = format!(
                        "{} must be {expected}, found {}",
                        name_of(key),
                        node.content
                    );
                    cx.error(node.place, key, message)
                        .help(format!("{ONE_LIST} {list}"));
                }
                None => wrong(node, key, &expected, cx),
            }
        }
        priority
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn shape() -> Shape {
        let highest = Self::COUNT - 1;
        Shape {
            words: format!("a whole number from 0 to {highest}"),
            json: json!({ "type": "integer", "minimum": 0, "maximum": highest }),
        }
    }
}

/// The list that a string was meant as: of single priorities (`"3,4"`), or of those between two (`"3-5"`).
fn list_meant(content: &Content) -> Option<String> {
    let Content::Text(text) = content else {
        return None;
    };
    let read = |part: &str| part.trim().parse().ok().and_then(Priority::new);
    let between = || {
        let (first, last) = text.split_once("..").or_else(|| text.split_once('-'))?;
        let (first, last) = (read(first)?, read(last)?);
        let inside = |one: &Priority| (first..=last).contains(one);
        Some(Priority::ALL.into_iter().filter(inside).collect())
    };
    let several = text
        .contains(',')
        .then(|| text.split(',').map(read).collect());
    let priorities: Vec<Priority> = several.unwrap_or_else(between)?;
    (priorities.len() > 1).then(|| priorities.write())
}

/// The set of these priorities.
pub fn priority_set(priorities: &[Priority]) -> PrioritySet {
    priorities.iter().copied().collect()
}

impl PfcWatchdog {
    /// As the queueing crate has it.
    pub fn to_config(&self) -> WatchdogConfig {
        WatchdogConfig {
            detection: self.detection,
            restoration: self.restoration,
            action: self.action,
        }
    }
}

impl LinearMarks {
    /// As the queueing crate has it, at a port of this rate.
    pub fn to_config(&self, rate: Rate) -> LinearMarkerConfig {
        LinearMarkerConfig {
            k_min: self.k_min.at(rate),
            k_max: self.k_max.at(rate),
            p_max: self.p_max,
        }
    }
}

impl Marking {
    /// As the queueing crate has it, at a port of this rate.
    pub fn to_config(&self, rate: Rate) -> LinearMarkerConfig {
        match self {
            Self::Linear(linear) => linear.to_config(rate),
            Self::Step(step) => LinearMarkerConfig::step(step.marking_threshold.at(rate)),
        }
    }
}

impl Dwrr {
    fn quanta(&self) -> Quanta {
        let weights = std::array::from_fn(|place| {
            let weight = self.weights.get(place);
            *weight.expect("a check has counted the weights")
        });
        SchedulerConfig::quanta(weights, self.quantum)
    }
}

impl Scheduler {
    /// As the queueing crate has it.
    pub fn to_config(&self) -> SchedulerConfig {
        match self {
            Self::Strict(_) => SchedulerConfig::Strict,
            Self::Dwrr(dwrr) => SchedulerConfig::Dwrr {
                quanta: dwrr.quanta(),
            },
            Self::Mixed(mixed) => SchedulerConfig::Mixed {
                strict: priority_set(&mixed.strict),
                quanta: mixed.shares.quanta(),
            },
            Self::RoundRobin(_) => SchedulerConfig::RoundRobin,
        }
    }
}

impl Priorities {
    /// The markers at a port of this rate.
    pub fn markers(&self, rate: Rate) -> PriorityEcnConfig {
        let mut config = PriorityEcnConfig::default();
        for (_, marks) in &self.marks {
            for priority in priority_set(&marks.priorities).iter() {
                config.markers[priority.index()] = Some(marks.marking.to_config(rate));
            }
        }
        config
    }

    /// Whether a packet of this priority may be marked.
    pub fn marks_priority(&self, priority: u32) -> bool {
        let of_number = u8::try_from(priority).ok().and_then(Priority::new);
        let mut groups = self.marks.iter();
        of_number.is_some_and(|one| groups.any(|(_, marks)| marks.priorities.contains(&one)))
    }
}
