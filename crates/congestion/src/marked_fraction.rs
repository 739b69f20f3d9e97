//! DCTCP's estimate of the fraction of data that was marked (RFC 8257, section 3.3), which DCTCP,
//! D2TCP and DT-CWA share.
//!
//! Leaves out: the reaction. SACKed bytes enter when they are cumulatively acknowledged, as RFC 8257
//! has it.

use crate::{AckSample, Context, Echo};

/// alpha, and the observation window that it learns from.
#[derive(Debug, Clone)]
pub(crate) struct MarkedFraction {
    g: f64,
    alpha: f64,
    /// The observation window ends when an ACK passes this.
    window_end: u64,
    /// Bytes acknowledged in this observation window.
    acked: u64,
    /// Those of them that ACKs with ECE acknowledged.
    marked: u64,
}

impl MarkedFraction {
    /// An estimate that weighs the newest window by `g` and begins at `initial_alpha`.
    pub(crate) fn new(g: f64, initial_alpha: f64) -> Self {
        assert!(g > 0.0 && g <= 1.0, "0 < g <= 1");
        assert!(
            (0.0..=1.0).contains(&initial_alpha),
            "0 <= initial_alpha <= 1"
        );
        Self {
            g,
            alpha: initial_alpha,
            window_end: 0,
            acked: 0,
            marked: 0,
        }
    }

    #[inline]
    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// RFC 8257, section 3.3, steps 1 to 4.
    #[inline]
    pub(crate) fn on_ack(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) {
        self.acked += ack.acked.count();
        if ack.echo == Echo::Congestion {
            self.marked += ack.acked.count();
        }
        if cx.snd_una > self.window_end {
            self.end_window(cx.snd_nxt);
        }
    }

    /// RFC 8257, section 3.3, steps 5 to 8: alpha <- (1 - g) alpha + g F.
    fn end_window(&mut self, snd_nxt: u64) {
        if self.acked > 0 {
            let fraction = self.marked as f64 / self.acked as f64;
            self.alpha = (1.0 - self.g) * self.alpha + self.g * fraction;
        }
        assert!(
            (0.0..=1.0).contains(&self.alpha),
            "alpha is a mean of fractions"
        );
        self.window_end = snd_nxt;
        self.acked = 0;
        self.marked = 0;
    }
}
