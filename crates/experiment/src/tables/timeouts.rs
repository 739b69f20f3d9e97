//! The table `timeouts`: each retransmission timeout, the losses before it, and its cost.

use std::collections::BTreeMap;
use std::sync::Arc;

use incastle_recorder::Timeout;
use incastle_transport::tcp::TimeoutKind;

use super::columns::{real, table, text, whole};
use super::ports::names;
use crate::output::Table;
use crate::record::Record;
use crate::record::timeouts::Row;

/// One row per timeout.
pub(super) fn timeouts(record: &Record<'_>) -> Option<Table> {
    let rows = record.timeouts.as_ref()?.rows();
    let (flows, rounds) = (&record.flows, record.rounds.as_ref());
    let timeout = |row: &Row| -> &Timeout { &record.recorder.timeouts[row.place] };
    let row = |row: &Row| flows.row(timeout(row).flow);
    let kinds: BTreeMap<&str, Arc<str>> = TimeoutKind::ALL
        .map(|kind| (kind.word(), Arc::from(kind.word())))
        .into();
    let number = |row: &Row| {
        let round = rounds.zip(row.round);
        round.map_or(f64::NAN, |(rounds, place)| rounds.number(place) as f64)
    };
    let names = names(record);
    let nowhere: Arc<str> = Arc::from("");
    let port = |row: &Row| {
        let port = row.cause.port;
        Arc::clone(port.map_or(&nowhere, |port| &names[port.index()]))
    };
    let report = |row: &Row| timeout(row).report;
    let mut columns = vec![
        ("time_s", real(rows, |row| timeout(row).at.as_secs_lossy())),
        ("flow", whole(rows, |row| flows.number(timeout(row).flow))),
        ("group", text(rows, |one| Arc::clone(row(one).group))),
        ("index", whole(rows, |one| row(one).note.index)),
        ("host", text(rows, |one| row(one).host(timeout(one).side))),
        ("round", real(rows, number)),
        (
            "kind",
            text(rows, |row| Arc::clone(&kinds[report(row).kind.word()])),
        ),
        ("port", text(rows, port)),
        ("lost_segments", whole(rows, |row| row.cause.dropped)),
        (
            "waited_s",
            real(rows, |row| report(row).waited.as_secs_lossy()),
        ),
        ("rto_s", real(rows, |row| report(row).rto.as_secs_lossy())),
    ];
    if record.idle.is_some() {
        let idle_s = |row: &Row| row.idle_s.unwrap_or(f64::NAN);
        columns.push(("idle_s", real(rows, idle_s)));
    }
    Some(table("timeouts", columns))
}
