//! DCTCP's sender (RFC 8257; Alizadeh et al., SIGCOMM 2010): NewReno that answers marks in
//! proportion to the fraction of data that was marked.
//!
//! Leaves out: the receiver's echo (transport) and the switch's marking (queueing). Loss is
//! NewReno's. As RFC 8257 has it, SACKed bytes enter the estimate when they are cumulatively
//! acknowledged.

use incastle_units::Bytes;

use crate::reno_window::{NewRenoConfig, RenoWindow};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};

/// Parameters of DCTCP's sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DctcpConfig {
    /// The window rule.
    pub window: NewRenoConfig,
    /// The weight of one window's marked fraction in the estimate, above 0 and at most 1.
    pub g: f64,
    /// The estimate at the start, 0 to 1.
    pub initial_alpha: f64,
}

impl DctcpConfig {
    /// The defaults for a segment size: g = 1/16, alpha = 1 at first (RFC 8257, section 3.3 and
    /// 4.2), the window rule's own.
    pub const fn new(mss: Bytes) -> Self {
        Self {
            window: NewRenoConfig::new(mss),
            g: 1.0 / 16.0,
            initial_alpha: 1.0,
        }
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Dctcp {
    window: RenoWindow,
    g: f64,
    alpha: f64,
    /// The observation window ends when an ACK passes this.
    window_end: u64,
    /// Bytes acknowledged in this observation window.
    acked: u64,
    /// Those of them that ACKs with ECE acknowledged.
    marked: u64,
}

impl Dctcp {
    /// A controller at the beginning of a connection.
    pub fn new(config: DctcpConfig) -> Self {
        assert!(config.g > 0.0 && config.g <= 1.0, "0 < g <= 1");
        assert!(
            (0.0..=1.0).contains(&config.initial_alpha),
            "0 <= initial_alpha <= 1"
        );
        Self {
            window: RenoWindow::new(config.window),
            g: config.g,
            alpha: config.initial_alpha,
            window_end: 0,
            acked: 0,
            marked: 0,
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

impl Controller for Dctcp {
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        self.window.on_ack(ack);
        // RFC 8257, section 3.3, steps 1 to 4.
        self.acked += ack.acked.count();
        if ack.echo == Echo::Congestion {
            self.marked += ack.acked.count();
        }
        if cx.snd_una > self.window_end {
            self.end_window(cx.snd_nxt);
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        // RFC 8257, section 3.3: cwnd <- cwnd (1 - alpha / 2), once per window of data. Section 3.5:
        // loss is answered as in conventional TCP; alpha stays.
        let kept = 1.0 - self.alpha / 2.0;
        self.window
            .on_congestion(cx, event, |window| (window.cwnd() as f64 * kept) as u64)
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(self.alpha),
            ..self.window.state()
        }
    }
}
