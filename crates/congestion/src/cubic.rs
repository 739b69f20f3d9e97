//! CUBIC (RFC 9438): congestion avoidance by a cubic function of the time since the last reaction,
//! never slower than Reno would be.
//!
//! Slow start is the window rule's (section 4.10 leaves the choice open). Under Linux's window rule the growth is that
//! of `cubic_linux`. Leaves out: W_max at the undoing
//! of spurious reactions (section 4.9). Windows are in segments, as in the RFC.

use incastle_units::{Bytes, Span, Time};

use crate::cubic_linux::{LinuxGrowth, Shape};
use crate::reno_window::{NewRenoConfig, RenoWindow, WindowRule};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, LimitedBy, Reaction, Window,
};

/// BICTCP_BETA_SCALE.
const BETA_SCALE: f64 = 1024.0;
/// One ACK never aims beyond this multiple of the window (RFC 9438, section 4.2).
const LARGEST_STEP: f64 = 1.5;

/// Parameters of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CubicConfig {
    /// The window rule: slow start, the floor, idleness.
    pub window: NewRenoConfig,
    /// The share of the flight that a reaction keeps, above 0 and below 1.
    pub beta: f64,
    /// The aggressiveness, in segments per second cubed.
    pub c: f64,
    /// Whether a flow that reacts below its last maximum aims lower, to make room for others.
    pub fast_convergence: bool,
}

impl CubicConfig {
    /// The defaults for a segment size: beta = 0.7 (RFC 9438, section 4.6), C = 0.4 (section 5),
    /// fast convergence (section 4.7), the window rule's own. (Its floor after a mark is two
    /// segments, as for the other algorithms here; section 4.6 allows one.)
    pub const fn new(mss: Bytes) -> Self {
        Self {
            window: NewRenoConfig::new(mss),
            beta: 0.7,
            c: 0.4,
            fast_convergence: true,
        }
    }
}

/// One stage of congestion avoidance.
#[derive(Debug, Clone)]
struct Epoch {
    /// The window with its fraction of a byte.
    cwnd: f64,
    /// When the cubic reaches W_max, in seconds from the beginning of the stage.
    k: f64,
    /// The window that Reno would have by now.
    w_est: f64,
    /// t: how long the flow has used its window in this stage.
    elapsed: Span,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Cubic {
    window: RenoWindow,
    config: CubicConfig,
    /// The plateau of the cubic. Zero until a reaction, and after a timeout.
    w_max: f64,
    /// The window just before the last reaction.
    cwnd_prior: f64,
    /// Present in congestion avoidance.
    epoch: Option<Epoch>,
    /// Until when `elapsed` has been counted.
    counted_until: Time,
    /// Under Linux's window rule, in place of the epoch.
    linux: Option<Box<LinuxGrowth>>,
}

impl Cubic {
    /// A controller at the beginning of a connection.
    pub fn new(config: CubicConfig) -> Self {
        assert!(config.beta > 0.0 && config.beta < 1.0, "0 < beta < 1");
        assert!(config.c > 0.0 && config.c.is_finite(), "c > 0");
        Self {
            window: RenoWindow::new(config.window),
            config,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            counted_until: Time::ZERO,
            linux: (config.window.rule == WindowRule::Linux).then(Box::default),
        }
    }

    fn segments(&self) -> f64 {
        self.window.cwnd() as f64 / self.window.mss() as f64
    }

    /// RFC 9438, sections 4.2, 4.8 and 4.10: K from the growth up to W_max. After a timeout, or a
    /// slow start without congestion, the plateau is here and K = 0.
    fn begin_epoch(&mut self) -> Epoch {
        let cwnd = self.segments();
        let k = if self.w_max > cwnd {
            // Equation 2.
            libm::cbrt((self.w_max - cwnd) / self.config.c)
        } else {
            self.w_max = cwnd;
            0.0
        };
        Epoch {
            cwnd,
            k,
            w_est: cwnd,
            elapsed: Span::ZERO,
        }
    }

    /// Equation 1.
    fn w_cubic(&self, epoch: &Epoch, t: f64) -> f64 {
        let x = t - epoch.k;
        self.config.c * x * x * x + self.w_max
    }

    /// Section 4.3: additive increase that gives a Reno that halves by beta the same mean window.
    fn alpha(&self, epoch: &Epoch) -> f64 {
        if epoch.w_est >= self.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.config.beta) / (1.0 + self.config.beta)
        }
    }

    /// One ACK of congestion avoidance.
    fn avoid_congestion(&mut self, cx: &Context<'_>, acked: Bytes) {
        let mut epoch = match self.epoch.take() {
            Some(epoch) => epoch,
            None => self.begin_epoch(),
        };
        let acked = (acked.count() as f64 / self.window.mss() as f64).min(epoch.cwnd);
        // Equation 4.
        epoch.w_est += self.alpha(&epoch) * acked / epoch.cwnd;
        let t = epoch.elapsed.as_secs_lossy();
        if self.w_cubic(&epoch, t) < epoch.w_est {
            // Section 4.3, the Reno-friendly region.
            epoch.cwnd = epoch.cwnd.max(epoch.w_est);
        } else {
            // Sections 4.4 and 4.5. The RFC counts ACKs; here each segment that an ACK covers
            // counts, so that delayed ACKs do not slow the growth.
            let rtt = cx.smoothed_rtt.map_or(0.0, Span::as_secs_lossy);
            let target = self
                .w_cubic(&epoch, t + rtt)
                .clamp(epoch.cwnd, LARGEST_STEP * epoch.cwnd);
            epoch.cwnd += (target - epoch.cwnd) / epoch.cwnd * acked;
        }
        let bytes = (epoch.cwnd * self.window.mss() as f64) as u64;
        self.window.grow_to(bytes.max(self.window.cwnd()));
        self.epoch = Some(epoch);
    }

    /// The same as Linux has it.
    #[inline(never)]
    fn grow_by_segments(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) {
        let left = if self.window.in_slow_start() {
            self.window.slow_start(ack)
        } else {
            ack.segments.into()
        };
        let CubicConfig { c, beta, .. } = self.config;
        if let Some(linux) = &mut self.linux
            && left > 0
        {
            let cwnd = self.window.segments();
            let credit = linux.update(cx.now, cwnd, left, Shape { c, beta });
            self.window.avoid_congestion_by(left, credit);
        }
    }

    /// Sections 4.6 and 4.7: the window before a reaction, which the cubic remembers.
    fn remember(&mut self) {
        if let Some(linux) = &mut self.linux {
            let CubicConfig { beta, .. } = self.config;
            linux.on_reduction(self.window.segments(), self.config.fast_convergence, beta);
        }
        let cwnd = self.segments();
        self.cwnd_prior = cwnd;
        self.w_max = if self.config.fast_convergence && cwnd < self.w_max {
            cwnd * (1.0 + self.config.beta) / 2.0
        } else {
            cwnd
        };
        self.epoch = None;
    }

    fn on_ecn(&mut self, cx: &Context<'_>) -> Reaction {
        if self.window.reacted(cx) {
            return Reaction::Ignored;
        }
        self.remember();
        let share = keep(&self.config);
        self.window.on_ecn(cx, share(self.window.flight(cx)));
        Reaction::Reduced
    }

    fn on_loss(&mut self, cx: &Context<'_>) -> Reaction {
        if self.window.cut_on_mark(cx).is_none() {
            self.remember();
        }
        self.epoch = None;
        self.window.on_loss(cx, keep(&self.config))
    }

    fn on_timeout(&mut self, cx: &Context<'_>, backoff: u32) {
        if backoff == 0 {
            self.remember();
        }
        self.epoch = None;
        if let Some(linux) = &mut self.linux {
            **linux = LinuxGrowth::default();
        }
        // Section 4.8: W_max is the window at the beginning of the next congestion avoidance.
        self.w_max = 0.0;
        self.window.on_timeout(cx, backoff, keep(&self.config));
    }
}

/// Equation 5: a flight times beta. Linux has whole segments, and beta in 1024ths.
fn keep(config: &CubicConfig) -> impl Fn(u64) -> u64 {
    let (beta, rule, mss) = (config.beta, config.window.rule, config.window.mss.count());
    let scaled = (beta * BETA_SCALE + 0.5) as u64;
    move |flight| match rule {
        WindowRule::Rfc => (flight as f64 * beta) as u64,
        WindowRule::Linux => flight / mss * scaled / BETA_SCALE as u64 * mss,
    }
}

impl Controller for Cubic {
    fn on_sent(&mut self, cx: &mut Context<'_>, size: Bytes) {
        // The first packet after idleness: t does not count the time before it (section 5.8).
        if cx.in_flight <= size {
            if let Some(linux) = &mut self.linux {
                linux.on_idle(cx.now.saturating_since(self.counted_until));
            }
            self.counted_until = cx.now;
        }
    }

    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        if let Some(epoch) = &mut self.epoch
            && ack.limited_by == LimitedBy::Window
        {
            epoch.elapsed += cx.now.saturating_since(self.counted_until);
        }
        self.counted_until = cx.now;
        if let (Some(linux), Some(rtt)) = (&mut self.linux, ack.rtt) {
            linux.on_rtt(cx.now, rtt);
        }
        if !self.window.may_grow(cx, ack) || ack.acked == Bytes::ZERO {
            return;
        }
        if self.linux.is_some() {
            return self.grow_by_segments(cx, ack);
        }
        if self.window.in_slow_start() {
            self.window.slow_start(ack);
        } else {
            self.avoid_congestion(cx, ack.acked);
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Ecn => self.on_ecn(cx),
            CongestionEvent::Loss { .. } => self.on_loss(cx),
            CongestionEvent::Timeout { backoff } => {
                self.on_timeout(cx, backoff);
                Reaction::Reduced
            }
            CongestionEvent::IdleRestart => {
                self.window.on_idle_restart();
                self.epoch = None;
                Reaction::Ignored
            }
            CongestionEvent::Over => Reaction::Ignored,
        }
    }

    fn restore(&mut self, before: &ControlState) {
        self.window.restore(before);
        // The next stage begins at the restored window, which is its plateau.
        self.epoch = None;
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    fn state(&self) -> ControlState {
        self.window.state()
    }
}
