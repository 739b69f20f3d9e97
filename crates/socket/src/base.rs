//! Shared helpers: locks, counters, random numbers, and the clock of the sans-IO connections.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

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

/// Time since `epoch`, as the sans-IO connection counts it. Saturates after 213 days.
pub(crate) fn time_since(epoch: Instant, now: Instant) -> Time {
    let ns = now.saturating_duration_since(epoch).as_nanos();
    Time::from_ps(u64::try_from(ns.saturating_mul(1000)).map_or(u64::MAX - 1, |ps| ps))
}
