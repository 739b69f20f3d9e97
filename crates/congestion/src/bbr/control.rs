//! The pacing rate and the window that follow from the model (section 5.6).

use incastle_units::{Bytes, Rate, Span};

use super::{Bbr, ProbeBw, State, percent, scaled};

/// BBR.StartupPacingGain, in percent: 4 ln 2.
const STARTUP_PACING_GAIN: u64 = 277;
/// BBR.DefaultCwndGain, in percent.
const DEFAULT_CWND_GAIN: u64 = 200;
/// BBR.ProbeRTTCwndGain, in percent.
const PROBE_RTT_CWND_GAIN: u64 = 50;
/// 100 % without BBR.PacingMarginPercent.
const PACING_MARGIN: u64 = 99;
/// BBR.MinPipeCwnd, in segments.
const MIN_PIPE: u64 = 4;
/// Quanta of the offload budget (section 5.5.8.1).
const OFFLOAD_QUANTA: u64 = 3;

impl Bbr {
    /// BBR.pacing_gain, in percent (section 5.6.1).
    const fn pacing_gain(&self) -> u64 {
        match self.state {
            State::Startup => STARTUP_PACING_GAIN,
            State::Drain => 50,
            State::ProbeBw(ProbeBw::Down) => 90,
            State::ProbeBw(ProbeBw::Up) => 125,
            State::ProbeBw(ProbeBw::Cruise | ProbeBw::Refill) | State::ProbeRtt => 100,
        }
    }

    /// BBR.cwnd_gain, in percent.
    const fn cwnd_gain(&self) -> u64 {
        match self.state {
            State::ProbeBw(ProbeBw::Up) => 225,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            State::Startup | State::Drain | State::ProbeBw(_) => DEFAULT_CWND_GAIN,
        }
    }

    /// InitPacingRate.
    pub(super) fn init_pacing(&mut self, rtt: Option<Span>) {
        self.has_seen_rtt = rtt.is_some();
        let rtt = rtt.unwrap_or(Span::from_ms(1)).max(Span::from_ps(1));
        let nominal = Rate::of(self.config.initial_window, rtt);
        self.pacing = Some(scaled(nominal, STARTUP_PACING_GAIN));
    }

    /// SetPacingRateWithGain.
    pub(super) fn set_pacing(&mut self, gain: u64) {
        let Some(bw) = self.bw() else {
            return;
        };
        let rate = scaled(scaled(bw, gain), PACING_MARGIN);
        let rate = Some(rate.max(Rate::from_bits_per_second(1)));
        if self.full.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    /// UpdateControlParameters.
    pub(super) fn update_control(&mut self, newly_acked: u64) {
        self.set_pacing(self.pacing_gain());
        self.set_cwnd(newly_acked);
    }

    /// BDPMultiple, for a gain in percent.
    fn bdp_multiple(&self, bw: Option<Rate>, gain: u64) -> u64 {
        let Some(min_rtt) = self.min_rtt.get() else {
            return self.config.initial_window.count();
        };
        percent(
            bw.map_or(Bytes::ZERO, |bw| bw.bytes_in(min_rtt)).count(),
            gain,
        )
    }

    /// BBR.bdp.
    pub(super) fn bdp(&self) -> u64 {
        self.bdp_multiple(self.bw(), 100)
    }

    /// BBR.MinPipeCwnd.
    pub(super) fn min_pipe(&self) -> u64 {
        MIN_PIPE * self.mss()
    }

    /// QuantizationBudget.
    fn with_budget(&self, inflight: u64) -> u64 {
        let offload = OFFLOAD_QUANTA * self.config.send_quantum.count();
        let more = if self.state == State::ProbeBw(ProbeBw::Up) {
            2 * self.mss()
        } else {
            0
        };
        inflight.max(offload).max(self.min_pipe()) + more
    }

    /// Inflight with a gain of 1.
    pub(super) fn inflight(&self, bw: Option<Rate>) -> u64 {
        self.with_budget(self.bdp_multiple(bw, 100))
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().min(self.cwnd)
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        let half = self.bdp_multiple(self.bw(), PROBE_RTT_CWND_GAIN);
        half.max(self.min_pipe())
    }

    /// SetCwnd (section 5.6.4.6).
    fn set_cwnd(&mut self, newly_acked: u64) {
        let model = self.bdp_multiple(self.bw(), self.cwnd_gain());
        let max = self.with_budget(model + self.extra_acked.get());
        let grown = self.cwnd + newly_acked;
        if self.full.reached {
            self.cwnd = grown.min(max);
        } else if self.cwnd < max || self.delivered < self.config.initial_window.count() {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.min_pipe());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    /// BoundCwndForModel (section 5.6.4.7).
    fn bound_cwnd(&mut self) {
        let long_term = match self.state {
            State::ProbeBw(ProbeBw::Cruise) | State::ProbeRtt => self.inflight_with_headroom(),
            State::ProbeBw(_) => self.long_term,
            State::Startup | State::Drain => None,
        };
        let bounds = [long_term, self.signals.inflight].into_iter().flatten();
        let bound = bounds.min().unwrap_or(u64::MAX);
        self.cwnd = self.cwnd.min(bound.max(self.min_pipe()));
    }

    /// SaveCwnd (section 5.6.4.4).
    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.recovering || self.state == State::ProbeRtt;
        let before = if modulated { self.prior_cwnd } else { 0 };
        self.prior_cwnd = self.cwnd.max(before);
    }

    /// RestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
