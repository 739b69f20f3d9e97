//! Measurements: what flows, how it is counted, and how it is shown.

pub mod flow;
pub mod latency;
pub mod table;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Bytes of payload so far, for whoever draws lines meanwhile.
#[derive(Debug, Default)]
pub struct Meter(AtomicU64);

impl Meter {
    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The sum.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Processor time of this process, all threads, user and system.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
