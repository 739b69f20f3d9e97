//! The segments that leave in recovery and after a timeout: go-back-N (RFC 6298), fast retransmits (RFC 5681,
//! 6582) and the recovery with SACK (RFC 6675). Leaves out: loss detection by time, which is in `rack_tlp`.

use incastle_congestion::LimitedBy;

use super::{Chunk, Sender};
use crate::tcp::config::Recovery;
use crate::tcp::io::{Io, SendWindow};
use crate::tcp::sack::Holes;

impl Sender {
    /// Go-back-N after a timeout, around data reported as received.
    #[inline(never)]
    pub(super) fn poll_go_back(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let max = self.space.max();
        let mut limit = max;
        if let Some(scoreboard) = self.recovery.scoreboard() {
            let gap = scoreboard.gap_after(self.space.nxt());
            self.space.skip_to(gap.start);
            limit = gap.end.unwrap_or(max).min(max);
            if self.space.nxt() == max {
                return self.poll_new_aside(io);
            }
        }
        let nxt = self.space.nxt();
        let end = limit.min(nxt + u64::from(io.config.mss));
        let SendWindow { cwnd, limited_by } = io.window();
        if self.recovery.outstanding(&self.space) + (end - nxt) > cwnd {
            self.stream.limit.set(limited_by);
            return None;
        }
        Some(self.chunk(nxt, end))
    }

    #[inline(never)]
    pub(super) fn poll_recovery(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        if let Some(end) = self.recovery.take_head(&self.space, io.config.mss) {
            return Some(self.chunk(self.space.una(), end));
        }
        if io.config.recovery == Recovery::Sack {
            self.poll_sack(io)
        } else {
            self.poll_new_aside(io)
        }
    }

    /// Step C of RFC 6675, section 5.
    fn poll_sack(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let mss = io.config.mss;
        let max = self.space.max();
        let SendWindow { cwnd, limited_by } = io.window();
        let scoreboard = self.recovery.scoreboard_mut()?;
        if cwnd < scoreboard.pipe() + u64::from(mss) {
            self.stream.limit.set(limited_by);
            return None;
        }
        // NextSeg, rules 1 to 4.
        let lost = scoreboard.next_hole(self.space.una(), mss, Holes::Lost);
        let unsent = self.stream.payload_from(max, mss);
        let new = max < self.stream.end() && self.space.room_from(max) >= unsent;
        if lost.is_none() && new {
            scoreboard.add_to_pipe(unsent.max(1));
            return Some(self.chunk(max, max + unsent));
        }
        let next = lost.or_else(|| self.recovery.unmarked_segment(&self.space, mss));
        let Some(segment) = next else {
            self.stream.limit.set(LimitedBy::Application);
            return None;
        };
        let octets = self.recovery.retransmit(segment, &self.space);
        Some(self.chunk(octets.start, octets.end))
    }

    /// As [`Self::poll_new`], in recovery or after a timeout.
    #[inline(never)]
    fn poll_new_aside(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        self.poll_new(io)
    }
}
