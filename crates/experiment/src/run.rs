//! Runs a scenario: builds the network, simulates it in slices, and makes the tables.
//!
//! Pure: all actions between slices (stopping, progress) are the caller's, through [`Overseer`].

use incastle_engine::core::{Node, PortIndex, SwitchIndex};
use incastle_engine::network::Network;
use incastle_engine::probe::Probe;
use incastle_engine::{AllPartitions, Simulation, Status};
use incastle_recorder::{HOST_BIN, Measurements, Recorder};
use incastle_scenario::Scenario;
use incastle_scenario::language::RunStop;
use incastle_scenario::language::flows::Stop;
use incastle_scenario::language::measure::{Measure, OccupancySampling, Sampling};
use incastle_units::{Bytes, Span, Time};
use incastle_workload::{Journal, applications};

use crate::budget::{self, afford_start, snap};
use crate::captures::captured_ports;
use crate::memory::at_start;
use crate::network::network;
use crate::output::Output;
use crate::overseer::{Overseer, RunError, SLICE};
use crate::record::{Finished, Interval, Passed, Record};
use crate::silence;

/// Runs a scenario to its end, or until the overseer ends it.
pub fn simulate(scenario: &Scenario, overseer: &impl Overseer) -> Result<Output, RunError> {
    if let Some(name) = scenario.unknown_controller() {
        return Err(RunError::UnknownController(name.to_owned()));
    }
    afford_start(at_start(scenario, 1), |bytes| overseer.affords(bytes))?;
    let Prepared {
        simulation,
        journal,
        slice,
    } = Prepared::new(scenario, network(scenario)?, |_| true);
    let mut whole = vec![simulation];
    let snap = snap(scenario);
    let passed = through(scenario, &mut whole, |whole, until| {
        let slice = slice.min(overseer.slice());
        pass(&mut whole[0], until, slice, |simulation| {
            budget::look(simulation, &journal, snap, overseer)
        })
    })?;
    let finished = Finished::new(whole, |mut recorders, _| recorders.remove(0));
    let notes = std::mem::take(&mut *journal.notes());
    let record = Record::new(scenario, passed, finished, notes);
    Ok(record.with_ideals(overseer).output())
}

/// Simulates all partitions until the measured interval begins, until it ends, and until the run ends.
pub fn through<E>(
    scenario: &Scenario,
    parts: &mut [Simulation<Recorder>],
    mut pass: impl FnMut(&mut [Simulation<Recorder>], Time) -> Result<bool, E>,
) -> Result<Passed, E> {
    let interval = interval(scenario);
    let end = Time::ZERO + scenario.duration();
    assert!(
        interval.from <= interval.to && interval.to <= end,
        "the measured interval lies within the run"
    );
    let mut accepted = [Vec::new(), Vec::new()];
    let mut interrupted = false;
    // The counters of ports are read at the start and the end of the measured interval.
    for (stage, until) in [interval.from, interval.to, end].into_iter().enumerate() {
        interrupted = interrupted || !pass(parts, until)?;
        if let Some(accepted) = accepted.get_mut(stage) {
            *accepted = accepted_bytes(parts);
        }
    }
    let [before, after] = &accepted;
    assert_eq!(before.len(), after.len(), "every port is read twice");
    let until_done = scenario.tables().run.stop == RunStop::WhenDone;
    let is_done = parts.iter().any(Simulation::is_over);
    Ok(Passed {
        interval,
        accepted,
        interrupted,
        met_limit: until_done && !is_done && !interrupted,
    })
}

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

/// The measured interval.
pub fn interval(scenario: &Scenario) -> Interval {
    let end = Time::ZERO + scenario.duration();
    let measure = &scenario.tables().measure;
    Interval::of(measure.warmup, measure.until, end)
}

/// Simulates until `until`, in slices, with a check after each; `false` if a check ended it.
pub fn pass<P: Probe>(
    simulation: &mut Simulation<P>,
    until: Time,
    slice: u64,
    look: impl Fn(&Simulation<P>) -> Result<bool, RunError>,
) -> Result<bool, RunError> {
    loop {
        let before = simulation.now();
        let status = simulation.run(until, slice)?;
        let now = simulation.now();
        assert!(
            before <= now && now <= until.max(before),
            "time runs forward"
        );
        let continues = look(simulation)?;
        match status {
            Status::Done => return Ok(true),
            Status::Paused if continues => {}
            Status::Paused => return Ok(false),
        }
    }
}

fn accepted_bytes<P: Probe>(parts: &[Simulation<P>]) -> Vec<Bytes> {
    let whole = AllPartitions::new(parts);
    let ports = parts[0].network().ports();
    ports
        .map(|port| Bytes::new(whole.counters(port).accepted_bytes))
        .collect()
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
