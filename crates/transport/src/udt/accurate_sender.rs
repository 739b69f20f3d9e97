//! The sender's part of accurate ACKs: from UDT's events to those of a window controller. Simulation and sockets
//! share it, since it belongs to the connection.
//!
//! - **Marks.** The counts of an ACK give the packets that were marked since the last one. As many of the packets
//!   that are acknowledged cumulatively count as marked; a count that exceeds them waits for the next ones. An ACK
//!   of n packets, m of them marked, is two samples: n - m packets without an echo, then m with it. A fraction of
//!   marked data (RFC 8257, section 3.3) is exact at any rate of ACKs.
//! - **Losses.** UDT reports each NAK. A window controller reacts once per window of data: the first NAK begins a
//!   recovery, which ends when all data sent before it are acknowledged (RFC 6582, section 3.2). A timeout likewise
//!   (RFC 6582, section 3.2, step 4).
//! - **The packets in the network**, which the window limits: those sent, without those that arrived and those that
//!   are to be sent again, as pipe in RFC 6675. The counts have the arrivals beyond a gap, as SACK would.
//!
//! Leaves out: the inflation of the window by duplicate ACKs, which needs no NAK; undoing a reaction.

use incastle_congestion::Phase;

use super::in_flight::Acked;
use super::wire::AckCounts;

/// The phase of loss recovery, until all packets before `until` are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    Open,
    Fast { until: u64 },
    AfterTimeout { until: u64 },
}

/// The news of an accurate ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccurateNews {
    /// Packets that were marked since the newest ACK before it.
    pub(super) ce: u32,
    arrived: u64,
    counts: AckCounts,
}

/// An acknowledgement in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) clear: Acked,
    pub(super) marked: Acked,
}

/// An endpoint's knowledge of its peer's counts. Packets are counted from 0.
#[derive(Debug, Clone)]
pub(super) struct AccurateSender {
    counts: AckCounts,
    /// Packets that arrived.
    arrived: u64,
    /// Marked packets that are not yet part of an acknowledgement.
    owed: u64,
    recovery: Recovery,
}

impl AccurateSender {
    pub(super) fn new() -> Self {
        Self {
            counts: AckCounts {
                arrived: 0,
                ce: 0,
                ect: 0,
                lost: 0,
            },
            arrived: 0,
            owed: 0,
            recovery: Recovery::Open,
        }
    }

    /// The peer's newest counts.
    pub(super) const fn counts(&self) -> AckCounts {
        self.counts
    }

    /// Whether packets arrived, and none with ECT or a mark: the path clears the field.
    pub(super) const fn is_bleached(&self) -> bool {
        self.arrived > 0 && self.counts.ce == 0 && self.counts.ect == 0
    }

    /// Checks counts against the packets sent; absent where no receiver of them could have counted so. Older counts
    /// have no news.
    pub(super) fn check(&self, counts: AckCounts, nxt: u64) -> Option<AccurateNews> {
        let ahead = |now: u32, before: u32| now.wrapping_sub(before);
        let arrived = ahead(counts.arrived, self.counts.arrived).cast_signed();
        if arrived <= 0 {
            return Some(AccurateNews {
                ce: 0,
                arrived: self.arrived,
                counts: self.counts,
            });
        }
        let new = arrived.unsigned_abs();
        let ce = ahead(counts.ce, self.counts.ce);
        let ect = ahead(counts.ect, self.counts.ect);
        let arrived = self.arrived + u64::from(new);
        let possible = arrived <= nxt && u64::from(ce) + u64::from(ect) <= u64::from(new);
        possible.then_some(AccurateNews {
            ce,
            arrived,
            counts,
        })
    }

    /// Takes checked counts, and the packets that their ACK acknowledges, before `una` now.
    pub(super) fn on_ack(&mut self, news: AccurateNews, acked: Acked, una: u64) -> Parts {
        assert!(news.arrived >= self.arrived, "an arrival is not taken back");
        self.arrived = news.arrived;
        self.counts = news.counts;
        self.owed += u64::from(news.ce);
        let marked = self.owed.min(u64::from(acked.packets));
        // Marked packets that are acknowledged later have arrived beyond a gap. With a peer that drops messages the
        // rest belongs to no packet.
        self.owed = (self.owed - marked).min(self.arrived.saturating_sub(una));
        self.settle(una);
        split(acked, marked as u32)
    }

    fn settle(&mut self, una: u64) {
        let (Recovery::Fast { until } | Recovery::AfterTimeout { until }) = self.recovery else {
            return;
        };
        if una >= until {
            self.recovery = Recovery::Open;
        }
    }

    /// Packets up to `largest` are lost; whether the controller must react. `nxt` leaves next.
    pub(super) fn on_loss(&mut self, largest: u64, una: u64, nxt: u64) -> bool {
        self.settle(una);
        match self.recovery {
            Recovery::Fast { until } | Recovery::AfterTimeout { until } if largest < until => false,
            _ => {
                self.recovery = Recovery::Fast { until: nxt };
                true
            }
        }
    }

    /// EXP has expired: everything before `nxt` may be lost.
    pub(super) fn on_timeout(&mut self, nxt: u64) {
        self.recovery = Recovery::AfterTimeout { until: nxt };
    }

    pub(super) const fn phase(&self) -> Phase {
        match self.recovery {
            Recovery::Open => Phase::Open,
            Recovery::Fast { .. } => Phase::Recovery,
            Recovery::AfterTimeout { .. } => Phase::AfterTimeout,
        }
    }

    /// Packets in the network: of `una..nxt`, with `lost` to be sent again. After a timeout everything was taken for
    /// lost, arrivals beyond a gap included.
    pub(super) fn in_network(&self, una: u64, nxt: u64, lost: u64) -> u64 {
        let arrived = match self.recovery {
            Recovery::AfterTimeout { .. } => una,
            Recovery::Open | Recovery::Fast { .. } => self.arrived.clamp(una, nxt),
        };
        (nxt - arrived).saturating_sub(lost)
    }
}

/// The part of an acknowledgement that is marked, and the rest; of the bytes in proportion.
fn split(acked: Acked, marked: u32) -> Parts {
    assert!(marked <= acked.packets, "a part is no larger");
    let packets = u64::from(acked.packets.max(1));
    let bytes = acked.bytes / packets * u64::from(marked)
        + acked.bytes % packets * u64::from(marked) / packets;
    Parts {
        clear: Acked {
            packets: acked.packets - marked,
            bytes: acked.bytes - bytes,
        },
        marked: Acked {
            packets: marked,
            bytes,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(arrived: u32, ce: u32) -> AckCounts {
        AckCounts {
            arrived,
            ce,
            ect: arrived - ce,
            lost: 0,
        }
    }

    fn acked(packets: u32) -> Acked {
        Acked {
            packets,
            bytes: u64::from(packets) * 1000,
        }
    }

    fn ack(sender: &mut AccurateSender, of: AckCounts, packets: u32, una: u64) -> (u32, u32) {
        let news = sender.check(of, 100).expect("possible counts");
        let parts = sender.on_ack(news, acked(packets), una);
        (parts.clear.packets, parts.marked.packets)
    }

    #[test]
    fn marks_beyond_a_gap_belong_to_the_packets_that_are_acknowledged_after_it() {
        let mut sender = AccurateSender::new();
        assert_eq!(ack(&mut sender, counts(4, 1), 4, 4), (3, 1));
        // Packet 4 is missing; 5, 6 and 7 arrived, two of them marked.
        assert_eq!(ack(&mut sender, counts(7, 3), 0, 4), (0, 0));
        assert_eq!(ack(&mut sender, counts(8, 3), 4, 8), (2, 2));
        assert_eq!(ack(&mut sender, counts(9, 3), 1, 9), (1, 0));
    }

    #[test]
    fn older_counts_have_no_news_and_impossible_ones_are_refused() {
        let mut sender = AccurateSender::new();
        ack(&mut sender, counts(10, 2), 10, 10);
        assert_eq!(ack(&mut sender, counts(9, 1), 0, 10), (0, 0));
        assert_eq!(sender.counts(), counts(10, 2));
        // 100 packets were sent.
        assert_eq!(sender.check(counts(101, 2), 100), None);
        // Three marks of two packets.
        assert_eq!(sender.check(counts(12, 5), 100), None);
        // One mark, and two packets without one.
        let more = AckCounts {
            ect: 10,
            ..counts(12, 3)
        };
        assert_eq!(sender.check(more, 100), None);
    }

    #[test]
    fn counts_wrap() {
        let mut sender = AccurateSender::new();
        sender.counts = AckCounts {
            arrived: u32::MAX,
            ce: u32::MAX,
            ect: 7,
            lost: 0,
        };
        sender.arrived = 50;
        let next = AckCounts {
            arrived: 1,
            ce: 1,
            ..sender.counts
        };
        let news = sender.check(next, 100).expect("possible counts");
        assert_eq!((news.ce, news.arrived), (2, 52));
    }

    #[test]
    fn one_window_of_data_has_one_reaction() {
        let mut sender = AccurateSender::new();
        assert!(sender.on_loss(3, 2, 20));
        assert_eq!(sender.phase(), Phase::Recovery);
        assert!(!sender.on_loss(9, 2, 25));
        // Sent after the reaction.
        assert!(sender.on_loss(22, 2, 25));
        assert!(!sender.on_loss(24, 20, 30));
        ack(&mut sender, counts(25, 0), 23, 25);
        assert_eq!(sender.phase(), Phase::Open);
        sender.on_timeout(40);
        assert!(!sender.on_loss(39, 30, 45));
        assert_eq!(sender.phase(), Phase::AfterTimeout);
    }

    #[test]
    fn arrivals_beyond_a_gap_leave_the_network() {
        let mut sender = AccurateSender::new();
        ack(&mut sender, counts(10, 0), 4, 4);
        // 4..30 are outstanding, six of them arrived, two wait to be sent again.
        assert_eq!(sender.in_network(4, 30, 2), 18);
        sender.on_timeout(30);
        assert_eq!(sender.in_network(4, 30, 26), 0);
        assert_eq!(sender.in_network(4, 30, 25), 1);
    }
}
