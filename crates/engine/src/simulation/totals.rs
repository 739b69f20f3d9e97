//! The totals of a run.

use incastle_queueing::{DropCause, Verdict};

/// The totals of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Packets of any kind fully received over a link.
    pub packet_hops: u64,
    /// Packets with application data received by hosts.
    pub data_packets: u64,
    /// Events of ports, hosts and endpoints, departures processed without an event included, without those of applications,
    /// changes of links and samples: with several partitions each has some of these.
    pub events: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Those of the drops that failed links caused.
    pub failure_drops: u64,
    /// Those of the drops that were packets lost on the wire.
    pub lost_on_wire: u64,
    /// Those of the drops that were packets corrupted on the wire.
    pub corrupted: u64,
    /// Congestion notifications sent by switches.
    pub cnms_sent: u64,
    /// Those of them that reached a host.
    pub cnms_received: u64,
    /// Those of them that were dropped.
    pub cnms_dropped: u64,
}

impl Totals {
    /// Counts a drop or a mark at a port.
    #[inline]
    pub(super) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => self.marks += 1,
            Verdict::Drop(cause) => {
                self.drops += 1;
                self.failure_drops += u64::from(cause == DropCause::LinkDown);
                self.lost_on_wire += u64::from(cause == DropCause::LostOnWire);
                self.corrupted += u64::from(cause == DropCause::Corrupted);
            }
        }
    }

    /// The sum of two partitions.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            packet_hops: self.packet_hops + other.packet_hops,
            data_packets: self.data_packets + other.data_packets,
            events: self.events + other.events,
            drops: self.drops + other.drops,
            marks: self.marks + other.marks,
            failure_drops: self.failure_drops + other.failure_drops,
            lost_on_wire: self.lost_on_wire + other.lost_on_wire,
            corrupted: self.corrupted + other.corrupted,
            cnms_sent: self.cnms_sent + other.cnms_sent,
            cnms_received: self.cnms_received + other.cnms_received,
            cnms_dropped: self.cnms_dropped + other.cnms_dropped,
        }
    }
}
