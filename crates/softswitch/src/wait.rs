//! Waiting for packets until an instant, to the kernel's high-resolution timers.
//!
//! A socket's own time limit (SO_RCVTIMEO) counts in ticks of the scheduler, 4 ms and more; ppoll does
//! not.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use incastle_units::Time;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::io::Errno;

use crate::clock::Clock;

/// The content of a buffer of events that epoll has not written.
pub(crate) const NO_EVENT: epoll::Event = epoll::Event {
    flags: epoll::EventFlags::empty(),
    data: epoll::EventData::new_u64(0),
};

/// The events that epoll has now, as many as `events` has room for, without waiting.
pub(crate) fn ready_now(
    watched: impl AsFd,
    events: &mut [epoll::Event],
) -> io::Result<&[epoll::Event]> {
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    match epoll::wait(watched, &mut *events, Some(&at_once)) {
        Ok(found) => Ok(&events[..found]),
        Err(Errno::INTR) => Ok(&[]),
        Err(error) => Err(error.into()),
    }
}

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
