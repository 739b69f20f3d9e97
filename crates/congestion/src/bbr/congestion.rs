//! The reaction to losses: short-term bounds once per round trip outside of probes, and the long-term bound
//! where a probe went too high (section 5.5.10); and the return where no loss was real (section 5.5.11).

use incastle_units::{Bytes, Rate};

use super::{Bbr, ProbeBw, State, percent, scaled};
use crate::{Context, LostPacket, RateSample};

/// BBR.LossThresh, in percent.
const LOSS_THRESHOLD: u64 = 2;
/// BBR.Beta, in percent.
const BETA: u64 = 70;

/// The signals of the current round trip, and the short-term model.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals {
    /// BBR.bw_shortterm and BBR.inflight_shortterm.
    pub(super) bw: Option<Rate>,
    pub(super) inflight: Option<u64>,
    /// BBR.bw_latest and BBR.inflight_latest.
    bw_latest: Option<Rate>,
    pub(super) inflight_latest: u64,
    /// BBR.is_loss_in_round, BBR.loss_round_delivered and BBR.loss_round_start.
    loss_in_round: bool,
    round_end: u64,
    pub(super) round_start: bool,
}

impl Signals {
    /// ResetCongestionSignals.
    pub(super) const fn reset(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = None;
        self.inflight_latest = 0;
    }

    /// ResetShortTermModel.
    pub(super) const fn forget_bounds(&mut self) {
        self.bw = None;
        self.inflight = None;
    }

    /// AdvanceLatestDeliverySignals.
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.round_start {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered();
        }
    }
}

/// The state before the first loss of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct Undo {
    /// BBR.undo_state: the state that a loss ended.
    pub(super) state: Option<State>,
    bw: Option<Rate>,
    inflight: Option<u64>,
    long_term: Option<u64>,
}

/// The larger of two bounds, where `None` is no bound.
fn looser<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    Some(one?.max(other?))
}

/// IsInflightTooHigh, with selective acknowledgements.
pub(super) fn is_too_high(lost: Bytes, tx_in_flight: Bytes) -> bool {
    u128::from(lost.count()) * 100 > u128::from(tx_in_flight.count()) * u128::from(LOSS_THRESHOLD)
}

/// InflightAtLoss: the data in flight at which losses passed the threshold, (2 % of what was in flight before
/// the segment - what was lost before it) / 98 % into the segment.
fn inflight_at_loss(lost: &LostPacket) -> u64 {
    let before = lost.tx_in_flight.saturating_sub(lost.size).count();
    let lost_before = lost.lost.saturating_sub(lost.size).count();
    let allowed = percent(before, LOSS_THRESHOLD);
    let prefix = i128::from(allowed) - i128::from(lost_before);
    let prefix = prefix * 100 / i128::from(100 - LOSS_THRESHOLD);
    u64::try_from(i128::from(before) + prefix).unwrap_or(0)
}

impl Bbr {
    /// UpdateLatestDeliverySignals.
    pub(super) fn update_latest(&mut self, sample: &RateSample) {
        let signals = &mut self.signals;
        signals.bw_latest = signals.bw_latest.max(sample.rate);
        signals.inflight_latest = signals.inflight_latest.max(sample.delivered());
        signals.round_start = sample.prior_delivered >= signals.round_end;
        if signals.round_start {
            signals.round_end = sample.total_delivered;
        }
    }

    /// UpdateCongestionSignals without UpdateMaxBw: at the end of a round with losses outside of probes the
    /// bounds shrink to what was delivered, by at most the factor.
    pub(super) fn adapt_to_congestion(&mut self) {
        if !self.signals.round_start {
            return;
        }
        if self.signals.loss_in_round && !self.is_probing_bw() {
            let bw = self.signals.bw.or(self.bandwidth.get());
            let signals = &mut self.signals;
            signals.bw = bw.map(|bw| scaled(bw, BETA)).max(signals.bw_latest);
            let inflight = percent(signals.inflight.unwrap_or(self.cwnd), BETA);
            signals.inflight = Some(inflight.max(signals.inflight_latest));
        }
        self.signals.loss_in_round = false;
    }

    /// NoteLoss.
    pub(super) fn note_loss(&mut self) {
        if !self.signals.loss_in_round {
            self.signals.round_end = self.delivered;
            self.save_state();
        }
        self.signals.loss_in_round = true;
    }

    /// HandleLostPacket.
    pub(super) fn handle_lost(&mut self, cx: &mut Context<'_>, lost: &LostPacket) {
        self.note_loss();
        self.startup.on_lost(lost);
        if self.cycle.is_sampling() && is_too_high(lost.lost, lost.tx_in_flight) {
            self.handle_too_high(cx, inflight_at_loss(lost), lost.is_app_limited);
        }
    }

    /// HandleInflightTooHigh.
    fn handle_too_high(&mut self, cx: &mut Context<'_>, inflight: u64, is_app_limited: bool) {
        self.cycle.note_too_high();
        if !is_app_limited {
            let floor = percent(self.target_inflight(), BETA);
            self.long_term = Some(inflight.max(floor));
        }
        if self.state == State::ProbeBw(ProbeBw::Up) {
            self.undo.state = Some(self.state);
            self.start_down(cx);
        }
    }

    /// SaveStateUponLoss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw: self.signals.bw,
            inflight: self.signals.inflight,
            long_term: self.long_term,
        };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo_loss(&mut self) {
        self.restore_cwnd();
        self.signals.loss_in_round = false;
        self.full.reset(None);
        self.signals.bw = looser(self.signals.bw, self.undo.bw);
        self.signals.inflight = looser(self.signals.inflight, self.undo.inflight);
        self.long_term = looser(self.long_term, self.undo.long_term);
        let before = self.undo.state.take();
        let Some(before) = before.filter(|before| *before != self.state) else {
            return;
        };
        if before == State::Startup {
            self.full.reached = false;
            if self.state != State::ProbeRtt {
                self.state = State::Startup;
            }
        } else if self.state != State::ProbeRtt {
            self.start_refill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_rate_is_too_high_above_two_percent() {
        let kb = |count: u64| Bytes::new(count * 1000);
        assert!(!is_too_high(kb(2), kb(100)));
        assert!(is_too_high(kb(3), kb(100)));
    }

    /// 99,000 bytes before the segment, 1,000 of them lost: (1,980 - 1,000) / 0.98 = 1,000 bytes into it.
    #[test]
    fn the_bound_is_where_the_losses_passed_the_threshold() {
        let lost = LostPacket {
            seq: 0,
            size: Bytes::new(2_000),
            tx_in_flight: Bytes::new(101_000),
            lost: Bytes::new(3_000),
            total_delivered: 0,
            in_flight: Bytes::ZERO,
            is_app_limited: false,
        };
        assert_eq!(inflight_at_loss(&lost), 100_000);
    }
}
