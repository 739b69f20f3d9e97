//! What acknowledgements and timeouts do to the sender: fast retransmit, the recoveries of Reno
//! (RFC 5681), NewReno (RFC 6582) and SACK (RFC 6675), go-back-N after a timeout (RFC 6298).
//!
//! The window that RFC 5681 and 6582 inflate is the controller's plus `inflation` here. Leaves out:
//! undoing a spurious timeout or recovery (RFC 3522, 5682), early retransmit (RFC 5827).

use incastle_congestion::{
    AckSample, CongestionEvent, Controller, Echo, LimitedBy, Phase, Reaction,
};
use incastle_units::{Bytes, Span, Time};

use super::config::Recovery;
use super::sack::DUP_THRESH;
use super::segment::SackBlock;
use super::sender::{Io, Sender, Timed};

/// What an arriving segment says to the sender half.
pub(super) struct AckInfo<'a> {
    /// The cumulative acknowledgement.
    pub(super) ack: u64,
    /// The window beyond it.
    pub(super) window: u64,
    pub(super) echo: Echo,
    /// The returned timestamp, or NEVER.
    pub(super) timestamp: Time,
    /// Whether the segment carries nothing but the acknowledgement.
    pub(super) pure: bool,
    pub(super) sacks: &'a [SackBlock],
}

impl Sender {
    /// Whether something is outstanding.
    #[inline]
    pub(super) fn awaits_ack(&self) -> bool {
        self.una < self.max
    }

    /// Takes in the window of an acknowledgement; gives whether its right edge moved. Old ones, and
    /// ones of something that was never sent, are ignored (RFC 9293, section 3.10.7.4).
    #[inline]
    pub(super) fn note_window(&mut self, ack: u64, window: u64) -> bool {
        let edge = ack + window;
        if edge <= self.edge || ack < self.una || ack > self.max {
            return false;
        }
        self.edge = edge;
        self.end_persist();
        true
    }

    /// An acknowledgement arrived while something is outstanding; gives whether it acknowledged
    /// something new.
    #[inline]
    pub(super) fn handle_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) -> bool {
        if info.ack < self.una || info.ack > self.max {
            return false;
        }
        let edge_moved = self.note_window(info.ack, info.window);
        io.stats.ece_received += u64::from(info.echo == Echo::Congestion);
        let reported = self.update_scoreboard(io, info);
        if info.ack > self.una {
            self.on_new_ack(io, info);
            return true;
        }
        // RFC 5681, section 2: the definition of a duplicate; RFC 6675, section 2: with SACK, one
        // that reports something new.
        let duplicate = if io.config.recovery == Recovery::Sack {
            reported
        } else {
            info.pure && !edge_moved
        };
        if duplicate {
            self.on_duplicate(io, info);
        } else if info.pure || info.echo == Echo::Congestion {
            self.tell(io, info.echo, 0, None, LimitedBy::Application);
        }
        false
    }

    /// Gives whether something new was reported.
    #[inline]
    fn update_scoreboard(&mut self, io: &Io<'_>, info: &AckInfo<'_>) -> bool {
        if info.sacks.is_empty() || io.config.recovery != Recovery::Sack {
            return false;
        }
        let (una, max) = (info.ack, self.max);
        let scoreboard = self.losses().scoreboard.get_or_insert_default();
        scoreboard.update(info.sacks, una, max) > 0
    }

    #[inline]
    fn on_new_ack(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        let acked = info.ack.min(self.written) - self.una.min(self.written);
        let octets = info.ack - self.una;
        let limited_by = self.limited_by;
        let rtt = self.round_trip(io, info);
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, &io.config.rto);
        }
        self.last_echo = info.timestamp;
        self.una = info.ack;
        self.nxt = self.nxt.max(info.ack);
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.timeouts = 0;
        if let Some(scoreboard) = self.scoreboard_mut() {
            scoreboard.advance(info.ack);
        }
        let mut restart = true;
        match self.phase {
            Phase::Open => {}
            Phase::AfterTimeout => {
                if self.recover().is_none_or(|recover| info.ack >= recover) {
                    self.phase = Phase::Open;
                }
            }
            Phase::Recovery => restart = self.advance_recovery(io, octets),
        }
        self.retime(io, restart);
        self.tell(io, info.echo, acked, rtt, limited_by);
    }

    /// RFC 6298, sections 5.2 and 5.3.
    #[inline]
    fn retime(&mut self, io: &mut Io<'_>, restart: bool) {
        if self.una == self.max {
            self.timer_at = Time::NEVER;
        } else if restart {
            self.arm(io);
        }
    }

    /// A round-trip sample: from the returned timestamp (RFC 7323, section 4.1), or from the timed
    /// segment.
    #[inline]
    fn round_trip(&mut self, io: &Io<'_>, info: &AckInfo<'_>) -> Option<Span> {
        if io.config.timestamps {
            let known = info.timestamp != Time::NEVER;
            return known.then(|| io.now.saturating_since(info.timestamp));
        }
        let (end, sent_at) = self.timed.segment()?;
        if info.ack < end {
            return None;
        }
        self.timed = Timed::NOTHING;
        Some(io.now - sent_at)
    }

    /// Reports the acknowledgement and its echo to the controller.
    #[inline]
    fn tell(
        &mut self,
        io: &mut Io<'_>,
        echo: Echo,
        acked: u64,
        rtt: Option<Span>,
        limited_by: LimitedBy,
    ) {
        let mss = u64::from(io.config.mss);
        let segments = if acked <= mss {
            1
        } else {
            acked.div_ceil(mss) as u32
        };
        let sample = AckSample {
            acked: Bytes::new(acked),
            segments,
            echo,
            rtt,
            limited_by,
            phase: self.phase,
        };
        let mut cx = self.context(io.now, io.rng);
        io.algorithm.on_ack(&mut cx, &sample);
        if echo == Echo::Congestion && self.report(io, CongestionEvent::Ecn) == Reaction::Reduced {
            io.stats.ecn_reductions += 1;
        }
    }

    /// A new acknowledgement during recovery; gives whether the timer starts anew.
    fn advance_recovery(&mut self, io: &Io<'_>, octets: u64) -> bool {
        let full = self.recover().is_none_or(|recover| self.una >= recover);
        if full || io.config.recovery == Recovery::Reno {
            // RFC 5681, section 3.2, step 6; RFC 6582, section 3.2, step 3, option 2.
            self.phase = Phase::Open;
            self.losses().inflation = 0;
            self.retransmit_head = false;
            return true;
        }
        let (una, max) = (self.una, self.max);
        if let Some(scoreboard) = self.scoreboard_mut() {
            scoreboard.set_pipe(una, max, io.config.mss);
            return true;
        }
        // RFC 6582, section 3.2, step 3, partial acknowledgement: retransmit the next hole, take
        // what left the network out of the window, and add one segment for the retransmission.
        let mss = i64::from(io.config.mss);
        let octets = octets.cast_signed();
        self.retransmit_head = true;
        let losses = self.losses();
        losses.inflation -= octets;
        if octets >= mss {
            losses.inflation += mss;
        }
        // The timer restarts at the first partial acknowledgement only ("impatient").
        std::mem::replace(&mut losses.partial_at, io.now) == Time::NEVER
    }

    fn on_duplicate(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        io.stats.duplicate_acks += 1;
        self.dup_acks = self.dup_acks.saturating_add(1);
        let limited_by = self.limited_by;
        match self.phase {
            Phase::Recovery => {
                let (una, max) = (self.una, self.max);
                let losses = self.losses();
                match &mut losses.scoreboard {
                    Some(scoreboard) => scoreboard.set_pipe(una, max, io.config.mss),
                    // RFC 5681, section 3.2, step 4: a segment has left the network.
                    None => losses.inflation += i64::from(io.config.mss),
                }
            }
            Phase::Open if self.must_recover(io, info) => {
                self.start_recovery(io, info);
                return;
            }
            Phase::Open | Phase::AfterTimeout => {}
        }
        self.tell(io, info.echo, 0, None, limited_by);
    }

    /// Whether the duplicates at hand mean a loss.
    fn must_recover(&self, io: &Io<'_>, info: &AckInfo<'_>) -> bool {
        let mss = io.config.mss;
        if io.config.recovery == Recovery::Sack {
            // RFC 6675, section 5, steps 1 and 2; section 5.1: after a timeout only once
            // everything sent before it is acknowledged, which ends that phase.
            let lost = |s: &super::sack::Scoreboard| s.lost_below(mss) > self.una;
            return self.dup_acks >= DUP_THRESH || self.scoreboard().is_some_and(lost);
        }
        if self.dup_acks != DUP_THRESH {
            return false;
        }
        if io.config.recovery == Recovery::Reno {
            // RFC 5681 lets each loss of a window begin a recovery of its own.
            return true;
        }
        // RFC 6582, section 3.2, step 2: duplicates that only answer our own retransmissions lie
        // at or below `recover`. Right at it, section 4.2 decides: a needless retransmission moves
        // the returned timestamp, a gap does not.
        let gap = io.config.timestamps && info.timestamp == self.last_echo;
        let recover = self.recover();
        recover.is_none_or(|recover| self.una > recover || gap)
    }

    /// RFC 5681, section 3.2, steps 2 and 3; RFC 6582, section 3.2, step 2; RFC 6675, section 5,
    /// step 4.
    fn start_recovery(&mut self, io: &mut Io<'_>, info: &AckInfo<'_>) {
        io.stats.fast_retransmits += 1;
        let limited_by = self.limited_by;
        self.phase = Phase::Recovery;
        self.retransmit_head = true;
        let max = self.max;
        let losses = self.losses();
        losses.recover = Some(max);
        losses.partial_at = Time::NEVER;
        losses.inflation = i64::from(DUP_THRESH) * i64::from(io.config.mss);
        let event = self.loss(io.config.mss);
        self.tell(io, info.echo, 0, None, limited_by);
        self.report(io, event);
        self.limited_sent = 0;
    }

    /// What is known to be lost: the first segment, and what the scoreboard tells.
    fn loss(&self, mss: u16) -> CongestionEvent {
        let size = u64::from(mss);
        let mut end = self.max.min(self.una + size);
        let mut octets = end - self.una;
        if let Some(scoreboard) = self.scoreboard() {
            end = end.max(scoreboard.lost_below(mss));
            octets = octets.max(scoreboard.lost_octets(self.una, mss));
        }
        CongestionEvent::Loss {
            count: octets.div_ceil(size) as u32,
            largest: end.saturating_sub(size).max(self.una),
        }
    }

    /// The retransmission timer fired (RFC 6298, section 5.4 to 5.6; RFC 5681, section 3.1;
    /// RFC 6582, section 3.2, step 4).
    pub(super) fn on_timeout(&mut self, io: &mut Io<'_>) {
        if self.persist_timer(io) {
            return;
        }
        if self.una == self.max {
            self.timer_at = Time::NEVER;
            return;
        }
        self.report_timeout(io.now, io.config);
        io.stats.timeouts += 1;
        let backoff = self.timeouts;
        self.report(io, CongestionEvent::Timeout { backoff });
        self.timeouts += 1;
        self.phase = Phase::AfterTimeout;
        self.nxt = self.una;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.retransmit_head = false;
        let max = self.max;
        let losses = self.losses();
        losses.recover = Some(max);
        losses.inflation = 0;
        if let Some(scoreboard) = &mut losses.scoreboard {
            scoreboard.forget_retransmissions();
        }
        self.rto.back_off();
        self.arm(io);
    }
}
