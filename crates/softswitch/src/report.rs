//! The measurements of a network, in the time of the scenario: with a dilation, real times are divided by it and
//! rates multiplied. Lateness stays in real time: it is the machine's.

use incastle_units::{Span, Time};
use serde::Serialize;

use crate::machine;
use crate::port::Counts;
use crate::samples::{Lateness, LatenessSummary, QueueSummary};
use crate::switch::Switch;

/// A port.
#[derive(Debug, Serialize)]
pub struct PortReport {
    /// FROM->TO.
    pub port: String,
    /// Whether it is a switch's.
    pub of_switch: bool,
    /// Packets.
    #[serde(flatten)]
    pub counts: Counts,
    /// The fraction of its rate that was used.
    pub utilisation: f64,
    /// The most bytes stored at once, since the beginning.
    pub max_stored_bytes: u64,
    /// The queue.
    pub queue_packets: QueueSummary,
    /// Seconds at each length of the queue, from 0.
    pub queue_seconds: Vec<f64>,
    /// How late packets left towards a host; none of a port towards a switch.
    pub lateness: Option<LatenessSummary>,
}

/// The network.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The measured time.
    pub seconds: f64,
    /// Its ports.
    pub ports: Vec<PortReport>,
    /// How late packets were delivered to hosts, in real time.
    pub lateness: LatenessSummary,
    /// Seconds of processor time that the host of a virtual machine took away meanwhile.
    pub stolen_s: Option<f64>,
    /// Seconds in which the switch stood still, in real time: others had the processor.
    pub stalled_s: f64,
    /// Packets that hosts did not take, since the beginning.
    pub refused: u64,
    /// Packets for no host of the network, since the beginning.
    pub strangers: u64,
}

/// A measurement that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Measurement {
    since: Time,
    stolen_s: Option<f64>,
    stalled: Span,
}

impl Measurement {
    /// Begins a measurement at `now`, and forgets the one before.
    pub fn begin(switch: &mut Switch, now: Time) -> Self {
        switch.network().restart(now);
        Self {
            since: now,
            stolen_s: machine::stolen_s(),
            stalled: switch.stalled(),
        }
    }

    /// Its result up to `now`.
    pub fn report(&self, switch: &mut Switch, now: Time, dilation: u64) -> Report {
        let passed = now.saturating_since(self.since);
        let ports = switch.network().graph().port_count();
        let mut lateness = Lateness::default();
        for port in 0..ports {
            lateness.merge(switch.network().lateness(port));
        }
        let stolen = machine::stolen_s().zip(self.stolen_s);
        Report {
            seconds: own_s(passed, dilation),
            ports: (0..ports)
                .map(|port| port_report(switch, port, now, (passed, dilation)))
                .collect(),
            lateness: lateness.summary(),
            stolen_s: stolen.map(|(now, then)| now - then),
            stalled_s: (switch.stalled() - self.stalled).as_secs_lossy(),
            refused: switch.refused().iter().sum(),
            strangers: switch.strangers(),
        }
    }
}

fn port_report(
    switch: &mut Switch,
    number: usize,
    now: Time,
    (passed, dilation): (Span, u64),
) -> PortReport {
    let network = switch.network();
    let graph = network.graph();
    let (port, of_switch) = (graph.port_name(number), graph.is_of_switch(number));
    let to_host = graph.end_of(number) < graph.hosts();
    let lateness = to_host.then(|| network.lateness(number).summary());
    let own = network.port(number);
    let counts = *own.counts();
    let possible = own.rate().bytes_per_second_lossy() * passed.as_secs_lossy();
    let queue = own.queue(now);
    let mut queue_packets = queue.summary();
    queue_packets.seconds /= dilation as f64;
    let spans = queue.spans().iter();
    PortReport {
        port,
        of_switch,
        utilisation: counts.left_bytes as f64 / possible.max(f64::MIN_POSITIVE),
        queue_packets,
        queue_seconds: spans.map(|span| own_s(*span, dilation)).collect(),
        max_stored_bytes: own.max_stored_bytes(),
        counts,
        lateness,
    }
}

/// Seconds of the scenario's time.
fn own_s(span: Span, dilation: u64) -> f64 {
    span.as_secs_lossy() / dilation as f64
}
