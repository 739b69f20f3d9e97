//! Shared helpers: locks, counters, random numbers, and the clock of the sans-IO connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use incastle_units::Time;

use crate::ConnectError;

/// Locks, whatever a panic elsewhere left behind: the panic itself is reported where it happened.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to a counter that nobody decides by.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], ConnectError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| ConnectError::Random(error.to_string()))?;
    Ok(bytes)
}

/// The clock of a connection: real time since it began, divided by the dilation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionClock {
    pub(crate) epoch: Instant,
    /// At least 1.
    pub(crate) dilation: u32,
}

impl ConnectionClock {
    pub(crate) fn time(self, now: Instant) -> Time {
        let real = time_since(self.epoch, now);
        // Most are not dilated: a division for every packet.
        if self.dilation == 1 {
            return real;
        }
        Time::from_ps(real.as_ps() / u64::from(self.dilation))
    }

    /// An instant that is not before `time`.
    pub(crate) fn instant(self, time: Time) -> Option<Instant> {
        let ps = u128::from(time.as_ps()) * u128::from(self.dilation);
        let ns = u64::try_from(ps.div_ceil(1000)).ok()?;
        self.epoch.checked_add(Duration::from_nanos(ns))
    }
}

/// Time since `epoch`, as the sans-IO connection counts it. Saturates after 213 days.
pub(crate) fn time_since(epoch: Instant, now: Instant) -> Time {
    let ns = now.saturating_duration_since(epoch).as_nanos();
    Time::from_ps(u64::try_from(ns.saturating_mul(1000)).map_or(u64::MAX - 1, |ps| ps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dilated_clock_is_slower_and_its_instants_are_never_early() {
        let clock = ConnectionClock {
            epoch: Instant::now(),
            dilation: 7,
        };
        let at = |ns| clock.epoch + Duration::from_nanos(ns);
        // 700 ns are 100 ns of the connection.
        assert_eq!(clock.time(at(700)), Time::from_ps(100_000));
        for ps in [0, 1, 999, 1_000, 123_456_789] {
            let time = Time::from_ps(ps);
            let instant = clock.instant(time).expect("a near instant");
            assert!(clock.time(instant) >= time, "{ps}");
        }
        // 100 ns of the connection are 700 ns.
        assert_eq!(clock.instant(Time::from_ps(100_000)), Some(at(700)));
    }
}
