//! QCN's reaction point: each rule with its numbers worked out by hand, and random operations
//! against a model that counts independently. (The congestion point is tested in
//! crates/queueing/tests/it/qcn.rs.)

mod cycles;
mod modification;
mod notifications;
mod recovery;
mod sequences;

use incastle_congestion::{Feedback, RateLimiter, ReactionPoint, ReactionPointConfig};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::Constant;

const GBIT: u64 = 1_000_000_000;
const PERIOD: Span = Span::from_ms(15);

const fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits)
}

/// The defaults without jitter.
fn exact(line: u64) -> ReactionPointConfig {
    ReactionPointConfig {
        jitter: 0.0,
        ..ReactionPointConfig::new(rate(line))
    }
}

/// A reaction point with a clock.
struct Bench {
    point: ReactionPoint,
    now: Time,
    rng: Constant,
}

impl Bench {
    fn new(config: ReactionPointConfig) -> Self {
        Self {
            point: ReactionPoint::new(config),
            now: Time::ZERO,
            rng: Constant::HALF,
        }
    }

    fn notify(&mut self, psi: u8) {
        self.point.on_cnm(self.now, Feedback { psi }, &mut self.rng);
    }

    fn notify_times(&mut self, count: u32, psi: u8) {
        for _ in 0..count {
            self.notify(psi);
        }
    }

    /// Sends frames of 1500 B.
    fn send(&mut self, frames: u32) {
        for _ in 0..frames {
            self.point
                .on_sent(self.now, Bytes::new(1500), &mut self.rng);
        }
    }

    /// Lets the timer expire.
    fn expire(&mut self) {
        self.now = self.point.next_timer().expect("armed");
        self.point.on_timer(self.now, &mut self.rng);
    }

    fn expire_times(&mut self, count: u32) {
        for _ in 0..count {
            self.expire();
        }
    }

    fn rest(&mut self) {
        self.point.on_idle(self.now);
    }

    /// Current and target.
    fn rates(&self) -> (u64, u64) {
        let state = self.point.state();
        (
            state.current.bits_per_second(),
            state.target.bits_per_second(),
        )
    }

    fn stages(&self) -> (u32, u32) {
        let state = self.point.state();
        (state.byte_stage, state.time_stage)
    }

    fn memory(&self) -> f64 {
        self.point.state().memory
    }

    fn is_active(&self) -> bool {
        self.point.rate().is_some()
    }
}

fn ms(ms: f64) -> Time {
    Time::ZERO + Span::from_secs_lossy(ms / 1e3)
}
