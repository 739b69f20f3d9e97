//! The kinds of timeouts, and the report of one.
//!
//! The kinds are those of studies of incast (Phanishayee et al. 2008; block head and block tail
//! timeouts: Zhang et al. 2011). Here each has a definition in the sender's own variables, and every
//! timeout is of exactly one kind; docs/models/barrier-incast.md has them in full. The sender cannot
//! distinguish lost data from lost or late ACKs, nor a loss from data that its NIC still holds. Leaves
//! out: zero-window probes, which time nothing out.

use std::collections::VecDeque;

use incastle_units::{Span, Time};

use super::sequence::{offset, wire};

/// Why nothing but the timer could help. The first that applies:
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TimeoutKind {
    /// The segment at SND.UNA was sent more than once: after an earlier timeout, or by the current
    /// recovery. Its retransmission was lost or is not yet acknowledged. NewReno's timer is not
    /// restarted by later partial ACKs, so a recovery from many losses can outlast it.
    LostRetransmission,
    /// Everything that there was to send was sent, and fewer than three segments lay beyond the
    /// one at SND.UNA: three duplicate ACKs were impossible. The tail of a block.
    LastPacket,
    /// No outstanding data were reported as arrived. No duplicate ACK has come since SND.UNA last
    /// moved, and with SACK nothing above it is reported. (Without SACK, data that arrived before
    /// SND.UNA moved are not recorded: the end of a recovery can look like this too.)
    FullWindow,
    /// Data above SND.UNA have arrived, but the segment was not retransmitted. There were too few
    /// duplicate ACKs, or ones disregarded (NewReno without timestamps, exactly at *recover*), or
    /// the NIC has held the retransmission back.
    FewDuplicates,
}

impl TimeoutKind {
    /// All kinds, in the order in which they are decided.
    pub const ALL: [Self; 4] = [
        Self::LostRetransmission,
        Self::LastPacket,
        Self::FullWindow,
        Self::FewDuplicates,
    ];

    /// Its name in result tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::LostRetransmission => "lost-retransmission",
            Self::LastPacket => "last-packet",
            Self::FullWindow => "full-window",
            Self::FewDuplicates => "few-duplicates",
        }
    }
}

/// One retransmission timeout, as the sender saw it just before it reacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeoutReport {
    /// The kind of timeout.
    pub kind: TimeoutKind,
    /// SND.UNA, as an offset from the first data byte; 0 for a SYN.
    pub una: u64,
    /// SND.MAX, the first sequence number never sent, likewise; 0 for a SYN.
    pub max: u64,
    /// When the segment at SND.UNA was sent last, where it was sent more than once.
    pub head_repeated: Option<Time>,
    /// Duplicate ACKs since SND.UNA last moved or the timer last fired.
    pub dup_acks: u32,
    /// Timeouts since SND.UNA last moved, without this one.
    pub backoff: u32,
    /// The time without progress: since the last new ACK, the first transmission after everything
    /// was acknowledged, or the last timeout, whichever came last. So the waits of one sender never
    /// overlap.
    pub waited: Span,
    /// The timeout in force, with back-off, without the random lengthening. Shorter than `waited` if
    /// that is in use; longer if the last new ACK did not restart NewReno's timer.
    pub rto: Span,
}

impl TimeoutReport {
    /// The sequence number on the wire of the first byte that is missing.
    pub const fn seq(&self) -> u32 {
        wire(self.una)
    }

    /// The offset of a wire's sequence number, if that lay in the outstanding data.
    pub fn outstanding(&self, seq: u32) -> Option<u64> {
        let place = offset(seq, self.una);
        (place >= self.una && place < self.max).then_some(place)
    }
}

/// A retransmission.
#[derive(Debug, Clone, Copy)]
struct Repeat {
    /// The segment's first octet.
    seq: u64,
    at: Time,
}

/// The retransmissions of data that are not acknowledged yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Repeats(VecDeque<Repeat>);

impl Repeats {
    /// The segment that begins at `seq` has been sent again; everything below `una` is acknowledged.
    pub(super) fn enter(&mut self, seq: u64, una: u64, now: Time) {
        while self.0.front().is_some_and(|first| first.seq < una) {
            self.0.pop_front();
        }
        self.0.push_back(Repeat { seq, at: now });
    }

    /// When the segment that begins there was last sent again.
    pub(super) fn last(&self, seq: u64) -> Option<Time> {
        let last = self.0.iter().rev().find(|repeat| repeat.seq == seq);
        last.map(|repeat| repeat.at)
    }
}
