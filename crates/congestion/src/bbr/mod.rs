//! BBR version 3 (draft-ietf-ccwg-bbr-06): a control that models the path by its bandwidth and its least
//! round-trip time, and bounds both by the losses that its probes cause. It paces by the model, and its
//! window is a multiple of the bandwidth-delay product.
//!
//! Leaves out: a reaction to ECN in proportion, for which the draft has none (a mark counts as a loss); the
//! quantum by rate, in whose place stands the burst of the host.

mod congestion;
mod control;
mod filter;
mod probe_bw;
mod probe_rtt;
mod startup;

use incastle_units::{Bytes, Rate, Time};

use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, LostPacket, Phase, RateSample,
    Reaction, Window,
};

use congestion::{Signals, Undo};
use filter::{FullPipe, MaxBandwidth, MinRtt, WindowedMax};
use probe_bw::Cycle;
use startup::Startup;

/// Parameters of BBR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BbrConfig {
    /// C.SMSS.
    pub mss: Bytes,
    /// C.InitialCwnd.
    pub initial_window: Bytes,
    /// C.send_quantum: data that leave the host together.
    pub send_quantum: Bytes,
}

impl BbrConfig {
    /// Ten segments at first (RFC 6928), and two together (the least quantum of section 5.6.3).
    pub const fn new(mss: Bytes) -> Self {
        Self {
            mss,
            initial_window: Bytes::new(10 * mss.count()),
            send_quantum: Bytes::new(2 * mss.count()),
        }
    }
}

/// BBR.state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBw(ProbeBw),
    ProbeRtt,
}

/// The states of ProbeBW.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeBw {
    Down,
    Cruise,
    Refill,
    Up,
}

/// Round trips by the data that are delivered (section 5.5.1).
#[derive(Debug, Clone, Copy, Default)]
struct Rounds {
    /// BBR.next_round_delivered.
    end: u64,
    count: u64,
    /// BBR.round_start.
    start: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Bbr {
    config: BbrConfig,
    state: State,
    /// C.cwnd, BBR.prior_cwnd and C.pacing_rate.
    cwnd: u64,
    prior_cwnd: u64,
    pacing: Option<Rate>,
    /// Whether the pacing rate rests on a round trip.
    has_seen_rtt: bool,
    /// Loss recovery is not over.
    recovering: bool,
    /// The timer fired, and the losses that it found are being reported.
    timed_out: bool,
    /// C.delivered and C.inflight.
    delivered: u64,
    in_flight: u64,
    idle_restart: bool,
    rounds: Rounds,
    bandwidth: MaxBandwidth,
    min_rtt: MinRtt,
    full: FullPipe,
    /// BBR.extra_acked_filter, BBR.extra_acked_interval_start and BBR.extra_acked_delivered.
    extra_acked: WindowedMax,
    extra_from: Time,
    extra_delivered: u64,
    /// BBR.inflight_longterm.
    long_term: Option<u64>,
    signals: Signals,
    undo: Undo,
    startup: Startup,
    cycle: Cycle,
    /// BBR.probe_rtt_done_stamp and BBR.probe_rtt_round_done.
    probe_rtt_end: Option<Time>,
    probe_rtt_round: bool,
}

impl Bbr {
    /// A controller at the beginning of a connection.
    pub fn new(config: BbrConfig) -> Self {
        assert!(config.mss > Bytes::ZERO, "a segment carries something");
        Self {
            state: State::Startup,
            cwnd: config.initial_window.count(),
            prior_cwnd: 0,
            pacing: None,
            has_seen_rtt: false,
            recovering: false,
            timed_out: false,
            delivered: 0,
            in_flight: 0,
            idle_restart: false,
            rounds: Rounds::default(),
            bandwidth: MaxBandwidth::default(),
            min_rtt: MinRtt::new(Time::ZERO, None),
            full: FullPipe::default(),
            extra_acked: WindowedMax::new(),
            extra_from: Time::ZERO,
            extra_delivered: 0,
            long_term: None,
            signals: Signals::default(),
            undo: Undo::default(),
            startup: Startup::default(),
            cycle: Cycle::default(),
            probe_rtt_end: None,
            probe_rtt_round: false,
            config,
        }
    }

    /// Whether it drains the queue to measure the round trip: samples of it are low, and do not count.
    pub fn is_probing_rtt(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn mss(&self) -> u64 {
        self.config.mss.count()
    }

    /// BBR.bw: the bandwidth within the bound of losses.
    fn bw(&self) -> Option<Rate> {
        let max = self.bandwidth.get()?;
        Some(self.signals.bw.map_or(max, |bound| bound.min(max)))
    }

    /// IsInAProbeBWState.
    fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::ProbeBw(_))
    }

    /// IsProbingBW.
    fn is_probing_bw(&self) -> bool {
        matches!(
            self.state,
            State::Startup | State::ProbeBw(ProbeBw::Refill | ProbeBw::Up)
        )
    }

    /// StartRound.
    fn start_round(&mut self) {
        self.rounds.end = self.delivered;
    }

    /// UpdateRound.
    fn update_round(&mut self, sample: &RateSample) {
        self.rounds.start = sample.prior_delivered >= self.rounds.end;
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.cycle.count_round();
        }
    }

    /// UpdateACKAggregation (section 5.5.9).
    fn update_aggregation(&mut self, now: Time, newly_acked: u64) {
        /// BBR.ExtraAckedFilterLen.
        const WINDOW: u64 = 10;
        let interval = now.saturating_since(self.extra_from);
        let bw = self.bw();
        let mut expected = bw.map_or(0, |bw| bw.bytes_in(interval).count());
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_from = now;
            expected = 0;
        }
        self.extra_delivered += newly_acked;
        let extra = (self.extra_delivered - expected).min(self.cwnd);
        let window = if self.full.reached { WINDOW } else { 1 };
        self.extra_acked.update(self.rounds.count, extra, window);
    }

    /// UpdateModelAndState (section 5.2.3).
    fn update_model(&mut self, cx: &mut Context<'_>, sample: &RateSample) {
        self.update_latest(sample);
        self.update_round(sample);
        if let Some(rate) = sample.rate {
            self.bandwidth.update(rate, sample.is_app_limited);
        }
        self.adapt_to_congestion();
        self.update_aggregation(cx.now, sample.newly_acked.count());
        if self.rounds.start && !sample.is_app_limited {
            self.full.on_round(sample.rate);
        }
        self.check_startup_done(sample);
        self.check_drain_done(cx);
        self.update_cycle(cx, sample);
        self.min_rtt.update(cx.now, sample.rtt);
        self.check_probe_rtt(cx);
        if sample.delivered() > 0 {
            self.idle_restart = false;
        }
        self.signals.advance(sample);
    }

    /// HandleRestartFromIdle (section 5.4.1), once the first segment has left.
    fn restart_from_idle(&mut self, cx: &mut Context<'_>) {
        self.idle_restart = true;
        self.extra_from = cx.now;
        match self.state {
            State::ProbeBw(_) => self.set_pacing(100),
            State::ProbeRtt => self.check_probe_rtt_done(cx),
            State::Startup | State::Drain => {}
        }
    }
}

impl Controller for Bbr {
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        self.timed_out = false;
        if self.pacing.is_none() {
            self.min_rtt = MinRtt::new(cx.now, cx.smoothed_rtt);
            self.extra_from = cx.now;
            self.init_pacing(cx.smoothed_rtt);
        } else if cx.in_flight.count() <= size.count() + 1 {
            // Nothing else is outstanding (a FIN may be in it): there was nothing to send.
            self.restart_from_idle(cx);
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        if !self.has_seen_rtt && cx.smoothed_rtt.is_some() {
            self.init_pacing(cx.smoothed_rtt);
        }
        let recovering = ack.phase != Phase::Open;
        if self.recovering && !recovering {
            self.restore_cwnd();
        }
        self.recovering = recovering;
        self.timed_out = false;
    }

    fn on_rate(&mut self, cx: &mut Context<'_>, sample: &RateSample) {
        self.delivered = sample.total_delivered;
        self.in_flight = sample.in_flight.count();
        self.update_model(cx, sample);
        self.update_control(sample.newly_acked.count());
    }

    fn on_lost(&mut self, cx: &mut Context<'_>, lost: &LostPacket) {
        self.delivered = lost.total_delivered;
        self.in_flight = lost.in_flight.count();
        if self.timed_out {
            // OnEnterRTO (section 5.6.4.4): one segment beyond what is still in the network.
            self.cwnd = self.in_flight + self.mss();
        }
        self.handle_lost(cx, lost);
    }

    fn on_congestion(&mut self, _cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            // Losses were reported one by one, but for the one that a tail loss probe repaired.
            CongestionEvent::Loss { .. } | CongestionEvent::Ecn => self.note_loss(),
            CongestionEvent::Timeout { .. } => {
                self.save_state();
                self.recovering = true;
                self.timed_out = true;
                self.cwnd = self.mss();
            }
            CongestionEvent::IdleRestart | CongestionEvent::Over => return Reaction::Ignored,
        }
        Reaction::Reduced
    }

    fn restore(&mut self, _before: &ControlState) {
        self.undo_loss();
    }

    #[inline]
    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.cwnd))
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new(self.cwnd)),
            rate: self.pacing,
            ..ControlState::default()
        }
    }
}

/// A percentage of an amount, rounded down.
fn percent(amount: u64, percent: u64) -> u64 {
    let part = u128::from(amount) * u128::from(percent) / 100;
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// A percentage of a rate, rounded down.
fn scaled(rate: Rate, by: u64) -> Rate {
    Rate::from_bits_per_second(percent(rate.bits_per_second(), by))
}
