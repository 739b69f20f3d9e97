//! The arguments of the sender half: time, configuration, controller and counters, and an
//! acknowledgement as the sender reads it. Leaves out the segment as the wire has it, which is in
//! `segment`.

use incastle_congestion::{Algorithm, Controller, Echo, LimitedBy, Window};
use incastle_units::{Span, Time};
use rand_core::Rng;

use super::config::Config;
use super::segment::SackBlock;
use super::stats::Stats;

/// The parts of the connection that the sender needs in each call.
pub(super) struct Io<'a> {
    pub(super) now: Time,
    pub(super) config: &'a Config,
    pub(super) algorithm: &'a mut Algorithm,
    pub(super) rng: &'a mut dyn Rng,
    pub(super) stats: &'a mut Stats,
}

/// The window of new data.
#[derive(Debug, Clone, Copy)]
pub(super) struct SendWindow {
    /// In octets.
    pub(super) cwnd: u64,
    /// The limit that applies to a sender that fills its window.
    pub(super) limited_by: LimitedBy,
}

impl Io<'_> {
    /// The window of new data.
    #[inline]
    pub(super) fn window(&self) -> SendWindow {
        send_window(self.algorithm, self.config)
    }
}

/// The controller's window, at least one segment (else nothing would ever move), and at most the
/// configuration's.
#[inline]
pub(super) fn send_window(algorithm: &Algorithm, config: &Config) -> SendWindow {
    let window = match algorithm.window() {
        Window::Limited(bytes) => bytes.count().max(u64::from(config.mss)),
        Window::Unlimited => u64::MAX / 4,
    };
    match config.max_cwnd {
        Some(max) if max.count() < window => SendWindow {
            cwnd: max.count(),
            limited_by: LimitedBy::Application,
        },
        _ => SendWindow {
            cwnd: window,
            limited_by: LimitedBy::Window,
        },
    }
}

/// An arriving segment, as the sender half reads it.
pub(super) struct AckInfo<'a> {
    /// The cumulative acknowledgement.
    pub(super) ack: u64,
    /// The window beyond it.
    pub(super) window: u64,
    pub(super) echo: Echo,
    /// The returned timestamp, or NEVER.
    pub(super) timestamp: Time,
    /// Whether the segment carries nothing but the acknowledgement.
    pub(super) pure: bool,
    pub(super) sacks: &'a [SackBlock],
}

/// The effect of an acknowledgement, for the controller.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    pub(super) echo: Echo,
    pub(super) acked: u64,
    pub(super) rtt: Option<Span>,
    pub(super) limited_by: LimitedBy,
}

impl Progress {
    /// Nothing new.
    pub(super) const fn none(echo: Echo, limited_by: LimitedBy) -> Self {
        Self {
            echo,
            acked: 0,
            rtt: None,
            limited_by,
        }
    }
}
