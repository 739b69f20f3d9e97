//! D2TCP's sender (Vamanan, Hasan and Vijaykumar, "Deadline-Aware Datacenter TCP (D2TCP)", SIGCOMM
//! 2012): DCTCP whose reductions are smaller near the deadline, and larger far from it.
//!
//! Leaves out: the application's side (deadlines come in the context), and giving up on a deadline
//! that cannot be met. Without a deadline this is DCTCP.

use incastle_units::Bytes;

use crate::dctcp::{Dctcp, DctcpConfig};
use crate::{AckSample, CongestionEvent, Context, ControlState, Controller, Reaction, Window};

/// Parameters of D2TCP's sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct D2tcpConfig {
    /// DCTCP's parameters.
    pub dctcp: DctcpConfig,
    /// The least urgency d, above 0 and at most 1: that of a deadline far away.
    pub min_urgency: f64,
    /// The greatest urgency d, at least 1: that of a deadline that cannot be met.
    pub max_urgency: f64,
}

impl D2tcpConfig {
    /// The defaults for a segment size: d from 0.5 to 2 (the paper's section on the deadline
    /// imminence factor), DCTCP's own.
    pub const fn new(mss: Bytes) -> Self {
        Self {
            dctcp: DctcpConfig::new(mss),
            min_urgency: 0.5,
            max_urgency: 2.0,
        }
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub struct D2tcp {
    dctcp: Dctcp,
    min_urgency: f64,
    max_urgency: f64,
}

impl D2tcp {
    /// A controller at the beginning of a connection.
    pub fn new(config: D2tcpConfig) -> Self {
        let (least, greatest) = (config.min_urgency, config.max_urgency);
        assert!(least > 0.0 && least <= 1.0, "0 < min_urgency <= 1");
        assert!(greatest >= 1.0 && greatest.is_finite(), "max_urgency >= 1");
        Self {
            dctcp: Dctcp::new(config.dctcp),
            min_urgency: least,
            max_urgency: greatest,
        }
    }
}

/// T_c / D: the time that the rest of the data needs over the time that is left. T_c = B / (3/4 W)
/// round trips, since a sawtooth between W/2 and W has the mean 3/4 W. Infinite when no time is
/// left. Absent where any of them is unknown.
fn pressure(cx: &Context<'_>, cwnd: u64) -> Option<f64> {
    let (rest, rtt) = (cx.remaining?, cx.smoothed_rtt?.as_secs_lossy());
    let left = cx.deadline?.saturating_since(cx.now).as_secs_lossy();
    if left == 0.0 {
        return Some(f64::INFINITY);
    }
    let needed = rest.count() as f64 / (0.75 * cwnd as f64) * rtt;
    Some(needed / left)
}

impl Controller for D2tcp {
    #[inline]
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        self.dctcp.on_ack(cx, ack);
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        let bounds = (self.min_urgency, self.max_urgency);
        // p = alpha^d: d > 1, near the deadline, makes p smaller. A flow without a deadline has
        // d = 1.
        self.dctcp
            .react(cx, event, |alpha, cwnd| match pressure(cx, cwnd) {
                Some(d) => libm::pow(alpha, d.clamp(bounds.0, bounds.1)),
                None => alpha,
            })
    }

    fn restore(&mut self, before: &ControlState) {
        self.dctcp.restore(before);
    }

    #[inline]
    fn window(&self) -> Window {
        self.dctcp.window()
    }

    fn state(&self) -> ControlState {
        self.dctcp.state()
    }
}
