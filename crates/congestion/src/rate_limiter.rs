//! The trait of rate limiters below the transport: one per flow in a host's NIC.
//!
//! QCN's reaction point (IEEE 802.1Qau) and, later, DCQCN have this shape. The feedback comes from
//! the network, not from the peer, and sets the rate at which the NIC releases frames. The line
//! rate is the limiter's own configuration. Its queue belongs to the NIC, which calls `on_sent` for
//! every frame of the flow, at line rate too.

use incastle_units::{Bytes, Rate, Time};
use rand_core::Rng;

/// The content of a congestion notification message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Feedback {
    /// The quantised feedback |F_b|, 0 to 63 for QCN.
    pub psi: u8,
}

/// A rate limiter of one flow in a NIC.
pub trait RateLimiter: Send {
    /// A notification arrived for this flow.
    fn on_cnm(&mut self, now: Time, feedback: Feedback, rng: &mut dyn Rng);

    /// A frame of `size` bytes left through the limiter.
    fn on_sent(&mut self, now: Time, size: Bytes, rng: &mut dyn Rng);

    /// The instant of `next_timer` has come.
    fn on_timer(&mut self, now: Time, rng: &mut dyn Rng);

    /// The limiter's queue is empty: called after `on_sent` and `on_timer` whenever nothing waits.
    fn on_idle(&mut self, now: Time);

    /// The next instant for `on_timer`.
    fn next_timer(&self) -> Option<Time>;

    /// The rate at which frames may leave; `None` is the line rate (the limiter is inactive).
    fn rate(&self) -> Option<Rate>;
}
