//! The table `queue_pairs`, of every RDMA flow.

use incastle_engine::flow::QueuePairCounters;
use incastle_rdma::Stats;

use super::columns::{table, whole};
use crate::output::Table;
use crate::record::Record;
use crate::record::flows::FlowRow;

/// The counters of both endpoints of a queue pair.
struct QueuePair {
    flow: u64,
    sender: QueuePairCounters,
    receiver: QueuePairCounters,
}

/// One row per RDMA flow; no table where there are none.
pub(super) fn queue_pairs(record: &Record<'_>) -> Option<Table> {
    let flows = &record.flows;
    let pair = |row: FlowRow<'_>| {
        Some(QueuePair {
            flow: flows.number(row.note.flow),
            sender: **row.sender().queue_pair.as_ref()?,
            receiver: **row.receiver().queue_pair.as_ref()?,
        })
    };
    let rows: Vec<QueuePair> = flows.rows().filter_map(pair).collect();
    if rows.is_empty() {
        return None;
    }
    let sender = |of: fn(&Stats) -> u64| whole(&rows, |row| of(&row.sender.stats));
    let receiver = |of: fn(&Stats) -> u64| whole(&rows, |row| of(&row.receiver.stats));
    Some(table(
        "queue_pairs",
        vec![
            ("flow", whole(&rows, |row| row.flow)),
            ("data_packets_sent", sender(|end| end.sent)),
            ("retransmitted_bytes", sender(|end| end.retransmitted_bytes)),
            ("acks_sent", receiver(|end| end.acks_sent)),
            ("naks_sent", receiver(|end| end.naks_sent)),
            ("cnps_sent", receiver(|end| end.cnps_sent)),
            ("notifications_received", sender(|end| end.notifications)),
            ("naks_received", sender(|end| end.naks_received)),
            // The receiver of a READ asks again.
            (
                "read_retries",
                whole(&rows, |row| {
                    row.sender.stats.read_retries + row.receiver.stats.read_retries
                }),
            ),
            ("out_of_sequence", receiver(|end| end.out_of_sequence)),
            ("duplicates", receiver(|end| end.duplicates)),
            (
                "failed",
                whole(&rows, |row| {
                    u64::from(row.sender.failed || row.receiver.failed)
                }),
            ),
        ],
    ))
}
