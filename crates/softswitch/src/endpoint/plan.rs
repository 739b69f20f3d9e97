//! Workloads over the kernel's TCP as JSON. Times are those of the scenario.

use incastle_units::{Bytes, Span};
use serde::{Deserialize, Serialize};

use crate::graph::Graph;
use crate::plan::{NetworkPlan, Text};

/// A network with the workloads of its hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentPlan {
    /// The network.
    pub network: NetworkPlan,
    /// The kernel's settings in each namespace.
    pub kernel: KernelPlan,
    /// When everything ends.
    pub duration: Text<Span>,
    /// When the switch begins to measure.
    pub warmup: Text<Span>,
    /// When it ends.
    pub until: Text<Span>,
    /// The connections.
    pub flows: Vec<FlowPlan>,
    /// Requests to several of these at once.
    #[serde(default)]
    pub requests: Vec<RequestPlan>,
    /// The interval of TCP_INFO; none: only at the end.
    #[serde(default)]
    pub window_every: Option<Text<Span>>,
    /// The interval in which delivered bytes are added up.
    pub throughput_every: Text<Span>,
    /// The interval of queue samples.
    #[serde(default)]
    pub queue_every: Option<Text<Span>>,
    /// The ports whose queues are sampled.
    #[serde(default)]
    pub queue_ports: Vec<String>,
}

/// Settings of each namespace: files under /proc/sys/net/ipv4, and attributes of the route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPlan {
    /// Name and value of each setting.
    pub settings: Vec<(String, String)>,
    /// The smallest retransmission timeout, before dilation.
    pub min_rto: Text<Span>,
    /// The initial window, in packets.
    pub initial_window: u32,
    /// The largest number of segments in a burst that TCP hands down.
    pub gso_max_segs: u32,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// The host that sends data, and opens the connection.
    pub from: String,
    /// The host that receives them.
    pub to: String,
    /// The kernel's congestion control.
    pub congestion: String,
    /// When it is opened.
    pub start: Text<Span>,
    /// When it sends no new data any more.
    #[serde(default)]
    pub stop: Option<Text<Span>>,
    /// Its data: a number of bytes, all it can, or the responses to requests.
    pub data: Data,
}

/// The data of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// A transfer of this size.
    Size(Text<Bytes>),
    /// As much as it can.
    Unlimited,
    /// Responses.
    Responses,
}

/// A client's requests to all its servers at once, and again after the last response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestPlan {
    /// The connections from its servers, by their numbers.
    pub flows: Vec<usize>,
    /// Bytes of a request.
    pub request: Text<Bytes>,
    /// Bytes of each response, in the order of `flows`.
    pub responses: Vec<Text<Bytes>>,
    /// The number of rounds; unlimited without one.
    #[serde(default)]
    pub rounds: Option<u64>,
    /// From the last response to the next request.
    pub think_time: Text<Span>,
    /// The first round.
    pub start: Text<Span>,
    /// When no new round begins.
    #[serde(default)]
    pub stop: Option<Text<Span>>,
}

/// An error in an experiment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// A host that is not there.
    #[error("flow {0}: there is no host {1:?}")]
    NoHost(usize, String),
    /// To itself.
    #[error("flow {0}: from a host to itself")]
    ToItself(usize),
    /// A control that the kernel does not have.
    #[error("the kernel has no congestion control {0:?}; it has {1}")]
    NoControl(String, String),
    /// Numbers that do not fit.
    #[error("requests {0}: flows and responses must be as many, and exist")]
    Requests(usize),
    /// An interval.
    #[error("{0} must be at least {1} at this dilation")]
    Interval(&'static str, Span),
    /// The measured interval.
    #[error("warmup must be before until, and until not after the duration")]
    Measured,
    /// A port that is not there.
    #[error("queue_ports: there is no port {0:?}")]
    NoPort(String),
}

/// The shortest interval of samples, in real time.
const SHORTEST: Span = Span::from_us(100);

impl ExperimentPlan {
    /// Whether its parts fit together; `controls` are the kernel's.
    pub fn check(&self, controls: &[String], graph: &Graph) -> Result<(), ExperimentError> {
        let ports: Vec<String> = (0..graph.port_count())
            .map(|port| graph.port_name(port))
            .collect();
        if let Some(port) = self.queue_ports.iter().find(|port| !ports.contains(port)) {
            return Err(ExperimentError::NoPort(port.clone()));
        }
        for (number, flow) in self.flows.iter().enumerate() {
            for host in [&flow.from, &flow.to] {
                if !self.network.hosts.contains(host) {
                    return Err(ExperimentError::NoHost(number, host.clone()));
                }
            }
            if flow.from == flow.to {
                return Err(ExperimentError::ToItself(number));
            }
            if !controls.contains(&flow.congestion) {
                let there = controls.join(", ");
                return Err(ExperimentError::NoControl(flow.congestion.clone(), there));
            }
        }
        for (number, requests) in self.requests.iter().enumerate() {
            let flows = &requests.flows;
            let is_one = |flow: &usize| {
                self.flows
                    .get(*flow)
                    .is_some_and(|flow| flow.data == Data::Responses)
            };
            if flows.is_empty()
                || flows.len() != requests.responses.len()
                || !flows.iter().all(is_one)
            {
                return Err(ExperimentError::Requests(number));
            }
        }
        let intervals = [
            ("window_every", self.window_every),
            ("throughput_every", Some(self.throughput_every)),
            ("queue_every", self.queue_every),
        ];
        for (name, every) in intervals {
            let real = every.map(|every| every.0.saturating_mul(self.network.dilation));
            if real.is_some_and(|real| real < SHORTEST) {
                return Err(ExperimentError::Interval(
                    name,
                    SHORTEST / self.network.dilation,
                ));
            }
        }
        if self.warmup.0 >= self.until.0 || self.until.0 > self.duration.0 {
            return Err(ExperimentError::Measured);
        }
        Ok(())
    }
}
