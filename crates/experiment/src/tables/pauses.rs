//! The table `pauses`, of each port and priority that was paused, or that paused its peer; and `pause_record`.

use std::sync::Arc;

use incastle_engine::network::{EgressQueue, PortPauses};
use incastle_queueing::{PauseRoot, RootedPause, rooted_pauses};

use incastle_scenario::lossless;

use super::columns::{real, seconds, table, text, whole};
use super::ports::names;
use crate::output::Table;
use crate::record::Record;

type Pause = RootedPause<EgressQueue>;

/// The pauses of the whole run; no table without priorities.
pub(super) fn pauses(record: &Record<'_>) -> Option<Table> {
    let mut switches = record.scenario.switches().into_iter();
    if !switches.any(lossless::has_priorities) {
        return None;
    }
    let rows = &record.network.pause_table(record.now);
    let names = names(record);
    let count = |of: fn(&PortPauses) -> u64| whole(rows, of);
    let time = |of: fn(&PortPauses) -> f64| real(rows, of);
    Some(table(
        "pauses",
        vec![
            (
                "port",
                text(rows, |row| Arc::clone(&names[row.port.index()])),
            ),
            ("priority", count(|row| u64::from(row.priority.number()))),
            ("pauses", count(|row| row.received.pauses)),
            ("expired", count(|row| row.received.expired)),
            (
                "paused_s",
                time(|row| row.received.paused_for.as_secs_lossy()),
            ),
            (
                "longest_s",
                time(|row| row.received.longest.as_secs_lossy()),
            ),
            ("pause_frames", count(|row| row.received.pause_frames)),
            ("resume_frames", count(|row| row.received.resume_frames)),
            ("pauses_sent", count(|row| row.sent.pauses)),
            ("refreshes_sent", count(|row| row.sent.refreshes)),
            ("resumes_sent", count(|row| row.sent.resumes)),
            ("headroom_drops", count(|row| row.headroom_drops)),
            ("storms", count(|row| row.storms.storms)),
            ("storm_s", time(|row| row.storms.storm_time.as_secs_lossy())),
            ("storm_drops", count(|row| row.storm_drops)),
        ],
    ))
}

/// Every pause with its root, under `[measure] pauses`; a row for each root.
pub(super) fn pause_record(record: &Record<'_>) -> Option<Table> {
    if !record.measure().pauses {
        return None;
    }
    let rows = &rooted_pauses(record.network.recorded_pauses());
    let names = names(record);
    let name = |queue: &EgressQueue| Arc::clone(&names[queue.port.index()]);
    let unknown: Arc<str> = Arc::from("");
    let of_root = |row: &Pause, of: fn(&PauseRoot<EgressQueue>) -> EgressQueue| {
        let root = row.root.as_ref();
        root.map_or_else(|| Arc::clone(&unknown), |root| name(&of(root)))
    };
    Some(table(
        "pause_record",
        vec![
            ("pause", whole(rows, |row| row.pause as u64)),
            ("port", text(rows, |row| name(&row.queue))),
            (
                "priority",
                whole(rows, |row| u64::from(row.queue.priority.number())),
            ),
            ("begin_s", real(rows, |row| row.begin.as_secs_lossy())),
            ("end_s", real(rows, |row| seconds(row.end))),
            (
                "congested_port",
                text(rows, |row| of_root(row, |root| root.congested)),
            ),
            (
                "root_port",
                text(rows, |row| of_root(row, |root| root.root)),
            ),
            (
                "depth",
                whole(rows, |row| {
                    row.root.as_ref().map_or(0, |root| u64::from(root.depth))
                }),
            ),
        ],
    ))
}
