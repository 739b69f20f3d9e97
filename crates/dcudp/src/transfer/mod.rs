//! One file from one endpoint to its peer, whichever of them requested it.
//!
//! The receiver reports what it has, the sender begins there or at 0, and the receiver confirms what it
//! has whole. The disk has a separate thread on both sides, a few parts ahead of the network or
//! behind it.
//!
//! The receiver sends the last frame of every file: done, or an error. A failing sender reports its error
//! and waits for that frame. A failing receiver reports its error and discards frames up to the sender's end
//! or error. So both are ready for the next file on the same connection.

mod receive;
mod send;

pub use receive::receive_file;
pub use send::send_file;

use std::time::Duration;

use tokio::task::{JoinError, spawn_blocking};

use crate::error::Failure;
use crate::terminal::{bytes_lossy, rate_lossy};

/// Parts of a file between the disk and the network.
const AHEAD: usize = 8;

/// The transfer of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The length of the file.
    pub size: u64,
    /// How much of it the receiver had already.
    pub resumed: u64,
}

impl Moved {
    /// "1.25 GB in 1.02 s, 9.80 Gbit/s".
    pub fn summary(self, time: Duration) -> String {
        let size = bytes_lossy(self.size);
        let seconds = time.as_secs_f64();
        if self.size == 0 {
            // An empty file may have been there.
            return format!("{size}, an empty file");
        }
        if self.resumed == self.size {
            return format!("{size}, was there already");
        }
        if self.resumed == 0 {
            return format!("{size} in {seconds:.2} s, {}", rate_lossy(self.size, time));
        }
        // Both endpoints hashed what was there in this time, so that it gives no rate.
        let had = bytes_lossy(self.resumed);
        format!("{size}, of which {had} was there already; the rest in {seconds:.2} s")
    }
}

/// Runs what waits for a disk.
pub async fn on_disk<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    joined(spawn_blocking(work).await)
}

/// A thread's result. Its panic is a defect of ours, and goes on here.
fn joined<T>(result: Result<T, JoinError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Whether a failure leaves this endpoint able to report it.
const fn can_report(failure: &Failure) -> bool {
    !matches!(failure, Failure::Connection(_))
}
