//! Proportional rate reduction (RFC 9937): how much a sender may send for each acknowledgement of a
//! recovery, so that the window shrinks evenly to the controller's.
//!
//! Leaves out: reductions on ECN, which set the window at once.

/// An acknowledgement of a recovery. Octets.
#[derive(Debug, Clone, Copy)]
pub struct Acknowledged {
    /// DeliveredData.
    pub delivered: u64,
    /// inflight: the pipe after the acknowledgement.
    pub inflight: u64,
    /// The controller's window.
    pub ssthresh: u64,
    /// SafeACK: SND.UNA advances, and no further loss is found.
    pub safe: bool,
    /// A full segment.
    pub mss: u64,
}

/// One episode.
#[derive(Debug, Clone)]
pub struct Prr {
    delivered: u64,
    out: u64,
    recover_fs: u64,
    cwnd: u64,
}

impl Prr {
    /// RFC 9937, section 6.1: the beginning. RecoverFS is what was outstanding and not reported before
    /// the acknowledgement that begins it.
    pub fn new(recover_fs: u64) -> Self {
        assert!(recover_fs > 0, "what is lost was outstanding");
        Self {
            delivered: 0,
            out: 0,
            recover_fs,
            cwnd: 0,
        }
    }

    /// The window of the recovery.
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// RFC 9937, section 6.3: octets left.
    pub fn on_sent(&mut self, octets: u64) {
        self.out += octets;
    }

    /// RFC 9937, section 6.2: each acknowledgement that starts the recovery or belongs to it.
    pub fn on_ack(&mut self, ack: Acknowledged) {
        let Acknowledged {
            delivered,
            inflight,
            ssthresh,
            safe,
            mss,
        } = ack;
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let mut allowed = if inflight > ssthresh {
            // The proportional part.
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let out = share.div_ceil(u128::from(self.recover_fs));
            u64::try_from(out)
                .unwrap_or(u64::MAX)
                .saturating_sub(self.out)
        } else {
            // PRR-CRB; PRR-SSRB where the recovery makes progress.
            let bound = self.delivered.saturating_sub(self.out).max(delivered);
            (bound + if safe { mss } else { 0 }).min(ssthresh - inflight)
        };
        if self.out == 0 || inflight == 0 {
            // The fast retransmit is never held, here also where less than a segment is allowed. Nor is
            // a segment that no acknowledgement could release.
            allowed = allowed.max(mss);
        }
        self.cwnd = inflight.saturating_add(allowed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(inflight: u64, ssthresh: u64, safe: bool) -> Acknowledged {
        Acknowledged {
            delivered: MSS,
            inflight,
            ssthresh,
            safe,
            mss: MSS,
        }
    }

    #[test]
    fn halves_by_one_segment_for_two_acknowledgements() {
        // 20 segments, the first is lost: ssthresh = 10. The first ACK is the fast retransmit.
        let mut prr = Prr::new(20 * MSS);
        let mut inflight = 18 * MSS;
        let mut sent = Vec::new();
        for _ in 0..8 {
            prr.on_ack(ack(inflight, 10 * MSS, false));
            let segments = (prr.cwnd() - inflight) / MSS;
            prr.on_sent(segments * MSS);
            sent.push(segments);
            inflight += segments * MSS;
            inflight -= MSS;
        }
        // prr_delivered * 10 / 20 rounded up to octets: 500, 1000, 1500 ...
        assert_eq!(sent, [1, 0, 0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn many_losses_slow_start_up_to_the_threshold() {
        // 20 segments, 15 of them lost: the pipe is below ssthresh = 10.
        let mut prr = Prr::new(20 * MSS);
        // Conservative: as much as was delivered.
        prr.on_ack(ack(4 * MSS, 10 * MSS, false));
        assert_eq!(prr.cwnd(), 5 * MSS);
        prr.on_sent(MSS);
        // With progress: a segment more.
        prr.on_ack(ack(4 * MSS, 10 * MSS, true));
        assert_eq!(prr.cwnd(), 6 * MSS);
        prr.on_sent(2 * MSS);
        // Never above ssthresh.
        prr.on_ack(ack(9500, 10 * MSS, true));
        assert_eq!(prr.cwnd(), 10 * MSS);
    }

    #[test]
    fn an_acknowledgement_that_delivers_nothing_changes_nothing() {
        let mut prr = Prr::new(20 * MSS);
        prr.on_ack(ack(18 * MSS, 10 * MSS, false));
        let before = prr.cwnd();
        prr.on_ack(Acknowledged {
            delivered: 0,
            ..ack(5 * MSS, 10 * MSS, true)
        });
        assert_eq!(prr.cwnd(), before);
    }
}
