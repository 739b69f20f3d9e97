//! The tables `udt`, of every UDT and DCUDP flow, and `modes` and `dcudp_rates`, under `[measure] dcudp`.

use std::sync::Arc;

use incastle_congestion::TransmissionMode;
use incastle_engine::flow::UdtCounters;
use incastle_units::{Rate, Span};

use super::columns::{real, sampled, table, text, whole};
use crate::output::Table;
use crate::record::Record;
use crate::record::flows::FlowRow;
use incastle_scenario::language::selection::Name;

/// The counters of both endpoints of a connection.
struct Connection<'a> {
    flow: u64,
    sender: &'a UdtCounters,
    receiver: &'a UdtCounters,
}

/// One row per UDT or DCUDP flow; no table where there are none.
pub(super) fn udt(record: &Record<'_>) -> Option<Table> {
    let flows = &record.flows;
    let connection = |row: FlowRow<'_>| -> Option<(u64, UdtCounters, UdtCounters)> {
        let sender = **row.sender().udt.as_ref()?;
        let receiver = **row.receiver().udt.as_ref()?;
        Some((flows.number(row.note.flow), sender, receiver))
    };
    let counted: Vec<_> = flows.rows().filter_map(connection).collect();
    let rows = counted.iter().map(|(flow, sender, receiver)| Connection {
        flow: *flow,
        sender,
        receiver,
    });
    let rows: Vec<Connection<'_>> = rows.collect();
    (!rows.is_empty()).then(|| of_connections(&rows))
}

fn of_connections(rows: &[Connection<'_>]) -> Table {
    let sender = |of: fn(&UdtCounters) -> u64| whole(rows, |row| of(row.sender));
    let receiver = |of: fn(&UdtCounters) -> u64| whole(rows, |row| of(row.receiver));
    table(
        "udt",
        vec![
            ("flow", whole(rows, |row| row.flow)),
            (
                "packets_received",
                receiver(|end| end.stats.packets_received),
            ),
            (
                "duplicates_received",
                receiver(|end| end.stats.duplicates_received),
            ),
            ("ce_received", receiver(|end| end.stats.ce_received)),
            ("acks_sent", receiver(|end| end.stats.acks_sent)),
            ("light_acks_sent", receiver(|end| end.stats.light_acks_sent)),
            ("naks_sent", receiver(|end| end.stats.naks_sent)),
            ("acks_received", sender(|end| end.stats.acks_received)),
            ("ece_received", sender(|end| end.stats.ece_received)),
            ("naks_received", sender(|end| end.stats.naks_received)),
            ("congestion_modes", sender(|end| end.stats.congestion_modes)),
            ("changes_sent", sender(|end| end.stats.changes_sent)),
            (
                "congestion_s",
                real(rows, |row| row.sender.congested.as_secs_lossy()),
            ),
            (
                "failed",
                whole(rows, |row| {
                    u64::from(row.sender.failed || row.receiver.failed)
                }),
            ),
        ],
    )
}

/// The modes of chosen flows.
pub(super) fn dcudp_modes(record: &Record<'_>) -> Option<Table> {
    let sampled = sampled(&record.measure().dcudp)?;
    let (recorder, flows) = (&record.recorder, &record.flows);
    let chosen = |name: &Name| sampled.flows.contains(name);
    let [udp, congestion] = ["udp", "congestion"].map(Arc::<str>::from);
    let word = |mode| match mode {
        TransmissionMode::Udp => Arc::clone(&udp),
        TransmissionMode::Congestion => Arc::clone(&congestion),
    };
    let changes = flows.chosen(&recorder.modes, |row| row.flow, chosen);
    Some(table(
        "dcudp_modes",
        vec![
            ("time_s", real(&changes, |row| row.at.as_secs_lossy())),
            ("flow", whole(&changes, |row| flows.number(row.flow))),
            ("mode", text(&changes, |row| word(row.mode))),
        ],
    ))
}

/// The rates of chosen flows.
pub(super) fn dcudp_rates(record: &Record<'_>) -> Option<Table> {
    let sampled = sampled(&record.measure().dcudp)?;
    let (recorder, flows) = (&record.recorder, &record.flows);
    let chosen = |name: &Name| sampled.flows.contains(name);
    let samples = flows.chosen(&recorder.dcudp_rates, |row| row.flow, chosen);
    let groups = &record.scenario.tables().flows;
    let packets = |rate: Option<Rate>, flow| {
        let (_, group) = &groups[flows.row(flow).note.group];
        let payload = group.transport.payload().count() as f64;
        rate.map_or(f64::NAN, |rate| rate.bytes_per_second_lossy() / payload)
    };
    Some(table(
        "dcudp_rates",
        vec![
            ("time_s", real(&samples, |row| row.at.as_secs_lossy())),
            ("flow", whole(&samples, |row| flows.number(row.flow))),
            (
                "data_packets_s",
                real(&samples, |row| packets(row.state.rate, row.flow)),
            ),
            (
                "max_packets_s",
                real(&samples, |row| packets(row.state.max_rate, row.flow)),
            ),
            (
                "rtt_s",
                real(&samples, |row| {
                    row.rtt.map_or(f64::NAN, Span::as_secs_lossy)
                }),
            ),
        ],
    ))
}
