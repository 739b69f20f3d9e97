//! The congestion control of a connection (Ye, Mhamdi and Hamdi, section IV): its controller and the
//! resulting mode. A fallback replaces the controller where ECN or DCUDP does not work. Leaves out
//! the receiver's side of the modes, which is `modes::Watch`.

use incastle_congestion::{Algorithm, Controller, TransmissionMode};
use incastle_units::Time;

use super::super::modes::SenderMode;

/// The controllers of a sender, and its mode.
pub(super) struct CongestionControl {
    pub(super) algorithm: Algorithm,
    fallback: Option<Box<Algorithm>>,
    pub(super) mode: SenderMode,
    /// Data packets are ECN-capable, on a path that carries ECT, as far as is known.
    pub(super) ecn: bool,
}

impl CongestionControl {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        Self {
            algorithm,
            fallback: None,
            mode: SenderMode::default(),
            ecn: false,
        }
    }

    pub(super) fn set_fallback(&mut self, algorithm: Algorithm) {
        self.fallback = Some(Box::new(algorithm));
    }

    /// The fallback takes over; without one the controller stays.
    pub(super) fn fall_back(&mut self) {
        if let Some(fallback) = self.fallback.take() {
            self.algorithm = *fallback;
        }
    }

    /// The controller's mode may have changed; gives whether congestion mode has begun.
    pub(super) fn follow(&mut self, now: Time) -> bool {
        let congested = self.algorithm.state().mode == Some(TransmissionMode::Congestion);
        self.mode.set(now, congested) && congested
    }

    /// When the controller's timer fires, or NEVER.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.algorithm.next_timer().unwrap_or(Time::NEVER)
    }
}
