//! An estimate on threads: links and ideal times are jobs, and the calling thread watches.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use incastle_units::{Span, Time};

use crate::estimate::{Delays, Estimation, PASSES, Paces};
use crate::simulate::output::Output;
use crate::simulate::{Overseer, RunError};

use super::panics::catch;
use super::pool::{Failure, News, distribute};

/// Ideal times are computed in so many shares: enough for threads to end at about the same time.
const SHARES: usize = 32;

/// A link to simulate in a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkJob {
    /// Its place in the layout.
    pub link: usize,
    /// Which pass over the links it is, from 0.
    pub pass: u8,
}

/// Who watches over an estimate, in the thread that called [`estimate`].
pub trait EstimateWatcher {
    /// A link has been simulated.
    fn link(&mut self, job: LinkJob, delays: &Delays);

    /// Called about twenty times a second: the share of the work that is done.
    fn tick(&mut self, done: f64);
}

/// Delays by link.
type ByLink = BTreeMap<usize, Delays>;

/// Stops all jobs.
struct Stop<'a>(&'a AtomicBool);

impl Overseer for Stop<'_> {
    fn goes_on(&self, _: Time) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

/// Estimates on so many threads. Links whose delays are `known` are not simulated again. A link is
/// simulated by one thread, so that the number of threads changes no result. Absent if `cancel` was set.
pub fn estimate(
    estimation: &Estimation,
    threads: usize,
    known: BTreeMap<LinkJob, Delays>,
    (cancel, watcher): (&AtomicBool, &mut impl EstimateWatcher),
) -> Result<Option<Output>, Failure> {
    let mut known_of = vec![ByLink::new(); usize::from(PASSES)];
    for (job, delays) in known {
        known_of[usize::from(job.pass)].insert(job.link, delays);
    }
    let work = |link: usize| estimation.work(link);
    let links = (0..PASSES).flat_map(|pass| estimation.links_of(pass));
    let mut team = Team {
        estimation,
        threads,
        cancel,
        watcher,
        finished: AtomicU64::new(0),
        work: links.map(work).sum(),
    };
    let mut passes: Vec<ByLink> = Vec::new();
    for (pass, known) in (0..PASSES).zip(known_of) {
        let paces = (pass > 0).then(|| catch(|| estimation.paces(&passes)));
        let Some(found) = team.links((pass, paces.transpose()?.as_ref()), known)? else {
            return Ok(None);
        };
        passes.push(found);
    }
    let Some(ideals) = team.ideals()? else {
        return Ok(None);
    };
    let delays = passes.last().expect("there are passes");
    Ok(Some(catch(|| estimation.output(delays, &ideals))?))
}

/// Threads at work on an estimate.
struct Team<'a, W> {
    estimation: &'a Estimation,
    threads: usize,
    cancel: &'a AtomicBool,
    watcher: &'a mut W,
    finished: AtomicU64,
    work: u64,
}

impl<W: EstimateWatcher> Team<'_, W> {
    /// The delays at the links of a pass; absent if they were stopped.
    fn links(
        &mut self,
        (pass, paces): (u8, Option<&Paces>),
        known: ByLink,
    ) -> Result<Option<ByLink>, Failure> {
        let (estimation, finished) = (self.estimation, AtomicU64::new(0));
        let mut missing = estimation.links_of(pass);
        missing.retain(|link| !known.contains_key(link));
        // The longest first, so that no thread is left with one at the end.
        missing.sort_by_key(|&link| Reverse(estimation.work(link)));
        let stop = Stop(self.cancel);
        let job = |place: usize| {
            let link = missing[place];
            let rates = estimation.rates(link, paces);
            let delays = estimation.delays((link, &rates), &stop)?;
            finished.fetch_add(estimation.work(link), Ordering::Relaxed);
            Ok(delays)
        };
        let mut all = known;
        let whole = self.distribute(missing.len(), job, &finished, |place, delays, watcher| {
            let link = missing[place];
            watcher.link(LinkJob { link, pass }, &delays);
            all.insert(link, delays);
        })?;
        self.finished
            .fetch_add(finished.into_inner(), Ordering::Relaxed);
        Ok(whole.then_some(all))
    }

    /// The ideal time of each flow; absent if they were stopped.
    fn ideals(&mut self) -> Result<Option<Vec<Option<Span>>>, Failure> {
        let (estimation, stop) = (self.estimation, Stop(self.cancel));
        let job = |share| Ok(estimation.ideals((share, SHARES), &stop));
        let mut all = vec![None; estimation.flows()];
        let whole = self.distribute(SHARES, job, &AtomicU64::new(0), |_, times, _| {
            for (flow, time) in times {
                all[flow] = time;
            }
        })?;
        Ok(whole.then_some(all))
    }

    /// Does jobs on all threads and hands over what each gives; `false` if they were stopped.
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
                let done = [&self.finished, finished].map(|done| done.load(Ordering::Relaxed));
                let share = (done[0] + done[1]) as f64 / self.work.max(1) as f64;
                self.watcher.tick(share.min(1.0));
            }
        });
        match failure {
            Some(failure) => Err(failure),
            None => Ok(!cancel.load(Ordering::Relaxed)),
        }
    }
}
