//! ProbeBW, the cycle of its four states (section 5.3.3): Down drains, Cruise holds the rate, Refill fills
//! the pipe for a round trip, and Up probes for more.

use incastle_units::{Span, Time, random};

use super::{Bbr, ProbeBw, State, percent};
use crate::{Context, RateSample};

use super::congestion::is_too_high;

/// BBR.Headroom, in percent.
const HEADROOM: u64 = 15;
/// Round trips between probes at most (section 5.3.3.8).
const MAX_ROUNDS: u64 = 63;
/// The least time between probes; up to a second more is drawn.
const PROBE_WAIT: Span = Span::from_secs(2);
/// The limit of BBR.bw_probe_up_rounds.
const MAX_UP_ROUNDS: u32 = 30;

/// The state of the cycle.
#[derive(Debug, Clone, Default)]
pub(super) struct Cycle {
    /// BBR.ack_phase is ACKS_PROBE_STOPPING; its other values make no difference.
    stopping: bool,
    /// BBR.is_bw_probe_sample.
    probe_sample: bool,
    /// BBR.bw_probe_up_acked, BBR.probe_up_acked_per_inc and BBR.bw_probe_up_rounds.
    up_acked: u64,
    acked_per_increase: Option<u64>,
    up_rounds: u32,
    /// BBR.rounds_since_probe_up, BBR.cycle_stamp and BBR.bw_probe_wait.
    rounds: u64,
    from: Option<Time>,
    wait: Span,
    /// BBR.prev_probe_too_high and BBR.prev_probe_precautionary.
    too_high: bool,
    precautionary: bool,
}

impl Cycle {
    pub(super) const fn count_round(&mut self) {
        self.rounds += 1;
    }

    /// Whether losses are of segments that probe, and none has been reacted to.
    pub(super) const fn is_sampling(&self) -> bool {
        self.probe_sample
    }

    /// The probe went too high; only the first loss of it counts.
    pub(super) const fn note_too_high(&mut self) {
        self.too_high = true;
        self.probe_sample = false;
    }

    /// The samples of the last probe end with this round.
    pub(super) const fn stop_probe(&mut self) {
        self.stopping = true;
    }
}

impl Bbr {
    /// StartProbeBW_DOWN.
    pub(super) fn start_down(&mut self, cx: &mut Context<'_>) {
        self.signals.reset();
        self.cycle.acked_per_increase = None;
        // PickProbeWait.
        self.cycle.rounds = random::below(cx.rng, 2);
        let more = Span::from_secs_lossy(random::uniform(cx.rng));
        self.cycle.wait = PROBE_WAIT + more;
        self.cycle.from = Some(cx.now);
        self.cycle.stop_probe();
        self.start_round();
        self.state = State::ProbeBw(ProbeBw::Down);
    }

    /// StartProbeBW_CRUISE.
    pub(super) const fn start_cruise(&mut self) {
        self.state = State::ProbeBw(ProbeBw::Cruise);
    }

    /// StartProbeBW_REFILL.
    pub(super) fn start_refill(&mut self) {
        self.signals.forget_bounds();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0;
        self.cycle.precautionary = false;
        self.cycle.stopping = false;
        self.start_round();
        self.state = State::ProbeBw(ProbeBw::Refill);
    }

    /// StartProbeBW_UP.
    fn start_up(&mut self, sample: &RateSample) {
        self.cycle.probe_sample = true;
        self.start_round();
        self.full.reset(sample.rate);
        self.state = State::ProbeBw(ProbeBw::Up);
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, cx: &mut Context<'_>, sample: &RateSample) {
        if !self.full.reached || self.adapt_long_term(sample) {
            return;
        }
        let State::ProbeBw(state) = self.state else {
            return;
        };
        match state {
            ProbeBw::Down | ProbeBw::Cruise if self.is_time_to_probe(cx.now) => self.start_refill(),
            ProbeBw::Down if self.is_time_to_cruise() => self.start_cruise(),
            ProbeBw::Refill if self.rounds.start => self.start_up(sample),
            ProbeBw::Up if self.is_time_to_go_down(sample) => {
                self.cycle.too_high = false;
                self.start_down(cx);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW: by the clock, or after as many round trips as Reno takes to grow by the
    /// bandwidth-delay product.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let from = self.cycle.from.unwrap_or(Time::ZERO);
        let reno = (self.target_inflight() / self.mss()).min(MAX_ROUNDS);
        now > from.saturating_add(self.cycle.wait) || self.cycle.rounds >= reno
    }

    /// IsTimeToCruise.
    fn is_time_to_cruise(&self) -> bool {
        let headroom = self.inflight_with_headroom();
        headroom.is_none_or(|bound| self.in_flight <= bound)
            && self.in_flight <= self.inflight(self.bandwidth.get())
    }

    /// IsTimeToGoDown, with the deceleration of precautionary probes (section 5.3.3.6).
    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        if self.cycle.too_high && self.long_term.is_some_and(|bound| self.in_flight >= bound) {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_bounded(sample) {
            self.full.reset(sample.rate);
            return false;
        }
        self.full.now
    }

    /// Whether the long-term bound has limited the sender.
    fn is_bounded(&self, sample: &RateSample) -> bool {
        sample.is_cwnd_limited && self.long_term.is_some_and(|bound| self.cwnd >= bound)
    }

    /// InflightWithHeadroom.
    pub(super) fn inflight_with_headroom(&self) -> Option<u64> {
        let bound = self.long_term?;
        let headroom = percent(bound, HEADROOM).max(self.mss());
        Some(bound.saturating_sub(headroom).max(self.min_pipe()))
    }

    /// RaiseInflightLongtermSlope: growth by 1, 2, 4, ... segments a round trip.
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.acked_per_increase = Some((self.cwnd / growth).max(self.mss()));
    }

    /// ProbeInflightLongtermUpward.
    fn raise_long_term(&mut self, sample: &RateSample) {
        let (Some(bound), Some(step)) = (self.long_term, self.cycle.acked_per_increase) else {
            return;
        };
        if !self.is_bounded(sample) {
            return;
        }
        self.cycle.up_acked += sample.newly_acked.count();
        let increases = self.cycle.up_acked / step;
        self.cycle.up_acked -= increases * step;
        self.long_term = Some(bound + increases * self.mss());
        if self.rounds.start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel; gives whether it decided the next state.
    fn adapt_long_term(&mut self, sample: &RateSample) -> bool {
        if self.rounds.start && self.cycle.stopping && self.end_samples(sample) {
            return true;
        }
        let Some(bound) = self.long_term else {
            return false;
        };
        if !is_too_high(sample.lost, sample.tx_in_flight) {
            self.long_term = Some(bound.max(sample.tx_in_flight.count()));
            if self.state == State::ProbeBw(ProbeBw::Up) {
                self.raise_long_term(sample);
            }
        }
        false
    }

    /// The samples of a probe are over. A precautionary one without losses is followed by the next one (section
    /// 5.3.3.6, acceleration).
    fn end_samples(&mut self, sample: &RateSample) -> bool {
        self.cycle.probe_sample = false;
        self.cycle.stopping = false;
        if !self.is_in_probe_bw() {
            return false;
        }
        if !sample.is_app_limited {
            self.bandwidth.advance();
        }
        let again = self.cycle.precautionary && !self.cycle.too_high;
        if again {
            self.start_refill();
        }
        again
    }
}
