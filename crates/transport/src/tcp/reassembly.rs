//! The data that a receiver holds beyond a gap, and the SACK blocks that report it (RFC 2018) or a
//! segment that arrived again (RFC 2883).
//! Leaves out: discarding data once reported: it never reneges.

use std::collections::VecDeque;

use incastle_recovery::{Interval, RangeSet};

use super::segment::{MAX_SACK_BLOCKS, SackBlock};
use super::sequence::wire;

/// An interval as it is written on the wire.
fn block(interval: Interval) -> SackBlock {
    SackBlock {
        start: wire(interval.start),
        end: wire(interval.end),
    }
}

/// Data above the next expected byte.
#[derive(Debug, Clone, Default)]
pub(super) struct Reassembly {
    held: RangeSet,
    /// One number inside each block to report, the most recently changed block first.
    recent: Vec<u64>,
    /// Segments or parts of them that arrived again, to be reported once each.
    duplicates: VecDeque<SackBlock>,
    /// The blocks of the last ACK, as on the wire.
    blocks: Vec<SackBlock>,
}

impl Reassembly {
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// The number of bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.held.covered(0, u64::MAX)
    }

    /// Holds `start..end`; false if all of it was held already.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> bool {
        let new = self.held.insert(start, end) > 0;
        if let Some(block) = self.held.containing(start) {
            // RFC 2018, section 4: the first block holds the segment that triggered the ACK, the
            // following ones repeat the most recently reported.
            self.recent
                .retain(|seq| !(block.start..block.end).contains(seq));
            self.recent.insert(0, start);
            self.recent.truncate(MAX_SACK_BLOCKS);
        }
        new
    }

    /// Everything below `next` has arrived: returns the new next expected byte and forgets the data
    /// below it.
    pub(super) fn advance(&mut self, next: u64) -> u64 {
        let next = self.held.containing(next).map_or(next, |block| block.end);
        self.held.remove_below(next);
        self.recent.retain(|seq| *seq >= next);
        assert!(
            self.held
                .intervals()
                .first()
                .is_none_or(|first| first.start > next),
            "what is held lies beyond a gap"
        );
        next
    }

    /// The first part of `start..end` that is held.
    pub(super) fn first_within(&self, start: u64, end: u64) -> Option<Interval> {
        let mut held = self.held.intervals().iter();
        let first = held.find(|block| block.end > start)?;
        let part = Interval {
            start: first.start.max(start),
            end: first.end.min(end),
        };
        (part.start < part.end).then_some(part)
    }

    /// A segment arrived again, or this part of it.
    pub(super) fn report_duplicate(&mut self, repeated: Option<Interval>) {
        self.duplicates.extend(repeated.map(block));
    }

    /// Takes the duplicate that the next ACK reports.
    pub(super) fn take_duplicate(&mut self) -> Option<SackBlock> {
        self.duplicates.pop_front()
    }

    /// Composes the blocks of an ACK, with the duplicate that it reports; gives their number.
    pub(super) fn compose(&mut self, duplicate: Option<SackBlock>) -> u8 {
        self.blocks.clear();
        // RFC 2883, section 4: the first block, in one ACK; then the block that holds it, if any.
        self.blocks.extend(duplicate);
        for seq in &self.recent {
            self.blocks.extend(self.held.containing(*seq).map(block));
        }
        self.blocks.truncate(MAX_SACK_BLOCKS);
        self.blocks.len() as u8
    }

    /// The blocks composed last.
    pub(super) fn blocks(&self) -> &[SackBlock] {
        &self.blocks
    }
}
