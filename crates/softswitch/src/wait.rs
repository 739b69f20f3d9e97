//! Waiting for packets until an instant, to the kernel's high-resolution timers.
//!
//! A socket's own time limit (SO_RCVTIMEO) counts in ticks of the scheduler, 4 ms and more; ppoll does
//! not.

use std::io;
use std::os::fd::BorrowedFd;

use incastle_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::Clock;

/// Waits until one of `sources` can be read or has ended, or until `deadline`; tells which.
pub fn readable(
    clock: &Clock,
    sources: &[BorrowedFd<'_>],
    deadline: Option<Time>,
) -> io::Result<Vec<bool>> {
    let timeout = deadline.map(|at| {
        let nanoseconds = at.saturating_since(clock.now()).as_ps().div_ceil(1_000);
        Timespec {
            tv_sec: (nanoseconds / 1_000_000_000).cast_signed(),
            tv_nsec: (nanoseconds % 1_000_000_000).cast_signed(),
        }
    });
    let mut list: Vec<_> = sources
        .iter()
        .map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN))
        .collect();
    match poll(&mut list, timeout.as_ref()) {
        // A signal: whoever waits looks again.
        Ok(_) | Err(Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(list
        .iter()
        .map(|source| !source.revents().is_empty())
        .collect())
}
