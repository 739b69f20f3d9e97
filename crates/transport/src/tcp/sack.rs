//! The sender's scoreboard and the functions of RFC 6675, section 4: Update, IsLost, SetPipe,
//! NextSeg. Ranges instead of octets; every function costs a few steps per hole.
//!
//! Leaves out: reneging (our receivers never discard reported data, so that the scoreboard is kept
//! over a timeout, as section 5.1 discusses), duplicate SACK.

use incastle_recovery::{Gap, Interval, RangeSet};

use super::segment::SackBlock;
use super::sequence::offset;

/// DupThresh.
pub(super) const DUP_THRESH: u32 = 3;

/// The octets that the receiver reported, and the progress of recovery. Offsets are exclusive ends;
/// the RFC has the highest octet.
#[derive(Debug, Clone, Default)]
pub(super) struct Scoreboard {
    sacked: RangeSet,
    /// HighRxt.
    high_rxt: u64,
    /// RescueRxt; absent while undefined.
    rescue_rxt: Option<u64>,
    /// The segment of the last rescue.
    rescued: Interval,
    /// Octets estimated to be in the network.
    pipe: u64,
}

/// The result of NextSeg.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextSeg {
    /// Retransmit a lost segment (rule 1).
    Lost(Interval),
    /// Retransmit a segment that is not yet known to be lost (rule 3).
    Unknown(Interval),
    /// Retransmit the last outstanding octets (rule 4).
    Rescue(Interval),
}

/// The holes that may be retransmitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holes {
    /// Those that are lost (rule 1).
    Lost,
    /// Others too (rule 3).
    Any,
}

impl Scoreboard {
    /// Update: takes in the blocks of an ACK; gives the number of newly reported octets.
    pub(super) fn update(&mut self, blocks: &[SackBlock], una: u64, max: u64) -> u64 {
        let mut new = 0;
        for block in blocks {
            // A block outside of the outstanding data is an old one.
            let start = offset(block.start, una).max(una);
            let end = offset(block.end, una).min(max);
            if start > una {
                new += self.sacked.insert(start, end);
            }
        }
        new
    }

    /// The cumulative acknowledgement moved to `una`.
    pub(super) fn advance(&mut self, una: u64) {
        self.sacked.remove_below(una);
        // Only a receiver that reneged leaves a reported octet right at the acknowledgement.
        if let Some(block) = self.sacked.containing(una) {
            self.sacked.remove_below(block.end);
        }
    }

    /// Octets between `from` and `to` that were reported.
    pub(super) fn covered(&self, from: u64, to: u64) -> u64 {
        self.sacked.covered(from, to)
    }

    /// The first gap in the reports at or after `from`.
    pub(super) fn gap_after(&self, from: u64) -> Gap {
        self.sacked.gap_after(from)
    }

    /// IsLost holds for every unreported octet below this offset and for none above. Above it lie
    /// DupThresh separate reports, or more than (DupThresh - 1) segments of reported octets.
    pub(super) fn lost_below(&self, mss: u16) -> u64 {
        let enough = u64::from(DUP_THRESH - 1) * u64::from(mss);
        let mut octets = 0;
        for (count, block) in (1..).zip(self.sacked.intervals().iter().rev()) {
            let Interval { start, end } = *block;
            octets += end - start;
            if count >= DUP_THRESH || octets > enough {
                return start;
            }
        }
        0
    }

    /// Unreported octets that IsLost names.
    pub(super) fn lost_octets(&self, una: u64, mss: u16) -> u64 {
        let below = self.lost_below(mss).max(una);
        below - una - self.sacked.covered(una, below)
    }

    /// SetPipe.
    pub(super) fn set_pipe(&mut self, una: u64, max: u64, mss: u16) {
        // (a) octets neither reported nor lost, (b) octets retransmitted.
        let lost_below = self.lost_below(mss).max(una);
        let waiting = max - lost_below - self.sacked.covered(lost_below, max);
        let high_rxt = self.high_rxt.max(una);
        let again = high_rxt - una - self.sacked.covered(una, high_rxt);
        self.pipe = waiting + again;
        assert!(
            self.pipe <= 2 * (max - una),
            "each octet is in the network twice at most"
        );
    }

    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// A segment left: step C.4 of section 5.
    pub(super) fn add_to_pipe(&mut self, octets: u64) {
        self.pipe += octets;
    }

    /// Step 4.3 of section 5: recovery starts with the retransmission of `una..end`.
    pub(super) fn start(&mut self, end: u64) {
        self.high_rxt = end;
        self.rescue_rxt = Some(end);
    }

    /// Whether a recovery, since the last timeout, has repeated the hole at `una`. It may repeat
    /// segments beyond its recovery point: the result outlasts it.
    pub(super) fn was_repeated(&self, una: u64) -> bool {
        let Interval { start, end } = self.rescued;
        una < self.high_rxt || (start..end).contains(&una)
    }

    /// Rules 1 and 3 of NextSeg.
    pub(super) fn next_hole(&self, una: u64, mss: u16, holes: Holes) -> Option<NextSeg> {
        let highest = self.sacked.highest()?;
        let Gap { start, end } = self.sacked.gap_after(self.high_rxt.max(una));
        let end = end?.min(start + u64::from(mss));
        if start >= highest {
            return None;
        }
        let hole = Interval { start, end };
        if start < self.lost_below(mss) {
            Some(NextSeg::Lost(hole))
        } else {
            (holes == Holes::Any).then_some(NextSeg::Unknown(hole))
        }
    }

    /// Rule 4 of NextSeg: at most once per recovery, the highest outstanding unreported octets.
    pub(super) fn rescue(&self, una: u64, max: u64, mss: u16) -> Option<NextSeg> {
        if self.rescue_rxt.is_some_and(|rescue| una <= rescue) {
            return None;
        }
        let above = self.sacked.highest().unwrap_or(una).max(una);
        let (start, end) = if above < max {
            (above, max)
        } else {
            let intervals = self.sacked.intervals();
            let last = intervals.last()?;
            let before = intervals.iter().rev().nth(1).map_or(una, |i| i.end);
            (before, last.start)
        };
        let start = start.max(end.saturating_sub(u64::from(mss)));
        (start < end).then_some(NextSeg::Rescue(Interval { start, end }))
    }

    /// A retransmission left: steps C.2 of section 5, and of rule 4.
    pub(super) fn retransmitted(&mut self, segment: NextSeg, recovery_point: u64) {
        match segment {
            NextSeg::Lost(hole) | NextSeg::Unknown(hole) => {
                assert!(self.high_rxt < hole.end, "a recovery repeats a hole once");
                self.high_rxt = hole.end;
            }
            NextSeg::Rescue(tail) => {
                self.rescue_rxt = Some(recovery_point);
                self.rescued = tail;
            }
        }
    }

    /// A timeout: nothing counts as retransmitted any more.
    pub(super) fn forget_retransmissions(&mut self) {
        self.high_rxt = 0;
        self.rescue_rxt = None;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::sequence::wire;
    use super::*;

    const MSS: u16 = 3;

    /// The scoreboard of RFC 6675, octet by octet, as the RFC writes it. HighRxt is exclusive.
    struct Octets {
        sacked: BTreeSet<u64>,
        una: u64,
        max: u64,
        high_rxt: u64,
    }

    impl Octets {
        fn is_lost(&self, seq: u64) -> bool {
            let above: Vec<u64> = self.sacked.range(seq + 1..).copied().collect();
            let starts = above.iter().filter(|s| !self.sacked.contains(&(*s - 1)));
            starts.count() as u32 >= DUP_THRESH
                || above.len() as u64 > u64::from(DUP_THRESH - 1) * u64::from(MSS)
        }

        fn pipe(&self) -> u64 {
            (self.una..self.max)
                .filter(|seq| !self.sacked.contains(seq))
                .map(|seq| u64::from(!self.is_lost(seq)) + u64::from(seq < self.high_rxt))
                .sum()
        }

        /// Rules 1 and 3: the smallest unreported octet above HighRxt and below the highest
        /// reported one.
        fn hole(&self) -> Option<(u64, bool)> {
            let highest = *self.sacked.last()?;
            (self.high_rxt.max(self.una)..highest)
                .find(|seq| !self.sacked.contains(seq))
                .map(|seq| (seq, self.is_lost(seq)))
        }
    }

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock {
            start: wire(start),
            end: wire(end),
        }
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_set(
            una in 0_u64..20,
            flight in 1_u64..60,
            blocks in prop::collection::vec((0_u64..80, 1_u64..8), 0..12),
            steps in (0_u64..30, 0_u64..70),
        ) {
            let max = una + flight;
            let mut board = Scoreboard::default();
            let mut octets = Octets { sacked: BTreeSet::new(), una, max, high_rxt: 0 };
            for (start, len) in blocks {
                // A receiver reports nothing at or below the acknowledgement.
                let (start, end) = (start.max(una + 1), (start + len).min(max));
                let before = octets.sacked.len();
                octets.sacked.extend(start..end.max(start));
                let new = board.update(&[block(start, end.max(start))], una, max);
                prop_assert_eq!(new, (octets.sacked.len() - before) as u64);
            }
            let high_rxt = una + steps.1.min(flight);
            board.start(high_rxt);
            octets.high_rxt = high_rxt;
            check(&mut board, &octets)?;
            // The acknowledgement moves on to some unreported octet.
            let una = (una + steps.0.min(flight)..200)
                .find(|seq| !octets.sacked.contains(seq))
                .expect("the set is finite");
            board.advance(una);
            octets.una = una;
            octets.sacked.retain(|seq| *seq > una);
            check(&mut board, &octets)?;
        }
    }

    fn check(board: &mut Scoreboard, octets: &Octets) -> Result<(), TestCaseError> {
        let Octets { una, max, .. } = *octets;
        let below = board.lost_below(MSS);
        for seq in (una..max).filter(|seq| !octets.sacked.contains(seq)) {
            prop_assert_eq!(seq < below, octets.is_lost(seq));
        }
        let lost = (una..max).filter(|s| !octets.sacked.contains(s) && octets.is_lost(*s));
        prop_assert_eq!(board.lost_octets(una, MSS), lost.count() as u64);
        board.set_pipe(una, max, MSS);
        prop_assert_eq!(board.pipe(), octets.pipe());
        let found = match (
            board.next_hole(una, MSS, Holes::Lost),
            board.next_hole(una, MSS, Holes::Any),
        ) {
            (Some(NextSeg::Lost(hole)), _) => Some((hole.start, true)),
            (None, Some(NextSeg::Unknown(hole))) => Some((hole.start, false)),
            _ => None,
        };
        prop_assert_eq!(found, octets.hole());
        Ok(())
    }

    #[test]
    fn a_retransmission_ends_at_the_next_report() {
        let mut board = Scoreboard::default();
        board.update(&[block(1002, 4000), block(5000, 6000)], 1000, 9000);
        let hole = Interval {
            start: 1000,
            end: 1002,
        };
        let next = board.next_hole(1000, 1000, Holes::Lost);
        assert_eq!(next, Some(NextSeg::Lost(hole)));
    }

    #[test]
    fn the_rescue_comes_once_and_holds_the_highest_octets() {
        let mut board = Scoreboard::default();
        board.update(&[block(1000, 4000)], 0, 5500);
        board.start(1000);
        assert_eq!(board.rescue(1000, 5500, 1000), None);
        board.advance(4000);
        let tail = NextSeg::Rescue(Interval {
            start: 4500,
            end: 5500,
        });
        assert_eq!(board.rescue(4000, 5500, 1000), Some(tail));
        board.retransmitted(tail, 5500);
        assert_eq!(board.rescue(4000, 5500, 1000), None);
    }

    #[test]
    fn late_reports_change_nothing() {
        let mut board = Scoreboard::default();
        assert_eq!(board.update(&[block(2000, 3000)], 1000, 9000), 1000);
        board.advance(4000);
        assert_eq!(board.update(&[block(2000, 3000)], 4000, 9000), 0);
        assert_eq!(board.update(&[block(4000, 5000)], 4000, 9000), 0);
        assert_eq!(board.update(&[block(9000, 9500)], 4000, 9000), 0);
        let (start, end) = (4000, None);
        assert_eq!(board.gap_after(4000), Gap { start, end });
    }
}
