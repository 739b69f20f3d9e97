//! A simulation before its start: its network, its applications, and the records that its scenario requests.

use incastle_engine::Simulation;
use incastle_engine::core::{Node, PortIndex, SwitchIndex};
use incastle_engine::network::Network;
use incastle_recorder::{HOST_BIN, Measurements, Recorder};
use incastle_scenario::Scenario;
use incastle_scenario::language::RunStop;
use incastle_scenario::language::flows::Stop;
use incastle_scenario::language::measure::{Measure, OccupancySampling, Sampling};
use incastle_units::{Span, Time};
use incastle_workload::{Journal, applications};

use crate::budget;
use crate::captures::captured_ports;
use crate::course::interval;
use crate::overseer::SLICE;
use crate::record::Interval;
use crate::silence;

/// A simulation before its start, with the journal of its applications.
pub struct Prepared {
    /// The simulation.
    pub simulation: Simulation<Recorder>,
    /// The notes of its applications.
    pub journal: Journal,
    /// Events between two checks of its records.
    pub slice: u64,
}

impl Prepared {
    /// The simulation of a scenario in its network, with samples of the nodes that `has` names.
    pub fn new(scenario: &Scenario, network: Network, has: impl Fn(Node) -> bool) -> Self {
        let measure = &scenario.tables().measure;
        let interval = interval(scenario);
        let recorder = Recorder::new(
            measurements(scenario),
            network.ports().count(),
            network.host_count(),
        );
        let mut sampled = sampled_ports(measure, &network);
        sampled.retain(|port| has(network.owner(*port)));
        let every_port = matches!(measure.buffer_occupancy, Sampling::On(_));
        let ports = if every_port {
            network.ports().count()
        } else {
            sampled.len()
        };
        let slice = budget::slice(ports, SLICE);
        let journal = if measure.responses {
            Journal::default()
        } else {
            Journal::without_responses()
        };
        let mut simulation = Simulation::new(network, recorder);
        if let Sampling::On(capture) = &measure.pcap {
            let captured = captured_ports(capture, simulation.network());
            simulation.capture(&captured);
        }
        simulation.measure_between(interval.from, interval.to);
        if let (Sampling::On(queue), false) = (&measure.queue, sampled.is_empty()) {
            simulation.sample_queues(sampled, queue.every);
        }
        if let Sampling::On(memory) = &measure.buffer_occupancy {
            let mut sampled = sampled_switches(scenario, memory);
            sampled.retain(|switch| has(Node::Switch(*switch)));
            simulation.sample_memories(&sampled, memory.every);
        }
        let until_done = scenario.tables().run.stop == RunStop::WhenDone;
        for recruit in applications(scenario, &journal) {
            let application = simulation.add_application(recruit.application);
            if until_done && recruit.is_finite {
                simulation.end_with(application);
            }
        }
        Self {
            simulation,
            journal,
            slice,
        }
    }
}

fn measurements(scenario: &Scenario) -> Measurements {
    let measure = &scenario.tables().measure;
    let qcn = matches!(measure.qcn, Sampling::On(_));
    let capture = match &measure.pcap {
        Sampling::On(capture) => Interval::of(capture.from, capture.until, Time::NEVER),
        Sampling::Off => Interval::of(Span::ZERO, Stop::End, Time::ZERO),
    };
    Measurements {
        host_bin: measure.goodput.then_some(HOST_BIN),
        flow_bin: match &measure.throughput {
            Sampling::On(throughput) => Some(throughput.every),
            Sampling::Off => None,
        },
        window_every: match &measure.window {
            Sampling::On(window) => window.every,
            // Flows may be watched for another purpose.
            Sampling::Off => Span::from_ps(u64::MAX),
        },
        dcudp_every: match &measure.dcudp {
            Sampling::On(dcudp) => Some(dcudp.every),
            Sampling::Off => None,
        },
        rates: qcn,
        samples: qcn,
        timeouts: measure.timeouts,
        events: match &measure.events {
            Sampling::On(events) => events.max_events as usize,
            Sampling::Off => 0,
        },
        silence: (measure.timeouts && measure.receiver_idle).then(|| silence::shortest(scenario)),
        capture: incastle_recorder::Interval {
            from: capture.from,
            until: capture.to,
        },
    }
}

/// The ports whose queues are sampled.
fn sampled_ports(measure: &Measure, network: &Network) -> Vec<PortIndex> {
    let Sampling::On(queue) = &measure.queue else {
        return Vec::new();
    };
    let all = queue.ports.iter().any(|port| port == "all");
    network
        .ports()
        .filter(|&port| {
            let switch = matches!(network.owner(port), Node::Switch(_));
            switch && (all || queue.ports.contains(&network.port_name(port)))
        })
        .collect()
}

/// The switches whose memories are sampled.
fn sampled_switches(scenario: &Scenario, memory: &OccupancySampling) -> Vec<SwitchIndex> {
    let names = &scenario.layout().switches;
    (0..names.len())
        .filter(|&switch| memory.switches.contains(&names[switch]))
        .map(SwitchIndex::from_index)
        .collect()
}
