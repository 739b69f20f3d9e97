//! The machine's monotonic clock as the time of the pure crates.

use std::time::Instant;

use incastle_units::Time;

/// Time since the program began.
#[derive(Debug, Clone, Copy)]
pub struct Clock(Instant);

impl Clock {
    /// Begins at zero.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let nanoseconds = u64::try_from(self.0.elapsed().as_nanos()).expect("less than 584 years");
        Time::from_ps(nanoseconds.saturating_mul(1_000))
    }
}
