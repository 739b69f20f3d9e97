//! The table `rounds`: the result of each request to several servers.

use std::sync::Arc;

use super::columns::{real, seconds, table, text, whole};
use crate::output::{Column, Table};
use crate::record::Record;
use crate::record::rounds::Round;

/// One row per round; no table without rounds.
pub(super) fn rounds(record: &Record<'_>) -> Option<Table> {
    let rounds = record.rounds.as_ref()?;
    let (rows, groups) = (rounds.rows(), record.flows.groups());
    let mut columns = vec![
        ("group", text(rows, |row| Arc::clone(&groups[row.group]))),
        ("index", whole(rows, |row| row.client)),
        ("round", whole(rows, |row| row.number)),
        ("started_s", real(rows, |row| row.started.as_secs_lossy())),
        ("completed_s", real(rows, |row| seconds(row.completed))),
        ("bytes", whole(rows, |row| row.bytes)),
        ("goodput_bit_s", real(rows, Round::goodput)),
        ("deadline_s", real(rows, |row| seconds(row.deadline))),
    ];
    if let Some(timeouts) = &record.timeouts {
        // The number of timeouts in each round.
        columns.push(("timeouts", Column::U64(timeouts.by_round(rows.len()))));
    }
    if let Some(idle) = &record.idle {
        // The idle time of the client's link until the end of each round, or of the run.
        let idle_s = |round: &Round| {
            let Some(host) = rounds.client_host(round, &record.flows) else {
                return f64::NAN;
            };
            let end = round.completed.unwrap_or(record.now);
            idle[host.index()]
                .between(round.started, end)
                .as_secs_lossy()
        };
        columns.push(("idle_s", real(rows, idle_s)));
    }
    Some(table("rounds", columns))
}
