//! Workloads as JSON. Times are those of the scenario.

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
    /// The kernel's settings in each namespace, where its TCP sends.
    #[serde(default)]
    pub kernel: Option<KernelPlan>,
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
    /// The kernel's congestion control; over other connections the name of their parameters.
    pub congestion: String,
    /// When it is opened.
    pub start: Text<Span>,
    /// When it sends no new data any more.
    #[serde(default)]
    pub stop: Option<Text<Span>>,
    /// Its data: a number of bytes, all it can, the responses to requests, or messages at a rate.
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
    /// Messages at a constant rate.
    Messages(MessagesPlan),
}

/// Messages at a constant rate: all the time, or in periods with silences between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessagesPlan {
    /// Bytes written at once.
    pub message: Text<Bytes>,
    /// From one message to the next.
    pub every: Text<Span>,
    /// The length of the periods, and of the silences; without them it never pauses.
    #[serde(default)]
    pub on_off: Option<(Text<Span>, Text<Span>)>,
}

impl MessagesPlan {
    /// When the next message is due, after one at `at`; both since the flow's start.
    pub(crate) fn next(&self, at: Span) -> Span {
        let next = at + self.every.0;
        let Some((on, off)) = self.on_off else {
            return next;
        };
        let period = on.0.as_ps() + off.0.as_ps();
        let (number, within) = (next.as_ps() / period, next.as_ps() % period);
        if within < on.0.as_ps() {
            next
        } else {
            Span::from_ps((number + 1) * period)
        }
    }

    const fn is_possible(&self) -> bool {
        let on = match self.on_off {
            Some((on, _)) => on.0.as_ps() > 0,
            None => true,
        };
        on && self.every.0.as_ps() > 0 && self.message.0.count() > 0
    }
}

/// A client's requests to all its servers at once, and again after the last response or at given instants.
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
    /// When each round begins, in their order, whether or not those before are complete: instead of `think_time`.
    #[serde(default)]
    pub instants: Option<Vec<Text<Span>>>,
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
    /// A control that is not there.
    #[error("the kernel has no congestion control {0:?}; it has {1}")]
    NoControl(String, String),
    /// No settings of the kernel.
    #[error("an experiment over the kernel's TCP needs `kernel`")]
    NoKernel,
    /// Numbers that do not fit.
    #[error("requests {0}: flows and responses must be as many, and exist")]
    Requests(usize),
    /// Rounds out of order.
    #[error("requests {0}: instants must ascend")]
    Instants(usize),
    /// Messages without size or interval.
    #[error("flow {0}: message, every and the first length of on_off must be above zero")]
    Messages(usize),
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
    /// By flow: the numbers of its hosts. The plan must have passed its check.
    pub fn ends(&self) -> Vec<(usize, usize)> {
        let number = |name: &String| {
            let found = self.network.hosts.iter().position(|host| host == name);
            found.expect("a checked plan")
        };
        let ends = |flow: &FlowPlan| (number(&flow.from), number(&flow.to));
        self.flows.iter().map(ends).collect()
    }

    /// Whether there is each control, and which there are.
    pub fn check_controls(&self, controls: &[String]) -> Result<(), ExperimentError> {
        let mut named = self.flows.iter().map(|flow| &flow.congestion);
        match named.find(|name| !controls.contains(name)) {
            None => Ok(()),
            Some(name) => Err(ExperimentError::NoControl(
                name.clone(),
                controls.join(", "),
            )),
        }
    }

    /// Whether its parts fit together.
    pub fn check(&self, graph: &Graph) -> Result<(), ExperimentError> {
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
            if matches!(flow.data, Data::Messages(messages) if !messages.is_possible()) {
                return Err(ExperimentError::Messages(number));
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
            let instants = requests.instants.iter().flatten();
            if !instants.map(|at| at.0).is_sorted() {
                return Err(ExperimentError::Instants(number));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(on_off: Option<(u64, u64)>) -> MessagesPlan {
        let ms = |count| Text(Span::from_ms(count));
        MessagesPlan {
            message: Text(Bytes::new(1_000)),
            every: ms(2),
            on_off: on_off.map(|(on, off)| (ms(on), ms(off))),
        }
    }

    fn first(plan: MessagesPlan) -> Vec<u64> {
        let instants = std::iter::successors(Some(Span::ZERO), |&at| Some(plan.next(at)));
        let in_ms = instants.map(|at| at.as_ps() / 1_000_000_000);
        in_ms.take(6).collect()
    }

    #[test]
    fn messages_come_at_a_rate_and_in_periods() {
        assert_eq!(first(messages(None)), [0, 2, 4, 6, 8, 10]);
        // On from 0 to 5 ms and from 8 to 13 ms: three messages in each.
        assert_eq!(first(messages(Some((5, 3)))), [0, 2, 4, 8, 10, 12]);
        assert!(!messages(Some((0, 3))).is_possible());
    }
}
