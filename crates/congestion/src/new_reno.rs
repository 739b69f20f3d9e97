//! The window rule of Reno and NewReno: slow start, congestion avoidance, halving (RFC 5681), with
//! the ECN reaction of RFC 3168 once per window of data.
//!
//! Leaves out: recovery itself (fast retransmit, partial ACKs, SACK) and the inflation of the window
//! during it, which the transport owns: whether this is Reno, NewReno or SACK is decided there.

use incastle_units::Bytes;

use crate::reno_window::{NewRenoConfig, RenoWindow, half};
use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

/// The controller.
#[derive(Debug, Clone)]
pub struct NewReno {
    window: RenoWindow,
}

impl NewReno {
    /// A controller at the beginning of a connection.
    pub fn new(config: NewRenoConfig) -> Self {
        Self {
            window: RenoWindow::new(config),
        }
    }

    /// RFC 3168, section 6.1.2: as for a loss, but nothing is to be retransmitted.
    fn on_ecn(&mut self, cx: &Context<'_>) -> Reaction {
        if self.window.reacted(cx) {
            return Reaction::Ignored;
        }
        self.window.on_ecn(cx, half(self.window.flight(cx)));
        Reaction::Reduced
    }
}

impl Controller for NewReno {
    #[inline]
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &AckSample) {
        self.window.on_ack(ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        match event {
            CongestionEvent::Ecn => self.on_ecn(cx),
            CongestionEvent::Loss { .. } => self.window.on_loss(cx, half),
            CongestionEvent::Timeout { backoff } => {
                self.window.on_timeout(cx, backoff, half);
                Reaction::Reduced
            }
            CongestionEvent::IdleRestart => {
                self.window.on_idle_restart();
                Reaction::Ignored
            }
            CongestionEvent::Over => Reaction::Ignored,
        }
    }

    #[inline]
    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.window.cwnd()))
    }

    fn state(&self) -> ControlState {
        self.window.state()
    }
}
