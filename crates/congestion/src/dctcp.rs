//! DCTCP's sender (RFC 8257; Alizadeh et al., SIGCOMM 2010): NewReno that reduces its window in
//! proportion to the fraction of data that was marked.
//!
//! Leaves out: the receiver's echo (transport) and the switch's marking (queueing). Loss is
//! NewReno's. The estimate of the fraction is in `marked_fraction`.

use incastle_units::Bytes;

use crate::marked_fraction::MarkedFraction;
use crate::reno_window::{NewRenoConfig, RenoWindow};
use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

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
    estimate: MarkedFraction,
}

impl Dctcp {
    /// A controller at the beginning of a connection.
    pub fn new(config: DctcpConfig) -> Self {
        Self {
            window: RenoWindow::new(config.window),
            estimate: MarkedFraction::new(config.g, config.initial_alpha),
        }
    }

    /// cwnd <- cwnd (1 - p / 2) once per window of data, where `penalty` makes p of alpha and cwnd.
    /// RFC 8257, section 3.5: the reaction to loss is that in conventional TCP; alpha stays.
    pub(crate) fn react(
        &mut self,
        cx: &Context<'_>,
        event: CongestionEvent,
        penalty: impl FnOnce(f64, u64) -> f64,
    ) -> Reaction {
        let alpha = self.estimate.alpha();
        self.window.on_congestion(cx, event, |window| {
            let kept = 1.0 - penalty(alpha, window.cwnd()) / 2.0;
            (window.cwnd() as f64 * kept) as u64
        })
    }
}

impl Controller for Dctcp {
    #[inline(always)]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.window.on_ack(cx, ack);
        self.estimate.on_ack(cx, ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        // RFC 8257, section 3.3: p = alpha.
        self.react(cx, event, |alpha, _| alpha)
    }

    fn restore(&mut self, before: &ControlState) {
        self.window.restore(before);
    }

    #[inline]
    fn window(&self) -> Window {
        self.window.limit()
    }

    fn state(&self) -> ControlState {
        ControlState {
            alpha: Some(self.estimate.alpha()),
            ..self.window.state()
        }
    }
}
