//! The pacing rate of Linux's TCP: the window per round-trip time, and somewhat more, so that the window
//! stays the limit (`tcp_update_pacing_rate` of net/ipv4/tcp_input.c, Linux 6.18).
//!
//! Leaves out: the pacer (transport), and the size of offloaded bursts, which Linux takes from this rate.

use incastle_units::{Bytes, Rate, Span};

/// The pacing rate in percent of the window per round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacingRatio {
    /// In slow start: sysctl `tcp_pacing_ss_ratio`.
    pub slow_start: u32,
    /// From half of ssthresh on: sysctl `tcp_pacing_ca_ratio`.
    pub avoidance: u32,
}

impl PacingRatio {
    /// The defaults of Linux (Documentation/networking/ip-sysctl.rst).
    pub const LINUX: Self = Self {
        slow_start: 200,
        avoidance: 120,
    };

    /// The rate for a window: a window of slow start is below half of ssthresh, since from there on the
    /// end of slow start is near. `outstanding` counts where it is more than the window.
    pub fn rate(self, cwnd: Bytes, ssthresh: Option<Bytes>, paced: Paced) -> Rate {
        let slow = ssthresh.is_none_or(|bytes| cwnd.count() < bytes.count() / 2);
        let percent = if slow {
            self.slow_start
        } else {
            self.avoidance
        };
        let bits = 8 * u128::from(cwnd.max(paced.outstanding).count()) * u128::from(percent);
        let per_second = bits * (PS_PER_SECOND / 100) / u128::from(paced.rtt.as_ps().max(1));
        Rate::from_bits_per_second(u64::try_from(per_second).unwrap_or(u64::MAX).max(1))
    }
}

const PS_PER_SECOND: u128 = 1_000_000_000_000;

/// The data that a pacing rate spreads, and over which time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Paced {
    /// Data sent and not yet acknowledged.
    pub outstanding: Bytes,
    /// The smoothed round-trip time.
    pub rtt: Span,
}
