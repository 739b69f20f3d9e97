//! The window rule of Reno and NewReno: slow start, congestion avoidance and halving (RFC 5681).
//! The ECN reaction of RFC 3168 comes once per window of data.
//!
//! Leaves out: recovery (fast retransmit, partial ACKs, SACK) and the inflation of the window during
//! it. The transport has both, and so decides between Reno, NewReno and SACK.

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
}

impl Controller for NewReno {
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.window.on_ack(cx, ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        // RFC 3168, section 6.1.2: a mark counts as a loss, but nothing is retransmitted.
        self.window
            .on_congestion(cx, event, |window| half(window.flight(cx)))
    }

    fn restore(&mut self, before: &ControlState) {
        self.window.restore(before);
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    fn state(&self) -> ControlState {
        self.window.state()
    }
}
