//! The table `transfers`: flow completion times, and slowdowns where `[measure] slowdown` asks.
//!
//! An FCT ends when the last byte, in order, reaches the receiver's application.

use std::sync::Arc;

use incastle_units::Span;

use super::flows::Flows;
use super::{Run, real, seconds, table, text, whole};
use crate::ideal::{Ideals, Wanted, slowdown};
use crate::notes::Note;
use crate::output::{Column, Table};
use incastle_workload::{TransferKind, TransferNote};

/// The table, and what went wrong with the ideal FCTs.
pub(super) fn transfers(
    run: &Run<'_>,
    flows: &Flows,
    rows: &[TransferNote],
) -> (Table, Option<Note>) {
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
    if !run.scenario.tables().measure.slowdown {
        return (table, None);
    }
    let (ideals, failure) = ideals(run, flows, rows);
    let seconds = ideals
        .iter()
        .map(|ideal| ideal.map_or(f64::NAN, Span::as_secs_lossy));
    let slowdowns = rows.iter().zip(&ideals).map(|(row, ideal)| {
        let known = row.fct().zip(*ideal);
        known.map_or(f64::NAN, |(fct, ideal)| slowdown(fct, ideal))
    });
    let columns = [
        ("ideal_fct_s", Column::F64(seconds.collect())),
        ("slowdown", Column::F64(slowdowns.collect())),
    ];
    let columns = columns.map(|(name, column)| (name.to_owned(), column));
    table.columns.extend(columns);
    (table, failure)
}

/// The ideal FCT of each transfer; none from the first on whose ideal could not be found.
fn ideals(
    run: &Run<'_>,
    flows: &Flows,
    rows: &[TransferNote],
) -> (Vec<Option<Span>>, Option<Note>) {
    let mut ideals = Ideals::new(run.scenario);
    let mut times = vec![None; rows.len()];
    if run.interrupted || !run.overseer.goes_on(run.now) {
        return (times, None);
    }
    for (time, row) in times.iter_mut().zip(rows) {
        let flow = flows.row(row.flow);
        let found = ideals.time(&Wanted {
            group: row.group,
            kind: row.kind,
            hosts: (flow.sender_host().index(), flow.receiver_host().index()),
            bytes: row.bytes,
        });
        // A controller that fails while alone ends the overseer's patience, and its time is void.
        let goes_on = run.overseer.goes_on(run.now);
        match found {
            Ok(found) if goes_on => *time = found,
            failed => {
                let failure = Note::NoIdeals {
                    group: flow.group.to_string(),
                    index: row.index,
                    bytes: row.bytes,
                    hosts: (
                        flow.sender_name().to_string(),
                        flow.receiver_name().to_string(),
                    ),
                    why: failed.err().map(|error| error.to_string()),
                };
                return (times, Some(failure));
            }
        }
    }
    (times, None)
}
