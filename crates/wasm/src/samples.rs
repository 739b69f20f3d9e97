//! The records of a run that are new since the last look.
//!
//! They come from the scenario's measurements: `[measure] queue` and `window`. The counters of ports are
//! always there.

use incastle_engine::core::FlowIndex;
use incastle_experiment::Run as Simulated;
use incastle_recorder::{QueueSample, WindowSample};
use incastle_scenario::Scenario;
use incastle_units::{Bytes, Rate};
use wasm_bindgen::prelude::wasm_bindgen;

/// The place up to which each list has been read.
#[derive(Debug, Default)]
pub(crate) struct Read {
    queues: usize,
    windows: usize,
    flows: usize,
    /// By flow: its number, in the order in which flows were opened.
    numbers: Vec<u32>,
}

/// Columns of the new rows.
#[wasm_bindgen(getter_with_clone)]
pub struct Samples {
    /// Instants at which queues were sampled.
    pub queue_time_s: Vec<f64>,
    /// Their ports.
    pub queue_port: Vec<u32>,
    /// Packets that wait there.
    pub queue_packets: Vec<u32>,
    /// Their bytes.
    pub queue_bytes: Vec<f64>,
    /// Instants at which congestion control was sampled.
    pub window_time_s: Vec<f64>,
    /// The numbers of its flows.
    pub window_flow: Vec<u32>,
    /// Congestion windows; NaN where a control has none.
    pub window_bytes: Vec<f64>,
    /// Sending rates; NaN where a control has none.
    pub rate_bit_s: Vec<f64>,
    /// JSON of the names of new flows, in the order of their numbers.
    pub flow_names: String,
    /// By port: bytes on the wire that were accepted so far.
    pub port_bytes: Vec<f64>,
    /// By port: packets marked so far.
    pub port_marks: Vec<f64>,
    /// By port: packets dropped so far.
    pub port_drops: Vec<f64>,
    /// By port: seconds for which PFC has paused it so far, of the priority that was paused longest; empty before the
    /// first pause in the network.
    pub port_paused_s: Vec<f64>,
}

impl Samples {
    /// The rows that `read` has not seen.
    pub(crate) fn new(scenario: &Scenario, run: &Simulated, read: &mut Read) -> Self {
        let names = new_flows(scenario, run, read);
        let recorder = run.simulation().probe();
        let queues = &recorder.queue_samples[read.queues..];
        let windows = &recorder.windows[read.windows..];
        (read.queues, read.windows) = (recorder.queue_samples.len(), recorder.windows.len());
        let network = run.simulation().network();
        let counters: Vec<_> = network.ports().map(|port| network.counters(port)).collect();
        Self {
            queue_time_s: of(queues, |row| row.at.as_secs_lossy()),
            queue_port: of(queues, |row| row.port.index() as u32),
            queue_packets: of(queues, |row: &QueueSample| row.packets),
            queue_bytes: of(queues, |row| row.bytes.count() as f64),
            window_time_s: of(windows, |row| row.at.as_secs_lossy()),
            window_flow: of(windows, |row: &WindowSample| read.numbers[row.flow.index()]),
            window_bytes: of(windows, |row| number(row.state.cwnd.map(Bytes::count))),
            rate_bit_s: of(windows, |row| {
                number(row.state.rate.map(Rate::bits_per_second))
            }),
            flow_names: crate::json(&names),
            port_bytes: of(&counters, |port| port.accepted_bytes as f64),
            port_marks: of(&counters, |port| port.marked as f64),
            port_drops: of(&counters, |port| port.dropped as f64),
            port_paused_s: paused_s(run, counters.len()),
        }
    }
}

fn of<R, V>(rows: &[R], value: impl Fn(&R) -> V) -> Vec<V> {
    rows.iter().map(value).collect()
}

fn paused_s(run: &Simulated, ports: usize) -> Vec<f64> {
    let rows = run.simulation().network().pause_table(run.now());
    let mut longest = Vec::new();
    for row in rows {
        let paused = row.received.paused_for.as_secs_lossy();
        if paused > 0.0 {
            longest.resize(ports, 0.0);
            longest[row.port.index()] = f64::max(longest[row.port.index()], paused);
        }
    }
    longest
}

fn number(value: Option<u64>) -> f64 {
    value.map_or(f64::NAN, |value| value as f64)
}

/// The names of flows that have been opened since the last look.
fn new_flows(scenario: &Scenario, run: &Simulated, read: &mut Read) -> Vec<String> {
    let opened = run.opened(read.flows);
    let mut names = Vec::with_capacity(opened.len());
    for note in opened {
        set_number(&mut read.numbers, note.flow, read.flows as u32);
        read.flows += 1;
        let (group, _) = &scenario.tables().flows[note.group];
        names.push(format!("{group}:{}", note.index));
    }
    names
}

fn set_number(numbers: &mut Vec<u32>, flow: FlowIndex, number: u32) {
    if numbers.len() <= flow.index() {
        numbers.resize(flow.index() + 1, u32::MAX);
    }
    numbers[flow.index()] = number;
}
