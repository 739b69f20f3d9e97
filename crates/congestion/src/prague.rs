//! Prague, the congestion control of L4S (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP that
//! grows by every unmarked ACK, paces, and from some round trips after slow start on competes as if its
//! round-trip time were 25 ms.
//!
//! Leaves out: smaller segments at low rates, the variation of the pacing rate by 3 %, offloaded bursts,
//! and the fallback to a classic control where marks are classic; losses halve the window, as in Reno.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::pacing::{Paced, PacingRatio};
use crate::reno_window::{NewRenoConfig, RenoWindow};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};

/// The window per round-trip time, doubled in slow start (section 2.5.1, packet pacing).
const PACING: PacingRatio = PacingRatio {
    slow_start: 200,
    avoidance: 100,
};

/// The least pacing rate (Linux's reference implementation: 100 kbit/s).
const MIN_RATE: Rate = Rate::from_bits_per_second(100_000);

/// Parameters of Prague.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PragueConfig {
    /// The window rule.
    pub window: NewRenoConfig,
    /// The weight of one round's marked fraction in the estimate, above 0 and at most 1.
    pub g: f64,
    /// The estimate until the first mark, 0 to 1.
    pub initial_alpha: f64,
    /// The round-trip time as if which shorter ones compete; zero turns that off.
    pub rtt_target: Span,
    /// Round trips from the end of slow start until then.
    pub rtt_transition: u32,
}

impl PragueConfig {
    /// The defaults for a segment size: g = 1/16 and alpha = 1 at first (section 2.3.2, moving average of
    /// ECN feedback), 25 ms (section 2.4.4, reduced RTT-dependence), four round trips (Linux's
    /// reference implementation, version 0.7).
    pub const fn new(mss: Bytes) -> Self {
        Self {
            window: NewRenoConfig::new(mss),
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
            rtt_target: Span::from_ms(25),
            rtt_transition: 4,
        }
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Prague {
    window: RenoWindow,
    config: PragueConfig,
    /// The window with its fraction, in bytes; it may fall below that of `window`, whose floor are some
    /// segments. The pacing rate follows it.
    cwnd: f64,
    alpha: f64,
    /// Whether a mark was seen: alpha is not updated before.
    marked_once: bool,
    /// Bytes acknowledged since alpha was updated, and those of them that ACKs with ECE acknowledged.
    acked: u64,
    marked: u64,
    alpha_at: Time,
    /// A round trip ends when an ACK passes this.
    round_end: u64,
    /// Round trips since slow start.
    rounds: u32,
    reduced_at: Time,
    rtt: Option<Span>,
    pacing: Option<Rate>,
}

impl Prague {
    /// A controller at the beginning of a connection.
    pub fn new(config: PragueConfig) -> Self {
        assert!(config.g > 0.0 && config.g <= 1.0, "0 < g <= 1");
        assert!(
            (0.0..=1.0).contains(&config.initial_alpha),
            "0 <= initial_alpha <= 1"
        );
        let window = RenoWindow::new(config.window);
        Self {
            cwnd: window.cwnd() as f64,
            window,
            alpha: config.initial_alpha,
            marked_once: false,
            acked: 0,
            marked: 0,
            alpha_at: Time::ZERO,
            round_end: 0,
            rounds: 0,
            reduced_at: Time::ZERO,
            rtt: None,
            pacing: None,
            config,
        }
    }

    /// Whether it competes by the target instead of its round-trip time (section 2.4.4).
    fn is_independent(&self) -> bool {
        !self.window.in_slow_start() && self.rounds >= self.config.rtt_transition
    }

    /// Section 2.4.4: the increase per round trip, in segments, so that the rate grows by one segment per
    /// target in each target: (RTT / target)^2.
    fn increase(&self) -> f64 {
        let target = self.config.rtt_target;
        match self.rtt {
            Some(rtt) if self.is_independent() && rtt < target => {
                let ratio = rtt.as_ps() as f64 / target.as_ps() as f64;
                ratio * ratio
            }
            _ => 1.0,
        }
    }

    /// Section 2.4.3, additive increase and ECN feedback: each unmarked byte adds its share.
    fn avoid_congestion(&mut self, acked: Bytes) {
        let acked = (acked.count() as f64).min(self.cwnd);
        self.cwnd += self.increase() * self.window.mss() as f64 * acked / self.cwnd;
        let whole = self.cwnd as u64;
        self.window.grow_to(whole.max(self.window.cwnd()));
    }

    /// Section 2.3.2: alpha <- (1 - g) alpha + g F, once per round trip, or per target.
    fn update_alpha(&mut self, cx: &Context<'_>) {
        let waits = self.is_independent()
            && cx.now.saturating_since(self.alpha_at) < self.config.rtt_target;
        if cx.snd_una <= self.round_end || waits {
            return;
        }
        if self.marked_once && self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = (1.0 - self.config.g) * self.alpha + self.config.g * fraction;
            assert!(
                (0.0..=1.0).contains(&self.alpha),
                "alpha is a mean of fractions"
            );
        }
        self.acked = 0;
        self.marked = 0;
        self.alpha_at = cx.now;
        self.round_end = cx.snd_nxt;
        if !self.window.in_slow_start() {
            self.rounds = self.rounds.saturating_add(1);
        }
    }

    /// Section 2.4.2, multiplicative decrease on ECN feedback: cwnd <- cwnd (1 - alpha / 2), once per
    /// round trip, or per target.
    fn on_mark(&mut self, cx: &Context<'_>) -> Reaction {
        let waits = self.is_independent()
            && cx.now.saturating_since(self.reduced_at) < self.config.rtt_target;
        if waits || self.window.reacted(cx) {
            return Reaction::Ignored;
        }
        self.reduced_at = cx.now;
        self.cwnd *= 1.0 - self.alpha / 2.0;
        self.window.on_ecn(cx, self.cwnd as u64);
        Reaction::Reduced
    }

    /// Section 2.5.1. Below the floor of the window the fraction alone sets the rate.
    fn pace(&mut self, cx: &Context<'_>) {
        let Some(rtt) = cx.smoothed_rtt else {
            return;
        };
        let below = self.cwnd < self.config.window.min_cwnd.count() as f64;
        let paced = Paced {
            outstanding: if below { Bytes::ZERO } else { cx.in_flight },
            rtt,
        };
        let cwnd = Bytes::new(self.cwnd as u64);
        let rate = PACING.rate(cwnd, self.window.state().ssthresh, paced);
        self.rtt = Some(rtt);
        self.pacing = Some(rate.max(MIN_RATE));
    }
}

impl Controller for Prague {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.acked += ack.acked.count();
        if ack.echo == Echo::Congestion {
            self.marked_once = true;
            self.marked += ack.acked.count();
        }
        if self.window.may_grow(cx, ack) && ack.acked > Bytes::ZERO {
            if self.window.in_slow_start() {
                self.window.slow_start(ack);
                self.cwnd = self.window.cwnd() as f64;
            } else {
                self.avoid_congestion(ack.acked);
            }
        }
        self.update_alpha(cx);
        self.pace(cx);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let reaction = if event == CongestionEvent::Ecn {
            self.on_mark(cx)
        } else {
            // Section 2.4.1, fall-back on loss; timeouts and idleness likewise.
            let reaction = self
                .window
                .on_congestion(cx, event, |_| unreachable!("marks are handled above"));
            self.cwnd = self.cwnd.min(self.window.cwnd() as f64);
            reaction
        };
        self.pace(cx);
        reaction
    }

    fn restore(&mut self, before: &ControlState) {
        self.window.restore(before);
        self.cwnd = self.cwnd.max(self.window.cwnd() as f64);
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    #[inline]
    fn pacing(&self) -> Option<Rate> {
        self.pacing
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(self.alpha),
            rate: self.pacing,
            ..self.window.state()
        }
    }
}
