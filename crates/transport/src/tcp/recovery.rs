//! Loss recovery: duplicate ACKs and fast retransmit; the recoveries of Reno (RFC 5681), NewReno (RFC
//! 6582) and SACK (RFC 6675). After a timeout go-back-N (RFC 6298); limited transmit (RFC 3042).
//!
//! The window that RFC 5681 and 6582 inflate is the controller's plus `inflation` here. Leaves out:
//! detection by time, and undoing a spurious timeout or recovery, which are in `rack_tlp`; early
//! retransmit (RFC 5827).

use incastle_congestion::{CongestionEvent, Phase, Reaction};
use incastle_recovery::Interval;
use incastle_units::{Span, Time};

use super::config::{Config, Recovery};
use super::losses::Losses;
use super::sack::{DUP_THRESH, Holes, NextSeg, Scoreboard};
use super::segment::SackBlock;
use super::send_space::SendSpace;
use super::timeout::{TimeoutKind, TimeoutReport};

/// A cumulative acknowledgement of something new.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewAck {
    pub(super) now: Time,
    /// The advance of SND.UNA.
    pub(super) octets: u64,
    /// The returned timestamp, or NEVER.
    pub(super) timestamp: Time,
}

/// The state of loss recovery.
///
/// Invariant: a head to be sent again exists in recovery alone.
pub(super) struct LossRecovery {
    phase: Phase,
    dup_acks: u32,
    /// The segment at SND.UNA must be retransmitted, for any window.
    retransmit_head: bool,
    /// The next new data carry CWR.
    cwr_due: bool,
    /// Octets beyond the window that limited transmit sent.
    limited_sent: u64,
    /// The timestamp that the last new acknowledgement returned.
    last_echo: Time,
    /// Since there was a loss, or a selective acknowledgement.
    losses: Option<Box<Losses>>,
}

impl LossRecovery {
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Open,
            dup_acks: 0,
            retransmit_head: false,
            cwr_due: false,
            limited_sent: 0,
            last_echo: Time::NEVER,
            losses: None,
        }
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(super) fn limited_sent(&self) -> u64 {
        self.limited_sent
    }

    /// The memory of losses, allocated on first use.
    fn losses(&mut self) -> &mut Losses {
        self.losses.get_or_insert_default()
    }

    #[inline]
    pub(super) fn scoreboard(&self) -> Option<&Scoreboard> {
        self.losses.as_ref()?.scoreboard.as_ref()
    }

    #[inline]
    pub(super) fn scoreboard_mut(&mut self) -> Option<&mut Scoreboard> {
        self.losses.as_mut()?.scoreboard.as_mut()
    }

    pub(super) fn recover(&self) -> Option<u64> {
        self.losses.as_ref()?.recover
    }

    /// When the last partial acknowledgement of the current recovery came, or NEVER.
    pub(super) fn partial_at(&self) -> Time {
        match &self.losses {
            Some(losses) if self.phase == Phase::Recovery => losses.partial_at,
            _ => Time::NEVER,
        }
    }

    /// The bytes that count against the window outside of SACK recovery.
    #[inline]
    pub(super) fn outstanding(&self, space: &SendSpace) -> u64 {
        let (una, nxt) = (space.una(), space.nxt());
        match self.scoreboard() {
            // After a timeout, data reported before it count as arrived.
            Some(scoreboard) if self.phase == Phase::AfterTimeout => {
                nxt - una - scoreboard.covered(una, nxt)
            }
            _ => nxt - una,
        }
    }

    /// The window with its inflation by duplicate ACKs.
    #[inline]
    pub(super) fn extended(&self, cwnd: u64, config: &Config) -> u64 {
        match self.phase {
            // RFC 3042: one new segment for each of the first two duplicates.
            Phase::Open if self.dup_acks > 0 && config.limited_transmit => {
                cwnd + u64::from(self.dup_acks.min(2)) * u64::from(config.mss)
            }
            // RFC 6582: the inflated window.
            Phase::Recovery => {
                let inflation = self.losses.as_ref().map_or(0, |losses| losses.inflation);
                cwnd.saturating_add_signed(inflation)
            }
            Phase::Open | Phase::AfterTimeout => cwnd,
        }
    }

    /// Whether neither losses nor duplicates disturb the flow of new data.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        self.phase == Phase::Open && self.dup_acks == 0
    }

    /// New data left, `beyond` octets of them beyond the controller's window.
    #[inline]
    pub(super) fn note_new_data(&mut self, beyond: u64) {
        self.limited_sent += beyond * u64::from(self.phase == Phase::Open);
    }

    /// The segment that begins at `seq` was sent again.
    pub(super) fn note_repeat(&mut self, now: Time, seq: u64, una: u64) {
        assert!(una <= seq, "what is acknowledged is not sent again");
        self.losses().repeats.enter(seq, una, now);
    }

    /// Selective acknowledgements; gives whether something new was reported.
    #[inline]
    pub(super) fn update_scoreboard(
        &mut self,
        sacks: &[SackBlock],
        ack: u64,
        space: &SendSpace,
    ) -> bool {
        assert!(space.accepts(ack), "old acknowledgements were ignored");
        let scoreboard = self.losses().scoreboard.get_or_insert_default();
        scoreboard.update(sacks, ack, space.max()) > 0
    }

    /// SND.UNA has moved; gives whether the timer starts anew.
    #[inline(always)]
    pub(super) fn on_new_ack(&mut self, space: &SendSpace, config: &Config, ack: NewAck) -> bool {
        self.last_echo = ack.timestamp;
        self.dup_acks = 0;
        self.limited_sent = 0;
        if let Some(scoreboard) = self.scoreboard_mut() {
            scoreboard.advance(space.una());
        }
        match self.phase {
            Phase::Open => true,
            Phase::AfterTimeout => {
                if self.recover().is_none_or(|recover| space.una() >= recover) {
                    self.phase = Phase::Open;
                }
                true
            }
            Phase::Recovery => self.advance(space, config, ack),
        }
    }

    /// A new acknowledgement during recovery; gives whether the timer starts anew.
    fn advance(&mut self, space: &SendSpace, config: &Config, ack: NewAck) -> bool {
        assert!(ack.octets > 0, "a new acknowledgement moves SND.UNA");
        let full = self.recover().is_none_or(|recover| space.una() >= recover);
        if full || config.recovery == Recovery::Reno {
            // RFC 5681, section 3.2, step 6; RFC 6582, section 3.2, step 3, option 2.
            self.phase = Phase::Open;
            self.losses().inflation = 0;
            self.retransmit_head = false;
            return true;
        }
        if let Some(scoreboard) = self.scoreboard_mut() {
            scoreboard.set_pipe(space.una(), space.max(), config.mss);
            return true;
        }
        // RFC 6582, section 3.2, step 3, partial acknowledgement: retransmit the next hole, deflate
        // the window by the data acknowledged, and add one segment for the retransmission.
        let mss = i64::from(config.mss);
        let octets = ack.octets.cast_signed();
        self.retransmit_head = true;
        let losses = self.losses();
        losses.inflation -= octets;
        if octets >= mss {
            losses.inflation += mss;
        }
        // The timer restarts at the first partial acknowledgement only ("impatient").
        std::mem::replace(&mut losses.partial_at, ack.now) == Time::NEVER
    }

    /// With RACK: SND.UNA may have moved; gives whether that ended a recovery.
    pub(super) fn end_if_covered(&mut self, space: &SendSpace) -> bool {
        let covered = self.recover().is_none_or(|recover| space.una() >= recover);
        let ends = self.phase != Phase::Open && covered;
        if ends {
            self.reopen();
        }
        ends
    }

    /// With RACK: there is nothing to recover from.
    pub(super) fn reopen(&mut self) {
        self.phase = Phase::Open;
    }

    /// With RACK: a recovery begins, or begins anew.
    pub(super) fn begin(&mut self, space: &SendSpace) {
        assert_ne!(
            self.phase,
            Phase::AfterTimeout,
            "a timeout covers the losses"
        );
        self.phase = Phase::Recovery;
        self.extend(space);
    }

    /// With RACK: the recovery covers everything sent so far.
    pub(super) fn extend(&mut self, space: &SendSpace) {
        self.losses().recover = Some(space.max());
    }

    /// A duplicate ACK with this timestamp; gives whether recovery must begin.
    pub(super) fn on_duplicate(
        &mut self,
        space: &SendSpace,
        config: &Config,
        timestamp: Time,
    ) -> bool {
        assert!(space.awaits_ack(), "a duplicate answers outstanding data");
        self.dup_acks = self.dup_acks.saturating_add(1);
        match self.phase {
            Phase::Recovery => {
                let losses = self.losses();
                match &mut losses.scoreboard {
                    Some(scoreboard) => scoreboard.set_pipe(space.una(), space.max(), config.mss),
                    // RFC 5681, section 3.2, step 4: a segment has left the network.
                    None => losses.inflation += i64::from(config.mss),
                }
                false
            }
            Phase::Open => self.must_recover(space, config, timestamp),
            Phase::AfterTimeout => false,
        }
    }

    /// Whether the current duplicates mean a loss.
    fn must_recover(&self, space: &SendSpace, config: &Config, timestamp: Time) -> bool {
        let una = space.una();
        if config.recovery == Recovery::Sack {
            // RFC 6675, section 5, steps 1 and 2; section 5.1: after a timeout only once
            // everything sent before it is acknowledged, which ends that phase.
            let lost = |s: &Scoreboard| s.lost_below(config.mss) > una;
            return self.dup_acks >= DUP_THRESH || self.scoreboard().is_some_and(lost);
        }
        if self.dup_acks != DUP_THRESH {
            return false;
        }
        if config.recovery == Recovery::Reno {
            // RFC 5681 lets each loss of a window begin a separate recovery.
            return true;
        }
        // RFC 6582, section 3.2, step 2: duplicates caused by our own retransmissions alone lie at
        // or below `recover`. Right at it, section 4.2 decides: a needless retransmission moves the
        // returned timestamp, a gap does not.
        let gap = config.timestamps && timestamp == self.last_echo;
        self.recover().is_none_or(|recover| una > recover || gap)
    }

    /// RFC 5681, section 3.2, steps 2 and 3; RFC 6582, section 3.2, step 2; RFC 6675, section 5,
    /// step 4. Returns the bytes known to be lost.
    pub(super) fn start(&mut self, space: &SendSpace, config: &Config) -> CongestionEvent {
        assert_eq!(self.phase, Phase::Open, "one recovery at a time");
        self.phase = Phase::Recovery;
        self.retransmit_head = true;
        let losses = self.losses();
        losses.recover = Some(space.max());
        losses.partial_at = Time::NEVER;
        losses.inflation = i64::from(DUP_THRESH) * i64::from(config.mss);
        self.loss(space, config.mss)
    }

    /// New data was acknowledged, or recovery has begun and was reported: limited transmit is over.
    pub(super) fn end_limited_transmit(&mut self) {
        self.limited_sent = 0;
    }

    /// The bytes known to be lost: the first segment, and the octets that the scoreboard marks.
    fn loss(&self, space: &SendSpace, mss: u16) -> CongestionEvent {
        let (una, max) = (space.una(), space.max());
        let size = u64::from(mss);
        let mut end = max.min(una + size);
        let mut octets = end - una;
        if let Some(scoreboard) = self.scoreboard() {
            end = end.max(scoreboard.lost_below(mss));
            octets = octets.max(scoreboard.lost_octets(una, mss));
        }
        assert!(end <= max, "only what was sent is lost");
        CongestionEvent::Loss {
            count: octets.div_ceil(size) as u32,
            largest: end.saturating_sub(size).max(una),
        }
    }

    /// The retransmission timer fired (RFC 6298, sections 5.4 to 5.6; RFC 5681, section 3.1; RFC 6582,
    /// section 3.2, step 4).
    pub(super) fn on_timeout(&mut self, space: &SendSpace) {
        assert!(space.awaits_ack(), "a timeout is of outstanding data");
        self.phase = Phase::AfterTimeout;
        self.dup_acks = 0;
        self.limited_sent = 0;
        self.retransmit_head = false;
        let losses = self.losses();
        losses.recover = Some(space.max());
        losses.inflation = 0;
        if let Some(scoreboard) = &mut losses.scoreboard {
            scoreboard.forget_retransmissions();
        }
    }

    /// The first segment that is not acknowledged, where it must be sent again: its end.
    #[inline]
    pub(super) fn take_head(&mut self, space: &SendSpace, mss: u16) -> Option<u64> {
        if !std::mem::take(&mut self.retransmit_head) {
            return None;
        }
        let (una, max) = (space.una(), space.max());
        let mut end = max.min(una + u64::from(mss));
        if let Some(scoreboard) = self.scoreboard_mut() {
            end = scoreboard.gap_after(una).end.unwrap_or(end).min(end);
            scoreboard.start(end);
            scoreboard.set_pipe(una, max, mss);
        }
        assert!(una < end && end <= max, "the head is outstanding");
        Some(end)
    }

    /// A segment to retransmit although it is not known to be lost: NextSeg's rules 3 and 4.
    pub(super) fn unmarked_segment(&self, space: &SendSpace, mss: u16) -> Option<NextSeg> {
        let scoreboard = self.scoreboard()?;
        scoreboard
            .next_hole(space.una(), mss, Holes::Any)
            .or_else(|| scoreboard.rescue(space.una(), space.max(), mss))
    }

    /// A segment that NextSeg gave is sent again: its octets.
    pub(super) fn retransmit(&mut self, segment: NextSeg, space: &SendSpace) -> Interval {
        let recover = self.recover().unwrap_or(space.max());
        let (NextSeg::Lost(octets) | NextSeg::Unknown(octets) | NextSeg::Rescue(octets)) = segment;
        let Interval { start, end } = octets;
        assert!(
            space.una() <= start && start < end && end <= space.max(),
            "only what is outstanding is sent again"
        );
        if let Some(scoreboard) = self.scoreboard_mut() {
            scoreboard.retransmitted(segment, recover);
            scoreboard.add_to_pipe(end - start);
        }
        octets
    }

    /// A reduction makes the next new data carry CWR (RFC 3168, section 6.1.2: for any reason).
    #[inline]
    pub(super) fn note_reaction(&mut self, reaction: Reaction) {
        self.cwr_due |= reaction == Reaction::Reduced;
    }

    /// Takes the duty to send CWR.
    #[inline]
    pub(super) fn take_cwr(&mut self) -> bool {
        std::mem::take(&mut self.cwr_due)
    }

    /// The segment at SND.UNA, where `timeouts` counts those since that last moved.
    pub(super) fn head(&self, space: &SendSpace, timeouts: u32) -> Head {
        Head {
            repeated: self.head_was_repeated(space, timeouts),
            reported_above: self.is_reported(space),
        }
    }

    /// Why only the timer could help, where the stream ends at `end`.
    pub(super) fn timeout_kind(
        &self,
        space: &SendSpace,
        mss: u16,
        end: u64,
        head: Head,
    ) -> TimeoutKind {
        // Segments are counted in octets, as outstanding data in RFC 5681 and 6675.
        let tail = u64::from(DUP_THRESH) * u64::from(mss);
        if head.repeated {
            TimeoutKind::LostRetransmission
        } else if space.max() == end && end - space.una() <= tail {
            TimeoutKind::LastPacket
        } else if self.dup_acks == 0 && !head.reported_above {
            TimeoutKind::FullWindow
        } else {
            TimeoutKind::FewDuplicates
        }
    }

    /// Whether the segment at SND.UNA was sent more than once.
    fn head_was_repeated(&self, space: &SendSpace, timeouts: u32) -> bool {
        let una = space.una();
        match self.phase {
            // Go-back-N repeats everything below SND.NXT that was not reported.
            Phase::AfterTimeout => timeouts > 0 || space.nxt() > una,
            Phase::Open | Phase::Recovery => match self.scoreboard() {
                Some(scoreboard) => scoreboard.was_repeated(una),
                // Each hole that moves to SND.UNA is repeated as soon as a segment may leave.
                None => self.phase == Phase::Recovery && !self.retransmit_head,
            },
        }
    }

    /// Whether SACK has reported anything above SND.UNA.
    fn is_reported(&self, space: &SendSpace) -> bool {
        let scoreboard = self.scoreboard();
        scoreboard.is_some_and(|board| board.covered(space.una(), space.max()) > 0)
    }

    /// Keeps the report of a timeout.
    pub(super) fn keep_report(&mut self, space: &SendSpace, timeout: Timeout) {
        let una = space.una();
        let dup_acks = self.dup_acks;
        let losses = self.losses();
        losses.report = Some(TimeoutReport {
            kind: timeout.kind,
            una,
            max: space.max(),
            head_repeated: losses.repeats.last(una),
            dup_acks,
            backoff: timeout.backoff,
            waited: timeout.waited,
            rto: timeout.rto,
        });
    }

    /// Takes the report of the last timeout.
    pub(super) fn take_report(&mut self) -> Option<TimeoutReport> {
        self.losses.as_mut()?.report.take()
    }
}

/// The segment at SND.UNA when the timer fired.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// It was sent more than once.
    pub(super) repeated: bool,
    /// SACK has reported something above it.
    pub(super) reported_above: bool,
}

/// A timeout, as the timer saw it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeout {
    pub(super) kind: TimeoutKind,
    pub(super) backoff: u32,
    pub(super) waited: Span,
    pub(super) rto: Span,
}
