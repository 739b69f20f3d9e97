//! The endpoint's alarm clock: one timerfd of the kernel, of nanoseconds. Tokio's own timers tick in
//! milliseconds, a thousand packets at 10 Gbit/s.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// An alarm.
#[derive(Debug)]
pub struct Timer {
    fd: AsyncFd<OwnedFd>,
    armed: Option<Instant>,
}

impl Timer {
    /// An alarm that is not set. Must be called within a runtime of tokio.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that may close a descriptor they do not own;                       an OwnedFd owns its own"
        )]
        let fd = AsyncFd::new(fd)?;
        Ok(Self { fd, armed: None })
    }

    /// Wakes the task at that instant, or at an earlier one that was set before. An early alarm does no harm,
    /// and most deadlines move before they come.
    pub fn arm(&mut self, now: Instant, at: Instant) -> io::Result<()> {
        if self.armed.is_some_and(|armed| armed <= at) {
            return Ok(());
        }
        let wait = at
            .saturating_duration_since(now)
            .max(Duration::from_nanos(1));
        assert!(wait > Duration::ZERO, "zero disarms the timer");
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let alarm = Itimerspec {
            it_interval: none,
            it_value: Timespec {
                tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(wait.subsec_nanos()),
            },
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &alarm)?;
        self.armed = Some(at);
        Ok(())
    }

    /// Whether the alarm came; else the task is woken when it comes. Setting it anew clears what it
    /// counted, so that nothing needs to be read.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let mut fired = false;
        while let Poll::Ready(guard) = self.fd.poll_read_ready(cx) {
            guard?.clear_ready();
            self.armed = None;
            fired = true;
        }
        Ok(fired)
    }
}
