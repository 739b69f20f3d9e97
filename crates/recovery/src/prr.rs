//! Proportional rate reduction (RFC 9937): how much a sender may send for each acknowledgement of a
//! recovery, so that the window shrinks evenly to the controller's.
//!
//! An episode may also follow a mark, as in Linux. Leaves out: when it begins and ends.

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

    /// The cells of a row of a figure, below the numbers of its ACKs.
    fn cells<'a>(figure: &'a str, name: &str) -> Vec<&'a str> {
        let row = |name: &str| {
            let mut rows = figure.lines().map(str::trim_start);
            rows.find(|row| row.starts_with(name)).expect("a row")
        };
        let ends = row("a").match_indices(char::is_numeric);
        let ends: Vec<usize> = ends.map(|(at, _)| at + 1).collect();
        let is_last = |at: &usize| !ends.contains(&(at + 1));
        let ends: Vec<usize> = ends.iter().copied().filter(is_last).collect();
        let starts = [1].into_iter().chain(ends.iter().copied());
        let cell = |(start, end): (usize, &usize)| row(name).get(start..*end).unwrap_or("").trim();
        starts.zip(&ends).map(cell).collect()
    }

    /// Compares an episode with the ACKs of a figure of RFC 9937, section 8, from the third on. There 22 segments are
    /// outstanding, three of them reported and `lost` lost; ssthresh is 10. A segment counts as one octet.
    fn assert_figure(figure: &str, lost: u64) {
        let [windows, inflights, sent] = ["c", "i", "s"].map(|name| cells(figure, name));
        let mut prr = Prr::new(22 - 3 + 1);
        let mut inflight = 22 - 3 - lost;
        for ack in 2..windows.len() {
            prr.on_ack(Acknowledged {
                delivered: 1,
                inflight,
                ssthresh: 10,
                safe: false,
                mss: 1,
            });
            let segments = prr.cwnd() - inflight;
            let row = (prr.cwnd().to_string(), inflight.to_string(), segments);
            let sends = u64::from(!sent[ack].is_empty());
            let expected = (windows[ack].into(), inflights[ack].into(), sends);
            assert_eq!(row, expected, "column {ack}");
            prr.on_sent(segments);
            inflight = inflight + segments - 1;
        }
    }

    /// Figure 1, PRR, without the last ACK, which ends the recovery. The figure sends with ACK 19 what leaves with ACK
    /// 20 here: it takes the proportional part where inflight equals ssthresh, which the pseudocode of section 6.2
    /// leaves to the reduction bound.
    #[test]
    fn a_single_loss() {
        assert_figure(
            "a X  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21
             c   20 20 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 10 10 10
             i   19 19 18 18 17 17 16 16 15 15 14 14 13 13 12 12 11 11 10  9  9
             s    N  N  R     N     N     N     N     N     N     N        N  N",
            1,
        );
    }

    /// Figure 2, PRR: the first 15 segments are lost. The columns of the lost segments are left out.
    #[test]
    fn a_burst_of_losses() {
        assert_figure(
            "a X 15 16 17 18 19
             c   20 20  5  5  5
             i   19 19  4  4  4
             s    N  N  R  R  R",
            15,
        );
    }

    #[test]
    fn in_octets_a_segment_waits_until_all_of_it_is_allowed() {
        // As in figure 1: 20 segments, the first is lost: ssthresh = 10. The first ACK is the fast retransmit.
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
