//! The totals of a run.

use incastle_engine::core::SwitchIndex;
use incastle_engine::network::Network;
use incastle_units::Bytes;

use crate::output::Totals;
use crate::record::Record;
use crate::record::flows::Repair;

/// The totals of a run.
pub(crate) fn totals(record: &Record<'_>) -> Totals {
    let Record {
        now,
        interval,
        counted,
        network,
        flows,
        transfers,
        ..
    } = record;
    let met = |is: bool| {
        let outcomes = transfers.iter().filter_map(|one| one.met(*now));
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
        lost_on_wire: counted.lost_on_wire,
        corrupted: counted.corrupted,
        marks: counted.marks,
        cnms: counted.cnms_sent,
        flows: flows.len() as u64,
        max_memory_bytes: max_stored(network),
        transfers: transfers
            .iter()
            .filter(|one| one.completed.is_some())
            .count() as u64,
        met_deadlines: met(true),
        missed_deadlines: met(false),
        ..Totals::default()
    };
    assert!(totals.transfers <= transfers.len() as u64);
    assert!(
        totals.met_deadlines + totals.missed_deadlines <= transfers.len() as u64,
        "a deadline is met or missed"
    );
    for row in network.pause_table(*now) {
        totals.headroom_drops += row.headroom_drops;
        totals.pauses += row.received.pauses;
    }
    assert!(
        totals.headroom_drops <= totals.drops,
        "packets that find headroom full are dropped"
    );
    for end in flows.ends() {
        totals.delivered_bytes += end.delivered;
        totals.send_buffer_drops += end.refused.messages;
        totals.fast_retransmits += end.tcp.fast_retransmits;
        let repair = Repair::of(end);
        totals.retransmissions += repair.retransmissions;
        totals.timeouts += repair.timeouts;
        totals.ecn_reductions += repair.ecn_reductions;
    }
    let marks: u64 = flows.rows().map(|row| row.record.marked).sum();
    assert!(
        marks <= totals.marks,
        "what is marked of flows is marked at ports"
    );
    let drops: u64 = flows.rows().map(|row| row.record.dropped).sum();
    assert!(
        drops <= totals.drops,
        "what is dropped of flows is dropped at ports"
    );
    totals
}

/// The maximum number of bytes that the shared memory of any switch stored at once.
fn max_stored(network: &Network) -> u64 {
    let switches = (0..network.switch_count()).map(SwitchIndex::from_index);
    let stored = switches.filter_map(|switch| network.max_stored(switch));
    stored.max().map_or(0, Bytes::count)
}
