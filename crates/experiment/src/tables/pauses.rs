//! The table `pauses`, of each port and priority that was paused, or that paused its peer.

use std::sync::Arc;

use incastle_engine::network::PortPauses;

use incastle_scenario::lossless;

use super::columns::{real, table, text, whole};
use super::ports::names;
use crate::output::Table;
use crate::record::Record;

/// Of the whole run; no table without priorities.
pub(super) fn pauses(record: &Record<'_>) -> Option<Table> {
    let mut switches = record.scenario.switches().into_iter();
    if !switches.any(lossless::has_priorities) {
        return None;
    }
    let rows = &record.network.pause_table(record.now);
    let names = names(record);
    let count = |of: fn(&PortPauses) -> u64| whole(rows, of);
    let seconds = |of: fn(&PortPauses) -> f64| real(rows, of);
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
                seconds(|row| row.received.paused_for.as_secs_lossy()),
            ),
            (
                "longest_s",
                seconds(|row| row.received.longest.as_secs_lossy()),
            ),
            ("pause_frames", count(|row| row.received.pause_frames)),
            ("resume_frames", count(|row| row.received.resume_frames)),
            ("pauses_sent", count(|row| row.sent.pauses)),
            ("refreshes_sent", count(|row| row.sent.refreshes)),
            ("resumes_sent", count(|row| row.sent.resumes)),
            ("headroom_drops", count(|row| row.headroom_drops)),
            ("storms", count(|row| row.storms.storms)),
            (
                "storm_s",
                seconds(|row| row.storms.storm_time.as_secs_lossy()),
            ),
            ("storm_drops", count(|row| row.storm_drops)),
        ],
    ))
}
