//! The table `transfers`: flow completion times, and slowdowns under `[measure] slowdown`.
//!
//! An FCT ends when the last byte, in order, reaches the receiver's application.

use std::sync::Arc;

use incastle_units::Span;

use super::columns::{real, seconds, table, text, whole};
use crate::ideal::slowdown;
use crate::output::{Column, Table};
use crate::record::Record;
use crate::record::ideals::IdealTimes;
use incastle_workload::{TransferKind, TransferNote};

/// One row per transfer.
pub(super) fn transfers(record: &Record<'_>) -> Table {
    let (flows, rows) = (&record.flows, &record.transfers);
    let groups = flows.groups();
    let kinds = TransferKind::ALL.map(|kind| Arc::<str>::from(kind.word()));
    let fct = |row: &TransferNote| row.fct().map_or(f64::NAN, Span::as_secs_lossy);
    let mut table = table(
        "transfers",
        vec![
            ("group", text(rows, |row| Arc::clone(&groups[row.group]))),
            ("index", whole(rows, |row| row.index)),
            (
                "kind",
                text(rows, |row| Arc::clone(&kinds[row.kind as usize])),
            ),
            ("flow", whole(rows, |row| flows.number(row.flow))),
            ("started_s", real(rows, |row| row.started.as_secs_lossy())),
            ("completed_s", real(rows, |row| seconds(row.completed))),
            ("fct_s", real(rows, fct)),
            ("bytes", whole(rows, |row| row.bytes)),
            ("deadline_s", real(rows, |row| seconds(row.deadline))),
        ],
    );
    let Some(IdealTimes { times: ideals, .. }) = &record.ideals else {
        return table;
    };
    assert_eq!(ideals.len(), rows.len(), "a transfer has an ideal, or none");
    let seconds = ideals
        .iter()
        .map(|ideal| ideal.map_or(f64::NAN, Span::as_secs_lossy));
    let slowdowns = rows.iter().zip(ideals).map(|(row, ideal)| {
        let known = row.fct().zip(*ideal);
        known.map_or(f64::NAN, |(fct, ideal)| slowdown(fct, ideal))
    });
    let columns = [
        ("ideal_fct_s", Column::F64(seconds.collect())),
        ("slowdown", Column::F64(slowdowns.collect())),
    ];
    let columns = columns.map(|(name, column)| (name.to_owned(), column));
    table.columns.extend(columns);
    table
}
