//! The window rule of Reno and NewReno: slow start, congestion avoidance, halving (RFC 5681), with
//! the ECN reaction of RFC 3168 once per window of data.
//!
//! Leaves out: recovery itself (fast retransmit, partial ACKs, SACK), which the transport owns; the
//! inflation of the window during fast recovery is the transport's too.

use incastle_units::Bytes;

use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, LimitedBy, Phase,
    Reaction, Window,
};

/// Sizes and switches of the window rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRenoConfig {
    /// The maximum segment size.
    pub mss: Bytes,
    /// The window at the start and after idleness (RFC 6928: 10 segments).
    pub initial_window: Bytes,
    /// The floor after an ECN reaction.
    pub min_cwnd: Bytes,
    /// Whether ACKs with ECE grow the window.
    pub grow_on_ece: bool,
}

/// The controller.
#[derive(Debug, Clone)]
pub struct NewReno {
    config: NewRenoConfig,
    cwnd: u64,
    ssthresh: u64,
    /// Bytes acknowledged since the window last grew in congestion avoidance.
    counted: u64,
    /// The ECN reaction is over when SND.UNA passes this.
    reacted_until: Option<u64>,
}

impl NewReno {
    /// A controller at the beginning of a connection.
    pub fn new(config: NewRenoConfig) -> Self {
        Self {
            config,
            cwnd: config.initial_window.count(),
            ssthresh: u64::MAX,
            counted: 0,
            reacted_until: None,
        }
    }

    /// RFC 5681, equations 2 and 3, counted in bytes (section 3.1, and RFC 3465 with L = 2).
    fn grow(&mut self, acked: u64) {
        let mss = self.config.mss.count();
        if self.cwnd < self.ssthresh {
            self.cwnd += acked.min(2 * mss);
            return;
        }
        self.counted += acked;
        if self.counted >= self.cwnd {
            self.counted -= self.cwnd;
            self.cwnd += mss;
        }
    }

    fn halve(&mut self, in_flight: Bytes) {
        // RFC 5681, equation 4.
        self.ssthresh = (in_flight.count() / 2).max(2 * self.config.mss.count());
        self.counted = 0;
    }
}

impl Controller for NewReno {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        if self.reacted_until.is_some_and(|until| cx.snd_una > until) {
            self.reacted_until = None;
        }
        let blocked = ack.echo == Echo::Congestion && !self.config.grow_on_ece;
        if ack.phase != Phase::Recovery && ack.limited_by == LimitedBy::Window && !blocked {
            self.grow(ack.acked.count());
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Ecn => {
                // RFC 3168, section 6.1.2: at most once per window of data.
                if self.reacted_until.is_some() {
                    return Reaction::Ignored;
                }
                self.reacted_until = Some(cx.snd_nxt);
                self.halve(cx.in_flight);
                self.cwnd = self.ssthresh.max(self.config.min_cwnd.count());
            }
            CongestionEvent::Loss { .. } => {
                self.halve(cx.in_flight);
                self.cwnd = self.ssthresh;
            }
            CongestionEvent::Timeout { backoff } => {
                if backoff == 0 {
                    self.halve(cx.in_flight);
                }
                self.cwnd = self.config.mss.count();
            }
            CongestionEvent::IdleRestart => {
                self.cwnd = self.cwnd.min(self.config.initial_window.count());
            }
        }
        Reaction::Reduced
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.cwnd))
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new(self.cwnd)),
            ssthresh: (self.ssthresh != u64::MAX).then_some(Bytes::new(self.ssthresh)),
            ..ControlState::default()
        }
    }
}
