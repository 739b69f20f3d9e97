//! An estimate on threads: links are jobs, and the calling thread watches.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use incastle_units::Time;

use incastle_estimate::{Delays, EstimateError, Estimation};
use incastle_experiment::Output;
use incastle_experiment::{Overseer, RunError};
use incastle_scenario::Scenario;

use crate::failure::Failure;
use crate::panics::catch;
use crate::pool::{News, distribute};
use crate::threads::Threads;

/// Watches over an estimate, in the thread that called [`estimate`].
pub trait EstimateWatcher {
    /// A link has been simulated.
    fn link(&mut self, link: usize, delays: &Delays);

    /// Called about twenty times a second: the share of the work that is done.
    fn tick(&mut self, done: f64);
}

/// Delays by link.
type ByLink = BTreeMap<usize, Delays>;

/// Stops all jobs.
struct Stop<'a>(&'a AtomicBool);

impl Overseer for Stop<'_> {
    fn continues(&self, _: Time) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Decomposes a scenario on `threads` threads. At most about `per_class` links of each class are
/// simulated; all of them, if that is absent.
pub fn take_apart(
    scenario: &Scenario,
    per_class: Option<usize>,
    threads: usize,
) -> Result<Estimation, EstimateError> {
    Estimation::new(scenario, per_class, &Threads(threads))
}

/// Estimates on `threads` threads. Links with `known` delays are not simulated again. A link is
/// simulated by one thread, so that the number of threads changes no result. Absent if `cancel` was set.
pub fn estimate(
    estimation: &Estimation,
    threads: usize,
    known: BTreeMap<usize, Delays>,
    cancel: &AtomicBool,
    watcher: &mut impl EstimateWatcher,
) -> Result<Option<Output>, Failure> {
    let links = estimation.links().iter();
    let mut team = Team {
        estimation,
        threads,
        cancel,
        watcher,
        work: links.map(|&link| estimation.work(link)).sum(),
    };
    let Some(delays) = team.links(known)? else {
        return Ok(None);
    };
    Ok(Some(catch(|| {
        estimation.output(&delays, &Threads(threads))
    })?))
}

/// Threads at work on an estimate.
struct Team<'a, W> {
    estimation: &'a Estimation,
    threads: usize,
    cancel: &'a AtomicBool,
    watcher: &'a mut W,
    work: u64,
}

impl<W: EstimateWatcher> Team<'_, W> {
    /// The delays at all links; absent if they were stopped.
    fn links(&mut self, known: ByLink) -> Result<Option<ByLink>, Failure> {
        let estimation = self.estimation;
        let known_work = known.keys().map(|&link| estimation.work(link)).sum();
        let finished = AtomicU64::new(known_work);
        let mut missing = estimation.links().to_vec();
        missing.retain(|link| !known.contains_key(link));
        // The longest first, so that no thread is left with one at the end.
        missing.sort_by_key(|&link| Reverse(estimation.work(link)));
        let stop = Stop(self.cancel);
        let job = |place: usize| {
            let link = missing[place];
            let delays = estimation.delays(link, &stop)?;
            finished.fetch_add(estimation.work(link), Ordering::Relaxed);
            Ok(delays)
        };
        let mut all = known;
        let whole = self.distribute(missing.len(), job, &finished, |place, delays, watcher| {
            let link = missing[place];
            watcher.link(link, &delays);
            all.insert(link, delays);
        })?;
        Ok(whole.then_some(all))
    }

    /// Does jobs on all threads and hands over each result; `false` if they were stopped.
    fn distribute<T: Send>(
        &mut self,
        count: usize,
        job: impl Fn(usize) -> Result<Option<T>, RunError> + Sync,
        finished: &AtomicU64,
        mut take: impl FnMut(usize, T, &mut W),
    ) -> Result<bool, Failure> {
        let cancel = self.cancel;
        let attempt = |place: usize| -> Option<Result<T, Failure>> {
            if cancel.load(Ordering::Relaxed) {
                return None;
            }
            match catch(|| job(place)) {
                Ok(Ok(done)) => done.map(Ok),
                Ok(Err(refused)) => Some(Err(refused.into())),
                Err(panic) => Some(Err(panic.into())),
            }
        };
        let mut failure = None;
        distribute(count, self.threads, attempt, |news| match news {
            News::Finished(place, Ok(done)) => take(place, done, self.watcher),
            News::Finished(_, Err(found)) => {
                cancel.store(true, Ordering::Relaxed);
                failure.get_or_insert(found);
            }
            News::Tick => {
                let share = finished.load(Ordering::Relaxed) as f64 / self.work.max(1) as f64;
                self.watcher.tick(share.min(1.0));
            }
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(!cancel.load(Ordering::Relaxed)),
        }
    }
}
