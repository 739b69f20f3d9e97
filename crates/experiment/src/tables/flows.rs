//! The tables by flow: `flows`, `windows`, `throughput`.

use std::sync::Arc;

use incastle_recorder::WindowSample;
use incastle_scenario::language::measure::Sampling;
use incastle_scenario::language::selection::Name;
use incastle_units::{Bytes, Span};
use incastle_workload::FlowNote;

use super::columns::{real, seconds, table, text, whole};
use crate::output::{Column, Table};
use crate::record::Record;

/// One row per flow.
pub(super) fn flows(record: &Record<'_>) -> Table {
    let flows = &record.flows;
    let rows = flows.notes();
    let row = |note: &FlowNote| flows.row(note.flow);
    table(
        "flows",
        vec![
            ("flow", whole(rows, |note| flows.number(note.flow))),
            ("group", text(rows, |note| Arc::clone(row(note).group))),
            ("index", whole(rows, |note| note.index)),
            ("from", text(rows, |note| row(note).sender_name())),
            ("to", text(rows, |note| row(note).receiver_name())),
            ("started_s", real(rows, |note| note.started.as_secs_lossy())),
            (
                "completed_s",
                real(rows, |note| seconds(row(note).completed)),
            ),
            (
                "sent_bytes",
                whole(rows, |note| row(note).sender().payload_sent),
            ),
            (
                "delivered_bytes",
                whole(rows, |note| row(note).receiver().delivered),
            ),
            (
                "goodput_bit_s",
                real(rows, |note| row(note).goodput(record.now)),
            ),
            ("packets", whole(rows, |note| row(note).packets())),
            (
                "retransmissions",
                whole(rows, |note| row(note).repair().retransmissions),
            ),
            ("timeouts", whole(rows, |note| row(note).repair().timeouts)),
            (
                "fast_retransmits",
                whole(rows, |note| row(note).sender().tcp.fast_retransmits),
            ),
            ("marks", whole(rows, |note| row(note).record.marked)),
            ("drops", whole(rows, |note| row(note).record.dropped)),
            (
                "ecn_reductions",
                whole(rows, |note| row(note).repair().ecn_reductions),
            ),
            ("cnms", whole(rows, |note| row(note).record.cnms)),
            (
                "send_buffer_drops",
                whole(rows, |note| row(note).sender().refused.messages),
            ),
        ],
    )
}

/// The data that chosen flows delivered, in each bin with arrivals.
pub(super) fn throughput(record: &Record<'_>) -> Option<Table> {
    let Sampling::On(sampled) = &record.measure().throughput else {
        return None;
    };
    let every_s = sampled.every.as_secs_lossy();
    let flows = &record.flows;
    let (mut times, mut numbers, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
    for note in flows.notes() {
        let Some(series) = record.recorder.flows.get(note.flow.index()) else {
            continue;
        };
        let row = flows.row(note.flow);
        if !sampled.flows.contains(&row.name()) {
            continue;
        }
        for bin in series.bins() {
            times.push(bin.index as f64 * every_s);
            numbers.push(flows.number(row.note.flow));
            bytes.push(bin.bytes.delivered);
        }
    }
    Some(table(
        "throughput",
        vec![
            ("time_s", Column::F64(times)),
            ("flow", Column::U64(numbers)),
            ("bytes", Column::U64(bytes)),
        ],
    ))
}

/// The control state of watched flows.
pub(super) fn windows(record: &Record<'_>) -> Option<Table> {
    let Sampling::On(sampled) = &record.measure().window else {
        return None;
    };
    let flows = &record.flows;
    let chosen = |name: &Name| sampled.flows.contains(name);
    let samples = &record.recorder.windows;
    let rows: Vec<&WindowSample> = flows.chosen(samples, |row| row.flow, chosen);
    let rows = &rows;
    let bytes = |value: Option<Bytes>| value.map_or(f64::NAN, |bytes| bytes.count() as f64);
    Some(table(
        "windows",
        vec![
            ("time_s", real(rows, |row| row.at.as_secs_lossy())),
            ("flow", whole(rows, |row| flows.number(row.flow))),
            ("cwnd_bytes", real(rows, |row| bytes(row.state.cwnd))),
            (
                "ssthresh_bytes",
                real(rows, |row| bytes(row.state.ssthresh)),
            ),
            (
                "alpha",
                real(rows, |row| row.state.alpha.unwrap_or(f64::NAN)),
            ),
            (
                "rtt_s",
                real(rows, |row| row.rtt.map_or(f64::NAN, Span::as_secs_lossy)),
            ),
        ],
    ))
}
