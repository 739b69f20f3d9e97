//! A network as JSON: hosts, switches, and a port for each direction of each link. Quantities are strings with a
//! unit, as in scenarios.
//!
//! Everything is in the time of the scenario. With a dilation of 10 the network is ten times slower in real time:
//! rates are divided by it, and times multiplied.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use incastle_links::Framing;
use incastle_queueing::{
    DoubleThresholdConfig, LinearMarkerConfig, PortBuffer, QueueConfig, QueueError, RedAction,
    RedConfig, ThresholdConfig,
};
use incastle_units::{Amount, Bytes, Rate, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::graph::{Graph, GraphError, GraphPort};
use crate::port::PortConfig;

/// A quantity as text with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<T>(pub T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(de::Error::custom)
    }
}

/// A network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkPlan {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// The names of the switches.
    #[serde(default)]
    pub switches: Vec<String>,
    /// A port for each direction of each link.
    pub ports: Vec<PortPlan>,
    /// The largest IP packet.
    #[serde(default = "default_mtu")]
    pub mtu: Text<Bytes>,
    /// The bytes of a packet that rates, buffers and queues count.
    #[serde(default)]
    pub framing: FramingPlan,
    /// The factor by which real time is slower.
    #[serde(default = "one")]
    pub dilation: u64,
    /// The seed of random draws.
    #[serde(default = "one")]
    pub seed: u64,
}

/// The link layer of all links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FramingPlan {
    /// IP packets only.
    #[default]
    Ip,
    /// Ethernet's 38 bytes too, at least 84 in all.
    Ethernet,
}

/// A port, and the link behind it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortPlan {
    /// The node whose egress port it is.
    pub from: String,
    /// The node at the other end of the link.
    pub to: String,
    /// The rate.
    pub rate: Text<Rate>,
    /// The delay.
    #[serde(default = "no_delay")]
    pub delay: Text<Span>,
    /// The limit on what the port stores; unlimited where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Text<Amount>>,
    /// The discipline.
    #[serde(default)]
    pub queue: QueuePlan,
    /// Keep a record of arrivals.
    #[serde(default, skip_serializing_if = "is_false")]
    pub record: bool,
}

/// A discipline, with the names and defaults of scenarios.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum QueuePlan {
    /// The buffer alone drops.
    #[default]
    DropTail,
    /// Marks above a threshold.
    Threshold {
        /// K.
        marking_threshold: Text<Amount>,
        /// Drop what cannot be marked.
        #[serde(default)]
        drop_not_ect: bool,
    },
    /// Marks from one threshold to another.
    DoubleThreshold {
        /// Marking begins above it.
        k1: Text<Amount>,
        /// Marking ends at it.
        k2: Text<Amount>,
        /// Drop what cannot be marked.
        #[serde(default)]
        drop_not_ect: bool,
    },
    /// Marks with a probability that grows with the queue.
    Linear {
        /// Nothing is marked up to this.
        k_min: Text<Bytes>,
        /// Everything is marked above this.
        k_max: Text<Bytes>,
        /// The probability at `k_max`.
        p_max: f64,
    },
    /// Random early detection.
    Red {
        /// Nothing is marked below this average.
        min_th: Text<Amount>,
        /// Everything is marked from this average on.
        max_th: Text<Amount>,
        /// The probability just below `max_th`.
        max_p: f64,
        /// The weight of the newest sample.
        w_q: f64,
        /// Between `max_th` and twice of it the probability rises to 1.
        #[serde(default)]
        gentle: bool,
        /// What is done to the packets.
        #[serde(default)]
        action: Action,
        /// The packet of idle time.
        mean_packet_size: Text<Bytes>,
    },
}

/// RED's action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Marks.
    #[default]
    Mark,
    /// Marks below `max_th`.
    MarkBelowMax,
    /// Drops.
    Drop,
}

fn default_mtu() -> Text<Bytes> {
    Text(Bytes::new(1_500))
}

const fn one() -> u64 {
    1
}

fn no_delay() -> Text<Span> {
    Text(Span::ZERO)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// An error in a plan.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A node that is not there.
    #[error("port {0}->{1}: there is no node {2:?}")]
    NoNode(String, String, String),
    /// A name that two nodes have.
    #[error("two nodes have the name {0:?}")]
    Twice(String),
    /// A rate of zero, perhaps after dilation.
    #[error("port {0}->{1}: the rate must be at least 1 bit/s after dilation")]
    Rate(String, String),
    /// The dilation.
    #[error("the dilation must be 1 to 100000, not {0}")]
    Dilation(u64),
    /// The largest packet.
    #[error("the MTU must be 576 to 65535 bytes, not {0}")]
    Mtu(u64),
    /// A discipline's parameters.
    #[error("port {0}->{1}: {2}")]
    Queue(String, String, QueueError),
    /// The graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

impl NetworkPlan {
    /// The graph in real time.
    pub fn graph(&self) -> Result<Graph, PlanError> {
        if !(1..=100_000).contains(&self.dilation) {
            return Err(PlanError::Dilation(self.dilation));
        }
        if !(576..=65_535).contains(&self.mtu.0.count()) {
            return Err(PlanError::Mtu(self.mtu.0.count()));
        }
        let names: Vec<String> = self.hosts.iter().chain(&self.switches).cloned().collect();
        let mut numbers = HashMap::new();
        for (number, name) in names.iter().enumerate() {
            if numbers.insert(name.as_str(), number).is_some() {
                return Err(PlanError::Twice(name.clone()));
            }
        }
        let ports: Result<Vec<GraphPort>, PlanError> = self
            .ports
            .iter()
            .map(|port| port.build(&numbers, self))
            .collect();
        Ok(Graph::new(names.clone(), self.hosts.len(), ports?)?)
    }
}

impl PortPlan {
    fn build(
        &self,
        numbers: &HashMap<&str, usize>,
        network: &NetworkPlan,
    ) -> Result<GraphPort, PlanError> {
        let dilation = network.dilation;
        let (from, to) = (&self.from, &self.to);
        let node = |name: &String| {
            let missing = || PlanError::NoNode(from.clone(), to.clone(), name.clone());
            numbers.get(name.as_str()).copied().ok_or_else(missing)
        };
        let rate = Rate::from_bits_per_second(self.rate.0.bits_per_second() / dilation);
        if rate.bits_per_second() == 0 {
            return Err(PlanError::Rate(from.clone(), to.clone()));
        }
        let queue = self.queue.config();
        let wrong = |error| PlanError::Queue(from.clone(), to.clone(), error);
        queue.check().map_err(wrong)?;
        Ok(GraphPort {
            from: node(from)?,
            to: node(to)?,
            config: PortConfig {
                rate,
                framing: match network.framing {
                    FramingPlan::Ip => Framing::IP,
                    FramingPlan::Ethernet => Framing::ETHERNET,
                },
                delay: self.delay.0.saturating_mul(dilation),
                buffer: self
                    .buffer
                    .map_or(PortBuffer::Unlimited, |limit| PortBuffer::Limited(limit.0)),
                queue,
                bleach: false,
                record: self.record,
            },
        })
    }
}

impl QueuePlan {
    /// The discipline.
    pub const fn config(&self) -> QueueConfig {
        match *self {
            Self::DropTail => QueueConfig::DropTail,
            Self::Threshold {
                marking_threshold,
                drop_not_ect,
            } => QueueConfig::Threshold(ThresholdConfig {
                marking_threshold: marking_threshold.0,
                drop_not_ect,
            }),
            Self::DoubleThreshold {
                k1,
                k2,
                drop_not_ect,
            } => QueueConfig::DoubleThreshold(DoubleThresholdConfig {
                k1: k1.0,
                k2: k2.0,
                drop_not_ect,
            }),
            Self::Linear {
                k_min,
                k_max,
                p_max,
            } => QueueConfig::Linear(LinearMarkerConfig {
                k_min: k_min.0,
                k_max: k_max.0,
                p_max,
            }),
            Self::Red {
                min_th,
                max_th,
                max_p,
                w_q,
                gentle,
                action,
                mean_packet_size,
            } => QueueConfig::Red(RedConfig {
                min_th: min_th.0,
                max_th: max_th.0,
                max_p,
                w_q,
                gentle,
                action: match action {
                    Action::Mark => RedAction::Mark,
                    Action::MarkBelowMax => RedAction::MarkBelowMax,
                    Action::Drop => RedAction::Drop,
                },
                mean_packet_size: mean_packet_size.0,
            }),
        }
    }

    /// The plan of a discipline.
    pub const fn of(config: &QueueConfig) -> Self {
        match *config {
            QueueConfig::DropTail => Self::DropTail,
            QueueConfig::Threshold(one) => Self::Threshold {
                marking_threshold: Text(one.marking_threshold),
                drop_not_ect: one.drop_not_ect,
            },
            QueueConfig::DoubleThreshold(one) => Self::DoubleThreshold {
                k1: Text(one.k1),
                k2: Text(one.k2),
                drop_not_ect: one.drop_not_ect,
            },
            QueueConfig::Linear(one) => Self::Linear {
                k_min: Text(one.k_min),
                k_max: Text(one.k_max),
                p_max: one.p_max,
            },
            QueueConfig::Red(one) => Self::Red {
                min_th: Text(one.min_th),
                max_th: Text(one.max_th),
                max_p: one.max_p,
                w_q: one.w_q,
                gentle: one.gentle,
                action: match one.action {
                    RedAction::Mark => Action::Mark,
                    RedAction::MarkBelowMax => Action::MarkBelowMax,
                    RedAction::Drop => Action::Drop,
                },
                mean_packet_size: Text(one.mean_packet_size),
            },
        }
    }
}
