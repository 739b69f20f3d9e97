//! Many runs at once: worker threads drive them while the calling thread watches.

use std::borrow::Borrow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use incastle_experiment::Output;
use incastle_scenario::Scenario;

use crate::failure::Failure;
use crate::panics::catch;
use crate::parts::run_in_parts;
use crate::run::Control;

/// The longest time that a signal or a progress bar waits.
const TICK: Duration = Duration::from_millis(50);

/// Watches over several runs, in the thread that called [`run_many`].
pub trait Watcher {
    /// A run is over: it came to its end, was cancelled, or failed.
    fn finished(&mut self, index: usize, outcome: Result<Output, Failure>);

    /// Called about twenty times a second during runs, to read their
    /// [`Control`]s, or to cancel them.
    fn tick(&mut self);
}

/// The numbers of threads. They do not change results.
#[derive(Debug, Clone, Copy)]
pub struct Parallelism {
    /// Runs at the same time.
    pub runs: usize,
    /// Threads of each run.
    pub threads_per_run: usize,
}

/// Runs scenarios, each with the control of its position, and hands them over in the order of their ends.
/// Runs that are cancelled before they begin are not handed over.
pub fn run_many<C: Borrow<Control> + Sync>(
    scenarios: &[Scenario],
    parallelism: Parallelism,
    controls: &[C],
    watcher: &mut impl Watcher,
) {
    assert!(
        scenarios.len() == controls.len(),
        "every scenario has a control"
    );
    let job = |index: usize| {
        let (scenario, control) = (&scenarios[index], controls[index].borrow());
        let wanted = !control.cancel.load(Ordering::Relaxed);
        wanted.then(|| attempt(|| run_in_parts(scenario, control, parallelism.threads_per_run)))
    };
    distribute(scenarios.len(), parallelism.runs, job, |news| match news {
        News::Finished(index, outcome) => {
            watcher.finished(index, outcome);
            controls[index].borrow().release();
        }
        News::Tick => watcher.tick(),
    });
}

/// Makes a run's panic one of the reasons for which it gave no result.
pub fn attempt<E>(run: impl FnOnce() -> Result<Output, E>) -> Result<Output, Failure>
where
    Failure: From<E>,
{
    Ok(catch(run)??)
}

/// A report to the calling thread.
pub(super) enum News<T> {
    Finished(usize, T),
    Tick,
}

/// Does the jobs 0 to `count - 1`, each on a free thread, and reports to the calling thread.
pub(super) fn distribute<T: Send>(
    count: usize,
    threads: usize,
    job: impl Fn(usize) -> Option<T> + Sync,
    mut report: impl FnMut(News<T>),
) {
    let next = AtomicUsize::new(0);
    let work = &|sender: Sender<(usize, T)>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let done = job(index);
            if done.is_some_and(|done| sender.send((index, done)).is_err()) {
                return; // the calling thread unwinds: there is no receiver
            }
        }
    };
    thread::scope(|scope| {
        let (sender, receiver) = channel();
        for _ in 0..threads.max(1).min(count) {
            let sender = sender.clone();
            scope.spawn(move || work(sender));
        }
        // The channel ends when the last worker has dropped its end.
        drop(sender);
        let mut next_tick = Instant::now() + TICK;
        loop {
            let patience = next_tick.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(patience) {
                Ok((index, done)) => report(News::Finished(index, done)),
                Err(RecvTimeoutError::Timeout) => {
                    report(News::Tick);
                    next_tick = Instant::now() + TICK;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use incastle_experiment::RunError;

    use super::*;

    fn finished(
        count: usize,
        threads: usize,
        job: impl Fn(usize) -> Option<usize> + Sync,
    ) -> Vec<usize> {
        let mut all = Vec::new();
        distribute(count, threads, job, |news| {
            if let News::Finished(index, done) = news {
                assert_eq!(done, index * index);
                all.push(index);
            }
        });
        all.sort_unstable();
        all
    }

    #[test]
    fn every_job_is_done_once_by_any_number_of_threads() {
        for threads in [0, 1, 3, 100] {
            let all = finished(40, threads, |index| Some(index * index));
            assert_eq!(all, (0..40).collect::<Vec<_>>(), "{threads} threads");
        }
        assert!(finished(0, 2, Some).is_empty());
    }

    #[test]
    fn a_job_that_is_left_out_is_not_told_of() {
        let even = finished(10, 2, |index| (index % 2 == 0).then_some(index * index));
        assert_eq!(even, [0, 2, 4, 6, 8]);
    }

    #[test]
    fn the_calling_thread_is_called_while_jobs_go_on() {
        // The job ends only after a tick, however busy the machine is.
        let ticked = AtomicBool::new(false);
        let slow = |_| {
            while !ticked.load(Ordering::Acquire) {
                thread::sleep(TICK);
            }
            Some(())
        };
        let mut finished = 0;
        distribute(1, 1, slow, |news| match news {
            News::Tick => ticked.store(true, Ordering::Release),
            News::Finished(..) => finished += 1,
        });
        assert_eq!(finished, 1);
    }

    #[test]
    fn a_violated_invariant_is_an_outcome() {
        let outcome = attempt::<RunError>(|| panic!("the queue is below zero"));
        let failure = outcome.expect_err("a panic");
        assert!(matches!(failure, Failure::Panicked(_)));
        assert!(
            failure.to_string().contains("below zero (crates/"),
            "{failure}"
        );
    }
}
