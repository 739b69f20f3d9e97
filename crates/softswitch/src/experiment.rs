//! An experiment: a network, and the workloads of its hosts, from beginning to end. A `Medium` makes the connections: this
//! crate has the kernel's TCP, the crate `realtime` our own transport.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process;
use std::thread;

use incastle_units::{Bytes, Span, Time};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;

use crate::address;
use crate::clock::Clock;
use crate::endpoint::{
    Endpoints, ExperimentError, ExperimentPlan, KernelTcp, Rows, Timeline, Workload, apply,
    controls,
};
use crate::graph::Graph;
use crate::hosts::Hosts;
use crate::ip::FlowKey;
use crate::namespace::Namespace;
use crate::network::{Network, QueueSample, Signals};
use crate::port::Counts;
use crate::report::{Measurement, Report};
use crate::switch::{ENDPOINT_PRIORITY, Ended, SWITCH_PRIORITY, Switch, hurry};

/// From the last preparation to the scenario's beginning.
const SETTLE: Span = Span::from_ms(100);
/// A segment without data.
const ACK: Bytes = Bytes::new(40);
/// The exit status after the standard input has ended.
const ENDED: i32 = 3;

/// Everything that an experiment measures.
#[derive(Debug, Serialize)]
struct Outcome {
    /// Whether the switch had a real-time priority.
    real_time: bool,
    /// The names of the hosts, in the order of their numbers.
    hosts: Vec<String>,
    /// The shortest round trip of a connection where nothing waits.
    base_rtt_s: f64,
    /// The interval of `throughput`.
    throughput_every_s: f64,
    /// Settings that this kernel does not have.
    missing_settings: Vec<String>,
    /// The network, in the measured interval.
    network: Report,
    /// Packets at its ports, from the beginning to the end of the scenario.
    whole_run: Vec<Counts>,
    /// The endpoints.
    #[serde(flatten)]
    rows: Rows,
    /// Samples of queues: seconds, port, packets, bytes.
    queue_samples: Vec<(f64, String, usize, u64)>,
    /// Bytes by millisecond and host, IP headers included.
    ip_bytes: Vec<(u64, usize, u64)>,
}

/// Makes the connections of an experiment.
pub trait Medium {
    /// The connections.
    type Connections: Endpoints + Send;

    /// Whether it has everything that the plan names.
    fn check(&self, plan: &ExperimentPlan) -> Result<(), String>;

    /// Prepares every connection of a checked plan, and opens none; gives them with the settings that are missing here.
    fn prepare(
        self,
        plan: &ExperimentPlan,
        places: &[Namespace],
        time: Timeline,
    ) -> io::Result<(Self::Connections, Vec<String>)>;
}

/// The kernel's TCP.
#[derive(Debug, Clone, Copy)]
pub struct Kernel;

impl Medium for Kernel {
    type Connections = KernelTcp;

    fn check(&self, plan: &ExperimentPlan) -> Result<(), String> {
        if plan.kernel.is_none() {
            return Err(ExperimentError::NoKernel.to_string());
        }
        let there = controls().map_err(|error| error.to_string())?;
        plan.check_controls(&there)
            .map_err(|error| error.to_string())
    }

    fn prepare(
        self,
        plan: &ExperimentPlan,
        places: &[Namespace],
        _time: Timeline,
    ) -> io::Result<(KernelTcp, Vec<String>)> {
        let settings = plan.kernel.as_ref().expect("a checked plan");
        let mut missing = Vec::new();
        for (number, place) in places.iter().enumerate() {
            missing = apply(place, number, settings, plan.network.dilation)?;
        }
        Ok((KernelTcp::prepare(plan, places)?, missing))
    }
}

/// Runs the experiment of a file; gives the result as JSON. It ends early, and the process with it, once the standard
/// input has ended: whoever started it is gone.
pub(crate) fn run(file: &Path, medium: impl Medium) -> Result<String, String> {
    let in_file = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = fs::read_to_string(file).map_err(|error| in_file(&error))?;
    let plan: ExperimentPlan = serde_json::from_str(&text).map_err(|error| in_file(&error))?;
    let network = Network::new(plan.network.graph().map_err(|error| in_file(&error))?);
    plan.check(network.graph())
        .map_err(|error| in_file(&error))?;
    medium.check(&plan).map_err(|error| in_file(&error))?;
    thread::spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(ENDED);
    });
    raise_limit();
    let outcome = measure(&plan, network, medium).map_err(|error| error.to_string())?;
    serde_json::to_string(&outcome).map_err(|error| error.to_string())
}

/// As many sockets as the system permits.
fn raise_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

fn measure(plan: &ExperimentPlan, network: Network, medium: impl Medium) -> io::Result<Outcome> {
    let hosts = Hosts::make(&plan.network)?;
    let dilation = plan.network.dilation;
    let clock = Clock::start();
    let time = Timeline {
        clock,
        base: clock.now() + SETTLE,
        dilation,
    };
    let (endpoints, missing) = medium.prepare(plan, &hosts.namespaces, time)?;
    let by_address = endpoints.by_address().clone();
    let request_times = request_times(plan, network.graph());
    let workload = Workload::new(plan, endpoints, time, request_times);
    let mut switch = Switch::new(clock, network, hosts.devices, plan.network.seed)?;
    sample_queues(plan, &time, switch.network());
    let (ended, ends) = io::pipe()?;
    let (real_time, report, rows) = thread::scope(|scope| {
        let endpoints = scope.spawn(move || {
            hurry(ENDPOINT_PRIORITY);
            let rows = workload.run();
            drop(ends);
            rows
        });
        let real_time = hurry(SWITCH_PRIORITY);
        let report = forward(&mut switch, plan, &time, &ended);
        let rows = endpoints.join().expect("the thread does not panic");
        (real_time, report, rows)
    });
    // The workload's error comes first: it may have ended the switch.
    let mut rows = rows?;
    let (network, whole_run) = report?;
    for (key, signals) in &whole_run.signals {
        if let Some(&flow) = by_address.get(&(u32::from_be_bytes(key.source), key.source_port)) {
            add_signals(&mut rows, flow, key, *signals);
        }
    }
    let end = time.real(plan.duration.0);
    Ok(Outcome {
        real_time,
        hosts: plan.network.hosts.clone(),
        base_rtt_s: base_rtt(plan, switch.network().graph()).as_secs_lossy() / dilation as f64,
        throughput_every_s: plan.throughput_every.0.as_secs_lossy(),
        missing_settings: missing,
        network,
        whole_run: whole_run.ports,
        rows,
        queue_samples: queue_rows(&time, end, switch.network()),
        ip_bytes: switch
            .arrived_bytes()
            .map(|((bin, host), bytes)| (bin, host, bytes))
            .collect(),
    })
}

/// By flow: the time that a request takes where it waits for those before it of its client alone, in real time. Unknown
/// where the client sends data, too: requests wait for these.
fn request_times(plan: &ExperimentPlan, graph: &Graph) -> Vec<Option<Span>> {
    let hosts = plan.ends();
    let mut times = vec![None; hosts.len()];
    for requests in &plan.requests {
        let size = ACK + requests.request.0;
        let mut waits = vec![Span::ZERO; graph.hosts()];
        for &flow in &requests.flows {
            let (server, client) = hosts[flow];
            if hosts.iter().all(|&(sender, _)| sender != client) {
                times[flow] = Some(waits[client] + graph.idle_time(client, server, size));
                waits[client] += graph.sending_time(client, server, size);
            }
        }
    }
    times
}

/// The shortest round trip of a connection where nothing waits, in real time: a full packet, and its ACK.
fn base_rtt(plan: &ExperimentPlan, graph: &Graph) -> Span {
    let of_flow =
        |(from, to)| graph.idle_time(from, to, plan.network.mtu.0) + graph.idle_time(to, from, ACK);
    let ends = plan.ends().into_iter();
    ends.map(of_flow).min().unwrap_or(Span::ZERO)
}

fn sample_queues(plan: &ExperimentPlan, time: &Timeline, network: &mut Network) {
    let Some(every) = plan.queue_every else {
        return;
    };
    let graph = network.graph();
    let chosen = |port: &usize| plan.queue_ports.contains(&graph.port_name(*port));
    let ports = (0..graph.port_count()).filter(chosen).collect();
    network.sample(time.base, every.0.saturating_mul(time.dilation), ports);
}

/// Counts of the switch up to the end of the scenario. Later packets close connections.
struct WholeRun {
    ports: Vec<Counts>,
    signals: BTreeMap<FlowKey, Signals>,
}

impl WholeRun {
    fn of(network: &mut Network) -> Self {
        let ports = 0..network.graph().port_count();
        Self {
            ports: ports.map(|port| network.port(port).all_counts()).collect(),
            signals: network.signals().clone(),
        }
    }
}

/// Runs the switch: before the measured interval, in it, and after it.
fn forward(
    switch: &mut Switch,
    plan: &ExperimentPlan,
    time: &Timeline,
    ended: &PipeReader,
) -> io::Result<(Report, WholeRun)> {
    let run =
        |switch: &mut Switch, until: Time| match switch.run(Some(until), Some(ended.as_fd()))? {
            Ended::TimeUp => Ok(()),
            Ended::Control => Err(io::Error::other("the endpoints ended early")),
        };
    switch.count_bytes(time.base, Span::from_ms(time.dilation));
    let (begin, until) = (time.real(plan.warmup.0), time.real(plan.until.0));
    run(switch, begin)?;
    let measurement = Measurement::begin(switch, begin);
    run(switch, until)?;
    let report = measurement.report(switch, until, time.dilation);
    // The endpoints end when the scenario does, and with them this.
    let end = time.real(plan.duration.0);
    let at_end = switch.run(Some(end), Some(ended.as_fd()))?;
    let whole_run = WholeRun::of(switch.network());
    if at_end == Ended::TimeUp {
        switch.run(None, Some(ended.as_fd()))?;
    }
    Ok((report, whole_run))
}

/// Marks and drops of the data of a flow: packets of its sender.
fn add_signals(rows: &mut Rows, flow: usize, key: &FlowKey, signals: Signals) {
    debug_assert!(address::host(key.source.into(), usize::MAX).is_some());
    if let Some(row) = rows.flows.get_mut(flow) {
        row.marks += signals.marks;
        row.drops += signals.drops;
    }
}

fn queue_rows(time: &Timeline, end: Time, network: &mut Network) -> Vec<(f64, String, usize, u64)> {
    let samples: Vec<QueueSample> = network.samples(end).to_vec();
    let graph = network.graph();
    samples
        .iter()
        .map(|one| {
            let at = time.own(one.at).as_secs_lossy();
            (at, graph.port_name(one.port), one.packets, one.bytes)
        })
        .collect()
}
