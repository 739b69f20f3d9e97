//! Swift over TCP (Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the
//! Datacenter", SIGCOMM 2020): a window that holds the delay at a target, which grows with the path's hops
//! and with the number of flows, seen by their small windows.
//!
//! The delay is TCP's round-trip sample. Leaves out: the split into fabric and endpoint delay with a window
//! for each (timestamps of NICs), and rerouting. Other than in the paper, the window grows neither in
//! recovery nor while the application limits the sender.

use incastle_units::{Bytes, Rate, Span, Time};

use crate::{
    AckSample, CongestionEvent, Context, ControlState, Controller, LimitedBy, Phase, Reaction,
    Window,
};

/// The least window in segments (the paper, large-scale incast).
const MIN_CWND: f64 = 0.001;
/// The greatest window in segments: more than TCP's greatest receive window has of the usual size.
const MAX_CWND: f64 = 1e6;

/// Parameters of Swift, with the paper's names.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SwiftConfig {
    /// The segment size.
    pub mss: Bytes,
    /// The window at the start.
    pub initial_window: Bytes,
    /// The increase per round trip, in segments.
    pub ai: f64,
    /// The weight of the excess of the delay in a decrease.
    pub beta: f64,
    /// The greatest decrease.
    pub max_mdf: f64,
    /// The target without scaling.
    pub base_target: Span,
    /// The addition for each hop.
    pub hop_scale: Span,
    /// The switches of the path, as the TTL counts them.
    pub hops: u32,
    /// The most that small windows add to the target.
    pub fs_range: Span,
    /// The window in segments up to which they add all of it.
    pub fs_min_cwnd: f64,
    /// The window from which on they add nothing.
    pub fs_max_cwnd: f64,
    /// Timeouts in a row that make the window the least.
    pub retx_reset_threshold: u32,
}

impl SwiftConfig {
    /// The defaults for a segment size and no hops. We found no source with Google's values; these are the
    /// ones of htsim (`SwiftSrc` of sim/swift.cpp), which names them guesses.
    pub const fn new(mss: Bytes) -> Self {
        Self {
            mss,
            initial_window: Bytes::new(10 * mss.count()),
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            base_target: Span::from_us(20),
            // There 20 us / 6.55.
            hop_scale: Span::from_us(3),
            hops: 0,
            fs_range: Span::from_us(100),
            fs_min_cwnd: 0.1,
            fs_max_cwnd: 100.0,
            retx_reset_threshold: 5,
        }
    }

    /// The target without flow scaling.
    pub fn topology_target(&self) -> Span {
        self.base_target + self.hop_scale * u64::from(self.hops)
    }
}

/// The controller.
#[derive(Debug, Clone)]
pub struct Swift {
    config: SwiftConfig,
    /// In segments.
    cwnd: f64,
    last_decrease: Option<Time>,
    retransmits: u32,
    rtt: Option<Span>,
}

impl Swift {
    /// A controller at the beginning of a connection.
    pub fn new(config: SwiftConfig) -> Self {
        let SwiftConfig {
            fs_min_cwnd,
            fs_max_cwnd,
            ..
        } = config;
        assert!(
            0.0 < fs_min_cwnd && fs_min_cwnd < fs_max_cwnd,
            "0 < fs_min_cwnd < fs_max_cwnd"
        );
        let cwnd = config.initial_window.count() as f64 / config.mss.count() as f64;
        Self {
            cwnd: cwnd.clamp(MIN_CWND, MAX_CWND),
            config,
            last_decrease: None,
            retransmits: 0,
            rtt: None,
        }
    }

    /// Target delay scaling: by hops, and by 1 / sqrt(cwnd) between the two windows.
    pub fn target(&self) -> Span {
        let config = &self.config;
        let range = config.fs_range.as_ps() as f64;
        let last = 1.0 / config.fs_max_cwnd.sqrt();
        let alpha = range / (1.0 / config.fs_min_cwnd.sqrt() - last);
        let flows = alpha * (1.0 / self.cwnd.sqrt() - last);
        config.topology_target() + Span::from_ps(flows.clamp(0.0, range) as u64)
    }

    /// Once per round trip.
    fn can_decrease(&self, now: Time) -> bool {
        let rtt = self.rtt.unwrap_or(Span::ZERO);
        self.last_decrease
            .is_none_or(|last| now.saturating_since(last) >= rtt)
    }

    fn decrease(&mut self, now: Time, factor: f64) -> Reaction {
        if !self.can_decrease(now) {
            return Reaction::Ignored;
        }
        self.move_to(self.cwnd * factor);
        self.last_decrease = Some(now);
        Reaction::Reduced
    }

    fn move_to(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(MIN_CWND, MAX_CWND);
    }

    /// Algorithm 1, where an ACK arrives below the target.
    fn increase(&mut self, acked: Bytes) {
        let step = self.config.ai * self.segments(acked);
        let divisor = if self.cwnd >= 1.0 { self.cwnd } else { 1.0 };
        self.move_to(self.cwnd + step / divisor);
    }

    fn segments(&self, bytes: Bytes) -> f64 {
        bytes.count() as f64 / self.config.mss.count() as f64
    }

    fn bytes(&self) -> f64 {
        self.cwnd * self.config.mss.count() as f64
    }
}

impl Controller for Swift {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample<'_>) {
        if ack.acked > Bytes::ZERO {
            self.retransmits = 0;
        }
        self.rtt = cx.smoothed_rtt;
        let Some(delay) = ack.rtt else {
            return;
        };
        let target = self.target();
        if delay >= target {
            // Algorithm 1, where an ACK arrives at the target or above.
            let excess = (delay - target).as_ps() as f64 / delay.as_ps().max(1) as f64;
            let factor = (1.0 - self.config.beta * excess).max(1.0 - self.config.max_mdf);
            let _ = self.decrease(cx.now, factor);
        } else if ack.limited_by == LimitedBy::Window && ack.phase != Phase::Recovery {
            self.increase(ack.acked);
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        self.rtt = cx.smoothed_rtt;
        let halved = 1.0 - self.config.max_mdf;
        match event {
            // Algorithm 1, "On Fast Recovery".
            CongestionEvent::Loss { .. } => self.decrease(cx.now, halved),
            // "On Retransmit Timeout".
            CongestionEvent::Timeout { .. } => {
                self.retransmits += 1;
                if self.retransmits >= self.config.retx_reset_threshold {
                    self.move_to(MIN_CWND);
                    self.last_decrease = Some(cx.now);
                    return Reaction::Reduced;
                }
                self.decrease(cx.now, halved)
            }
            CongestionEvent::Ecn | CongestionEvent::IdleRestart | CongestionEvent::Over => {
                Reaction::Ignored
            }
        }
    }

    fn restore(&mut self, before: &ControlState) {
        let cwnd = before.cwnd.map_or(0.0, |bytes| self.segments(bytes));
        self.move_to(self.cwnd.max(cwnd));
    }

    #[inline]
    fn window(&self) -> Window {
        // The transport sends a segment where the window is less; the pacing rate spaces them then.
        Window::Limited(Bytes::new((self.bytes() as u64).max(1)))
    }

    /// Algorithm 1: below one segment, one each RTT / cwnd.
    fn pacing(&self) -> Option<Rate> {
        if self.cwnd >= 1.0 {
            return None;
        }
        let rate = 8.0 * self.bytes() / self.rtt?.as_secs_lossy().max(1e-12);
        Some(Rate::from_bits_per_second((rate as u64).max(1)))
    }

    fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new(self.bytes() as u64)),
            rate: self.pacing(),
            ..ControlState::default()
        }
    }
}
