//! Startup, which doubles the rate each round trip until the bandwidth grows no more or losses are many
//! (section 5.3.1), and Drain, which removes the queue that it leaves (section 5.3.2).

use super::congestion::is_too_high;
use super::{Bbr, State};
use crate::{Context, LostPacket, RateSample};

/// BBRStartupFullLossCnt.
const FULL_LOSS_COUNT: u32 = 6;
/// Rounds after which Drain ends in any case.
const DRAIN_ROUNDS: u64 = 3;

/// The losses of a round, and the start of Drain.
#[derive(Debug, Clone, Default)]
pub(super) struct Startup {
    /// Discontiguous ranges lost in this round.
    ranges: u32,
    /// The end of the last of them.
    end: Option<u64>,
    /// BBR.drain_start_round.
    drain_from: u64,
}

impl Startup {
    pub(super) fn on_lost(&mut self, lost: &LostPacket) {
        if self.end != Some(lost.seq) {
            self.ranges += 1;
        }
        self.end = Some(lost.seq + lost.size.count());
    }

    const fn begin_round(&mut self) {
        self.ranges = 0;
        self.end = None;
    }
}

impl Bbr {
    /// CheckStartupDone.
    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_loss(sample);
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
            self.startup.drain_from = self.rounds.count;
        }
    }

    /// CheckStartupHighLoss (section 5.3.1.3). The first loss of a recovery begins a round of losses, so that
    /// at its end the recovery has lasted for one.
    fn check_startup_loss(&mut self, sample: &RateSample) {
        if !self.signals.round_start {
            return;
        }
        let many = self.startup.ranges >= FULL_LOSS_COUNT && self.recovering;
        self.startup.begin_round();
        let high = many && is_too_high(sample.lost, sample.tx_in_flight);
        if self.state == State::Startup && !self.full.reached && high {
            self.undo.state = Some(State::Startup);
            self.full.reached = true;
            self.long_term = Some(self.bdp().max(self.signals.inflight_latest));
        }
    }

    /// CheckDrainDone.
    pub(super) fn check_drain_done(&mut self, cx: &mut Context<'_>) {
        let over = self.rounds.count > self.startup.drain_from + DRAIN_ROUNDS;
        if self.state == State::Drain && (self.in_flight <= self.inflight(self.bw()) || over) {
            self.start_down(cx);
        }
    }
}
