//! Result tables from a finished simulation: names and columns as docs/scenario-language.md has them.
//!
//! Flows are numbered by group, in the order of the scenario, then by their index in the group.

mod captures;
mod events;
mod flows;
mod idle;
mod ports;
mod qcn;
mod rounds;
mod timeouts;
mod transfers;
mod udt;

use std::sync::Arc;

use incastle_engine::{Network, SwitchIndex};
use incastle_units::{Bytes, Time};

use crate::notes::Unfinished;
use crate::output::{Column, Output, Table, Totals};
use crate::overseer::Overseer;
use crate::record::{Finished, Interval, Passed};
use crate::silence::full_packets;
use incastle_scenario::Scenario;
use incastle_scenario::language::measure::Sampling;
use incastle_scenario::language::selection::Name;
use incastle_workload::{Notes, TransferNote};

pub(crate) use captures::captured_ports;
use flows::{Flows, Repair, windows};
use idle::Idle;
use ports::{Ports, goodput};
use rounds::Rounds;
use timeouts::Timeouts;
use transfers::transfers;

/// What tables ask of a run besides its records.
struct Run<'a> {
    scenario: &'a Scenario,
    interrupted: bool,
    overseer: &'a dyn Overseer,
    now: Time,
}

/// Makes totals and tables. The overseer may stop what still has to be computed.
pub(crate) fn output(
    (scenario, overseer): (&Scenario, &dyn Overseer),
    passed: Passed,
    (finished, notes): (Finished, Notes),
) -> Output {
    let Passed {
        interval,
        accepted,
        interrupted,
        met_limit,
    } = passed;
    let Finished {
        digest,
        now,
        counted,
        network,
        mut recorder,
        flows: records,
    } = finished;
    let sent = std::mem::take(&mut recorder.sent);
    let flows = Flows::new(scenario, &network, records, (notes.flows, &notes.transfers));
    let unfinished = Unfinished {
        scenario,
        now,
        met_limit,
        interrupted,
        transfers: &notes.transfers,
    };
    let unfinished = unfinished.notes(|one| flows.row(one.flow).has_lost());
    let interval = Interval {
        from: interval.from.min(now),
        to: interval.to.min(now),
    };
    let totals = totals((counted, now, interval), &network, &flows, &notes.transfers);
    let run = Run {
        scenario,
        interrupted,
        overseer,
        now,
    };
    let (of_transfers, no_ideals) = transfers(&run, &flows, &notes.transfers);
    let mut tables = vec![totals.table(), flows.table(now), of_transfers];
    let ports = Ports {
        network: &network,
        layout: scenario.layout(),
        recorder: &recorder,
        interval,
        now,
    };
    tables.extend([ports.histograms(), ports.links(&accepted)]);
    if scenario.tables().measure.goodput {
        tables.push(goodput(&ports));
    }
    let rounds = Rounds::new(scenario, &flows, &notes.transfers);
    let mut of_rounds = rounds.as_ref().map(|rounds| rounds.table(scenario));
    let of_timeouts = scenario.tables().measure.timeouts.then(|| {
        let rounds = (rounds.as_ref(), of_rounds.as_mut());
        timeouts(scenario, &flows, &ports, rounds)
    });
    tables.extend(of_rounds.into_iter().chain(of_timeouts));
    tables.extend(udt::connections(&flows));
    tables.extend(asked(scenario, &flows, &ports));
    let captures = match &scenario.tables().measure.pcap {
        Sampling::On(capture) => captures::captures(scenario, capture, (&network, &flows), sent),
        Sampling::Off => Vec::new(),
    };
    Output {
        digest: format!("{digest:016x}"),
        interrupted,
        totals,
        wall_s: 0.0,
        notes: unfinished.into_iter().chain(no_ideals).collect(),
        tables,
        captures,
    }
}

/// The tables that `[measure]` asks for.
fn asked(scenario: &Scenario, flows: &Flows, ports: &Ports<'_>) -> Vec<Table> {
    let (measure, recorder) = (&scenario.tables().measure, ports.recorder);
    let mut tables = Vec::new();
    if matches!(measure.queue, Sampling::On(_)) {
        tables.push(ports.samples());
    }
    if matches!(measure.buffer_occupancy, Sampling::On(_)) {
        tables.push(ports.memory());
    }
    if let Sampling::On(window) = &measure.window {
        let chosen = |name: &Name| window.flows.contains(name);
        tables.push(windows(recorder, flows, chosen));
    }
    if let Sampling::On(throughput) = &measure.throughput {
        let chosen = |name: &Name| throughput.flows.contains(name);
        tables.push(flows.throughput(recorder, throughput.every.as_secs_lossy(), chosen));
    }
    if let Sampling::On(dcudp) = &measure.dcudp {
        let chosen = |name: &Name| dcudp.flows.contains(name);
        tables.extend(udt::of_dcudp(scenario, (recorder, flows), chosen));
    }
    if let Sampling::On(events) = &measure.qcn {
        tables.push(qcn::rates(recorder, flows, events));
        tables.push(qcn::cnms(ports, flows, events));
    }
    if matches!(measure.events, Sampling::On(_)) {
        tables.push(events::events(&recorder.record, flows, ports));
    }
    tables
}

/// The table of timeouts; `rounds` gets what they did to each.
fn timeouts(
    scenario: &Scenario,
    flows: &Flows,
    ports: &Ports<'_>,
    (rounds, table_of_rounds): (Option<&Rounds>, Option<&mut Table>),
) -> Table {
    let recorder = ports.recorder;
    let measured = scenario.tables().measure.receiver_idle;
    let idle = measured.then(|| Idle::of_hosts(&full_packets(scenario), &recorder.silences));
    let idle = idle.as_deref();
    let timeouts = Timeouts::new(recorder, flows, rounds, idle);
    if let (Some(rounds), Some(table)) = (rounds, table_of_rounds) {
        rounds.add_timeouts(table, &timeouts);
        if let Some(idle) = idle {
            rounds.add_idle(table, (flows, idle), ports.now);
        }
    }
    timeouts.table(flows, rounds, ports)
}

fn seconds(at: Option<Time>) -> f64 {
    at.map_or(f64::NAN, Time::as_secs_lossy)
}

fn table(name: &str, columns: Vec<(&str, Column)>) -> Table {
    Table {
        name: name.to_owned(),
        columns: columns
            .into_iter()
            .map(|(name, column)| (name.to_owned(), column))
            .collect(),
    }
}

/// A column of whole numbers, of numbers, of texts, from rows.
fn whole<R>(rows: &[R], value: impl Fn(&R) -> u64) -> Column {
    Column::U64(rows.iter().map(value).collect())
}

fn real<R>(rows: &[R], value: impl Fn(&R) -> f64) -> Column {
    Column::F64(rows.iter().map(value).collect())
}

fn text<R>(rows: &[R], value: impl Fn(&R) -> Arc<str>) -> Column {
    Column::Text(rows.iter().map(value).collect())
}

fn totals(
    (counted, now, interval): (incastle_engine::Totals, Time, Interval),
    network: &Network,
    flows: &Flows,
    transfers: &[TransferNote],
) -> Totals {
    let met = |is: bool| {
        let outcomes = transfers.iter().filter_map(|one| one.met(now));
        outcomes.filter(|met| *met == is).count() as u64
    };
    let mut totals = Totals {
        simulated_s: now.as_secs_lossy(),
        measured_from_s: interval.from.as_secs_lossy(),
        measured_to_s: interval.to.as_secs_lossy(),
        packet_hops: counted.packet_hops,
        data_packets: counted.data_packets,
        events: counted.events,
        drops: counted.drops,
        failure_drops: counted.failure_drops,
        marks: counted.marks,
        cnms: counted.cnms_sent,
        flows: flows.len() as u64,
        max_memory_bytes: most_stored(network),
        transfers: transfers
            .iter()
            .filter(|one| one.completed.is_some())
            .count() as u64,
        met_deadlines: met(true),
        missed_deadlines: met(false),
        ..Totals::default()
    };
    for end in flows.ends() {
        totals.delivered_bytes += end.delivered;
        totals.send_buffer_drops += end.refused.messages;
        totals.fast_retransmits += end.tcp.fast_retransmits;
        let repair = Repair::of(end);
        totals.retransmissions += repair.retransmissions;
        totals.timeouts += repair.timeouts;
        totals.ecn_reductions += repair.ecn_reductions;
    }
    totals
}

/// The most bytes that the shared memory of any switch stored at once.
fn most_stored(network: &Network) -> u64 {
    let switches = (0..network.switch_count()).map(SwitchIndex::from_index);
    let most = switches.filter_map(|switch| network.most_stored(switch));
    most.max().map_or(0, Bytes::count)
}

/// The names of the groups, to be shared by their rows.
fn group_names(scenario: &Scenario) -> Vec<Arc<str>> {
    let groups = scenario.tables().flows.iter();
    groups.map(|(name, _)| name.as_str().into()).collect()
}
