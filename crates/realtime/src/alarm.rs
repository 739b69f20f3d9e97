//! An alarm of nanoseconds for the loop of the workload: tokio's own timers tick in milliseconds.

use std::io;
use std::os::fd::OwnedFd;

use incastle_units::Span;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// The alarm.
#[derive(Debug)]
pub(crate) struct Alarm(AsyncFd<OwnedFd>);

impl Alarm {
    /// Must be called within a tokio runtime.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that may close a descriptor they do not own; an OwnedFd owns its own"
        )]
        AsyncFd::new(fd).map(Self)
    }

    /// Waits for this long. A new wait forgets the one before.
    pub(crate) async fn after(&self, wait: Span) -> io::Result<()> {
        // Zero would disarm the timer.
        let ns = (wait.as_ps() / 1_000).max(1);
        let seconds = |ns: u64| (ns / 1_000_000_000).cast_signed();
        let alarm = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: Timespec {
                tv_sec: seconds(ns),
                tv_nsec: (ns % 1_000_000_000).cast_signed(),
            },
        };
        // Setting it clears an expiration that nobody has read, and the readiness with it.
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &alarm)?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut count = [0; 8];
            match rustix::io::read(self.0.get_ref(), &mut count) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
