//! One run on several threads: each simulates a partition, with a barrier after each window.
//!
//! The engine computes the windows (`incastle-engine`, `parallel`); this module has the threads and the barrier.
//! A wait begins with a short spin, because most waits are shorter than a system call. It then yields the
//! processor, so that threads may outnumber the free cores.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use incastle_engine::Simulation;
use incastle_engine::parallel::{Messages, Progress};
use incastle_recorder::Recorder;
use incastle_units::Time;

use crate::failure::Failure;
use crate::memory::Claim;
use crate::panics::catch;
use crate::run::{Control, run};
use incastle_experiment::Output;
use incastle_experiment::memory::at_start;
use incastle_experiment::{
    FinishedParts, Overseer, Prepared, RunError, afford, afford_start, join, parted, prepare_part,
    snap, through,
};
use incastle_scenario::Scenario;
use incastle_workload::Journal;

/// Checks before a wait yields the processor: some microseconds.
const SPINS: u32 = 1_000;
/// Checks before a wait sleeps between checks.
const YIELDS: u32 = 10_000;
/// One sleep: short against the work of other threads during the wait so far.
const NAP: Duration = Duration::from_micros(50);
/// The maximum number of events between two barriers: some milliseconds.
const MAX_EVENTS: u64 = 100_000;

/// Runs a scenario on `threads` threads, or on one where it must
/// (`incastle_experiment::parts::alone_because`). The result is the same.
pub fn run_in_parts(
    scenario: &Scenario,
    control: &Control,
    threads: usize,
) -> Result<Output, Failure> {
    let start = Instant::now();
    if threads < 2 {
        return Ok(run(scenario, control)?);
    }
    let Ok((partition, first)) = parted(scenario, threads)? else {
        return Ok(run(scenario, control)?);
    };
    let networks = at_start(scenario, partition.count());
    afford_start(networks, |bytes| control.affords(bytes))?;
    let mut networks = vec![Some(first)];
    networks.resize_with(partition.count(), || None);
    let prepare = |(index, network)| Ok(prepare_part(scenario, &partition, index, network)?);
    let prepared = on_threads(networks.into_iter().enumerate().collect(), prepare)?;
    let prepared = prepared.into_iter();
    let (mut parts, journals): (Vec<_>, Vec<_>) = prepared
        .map(
            |Prepared {
                 simulation,
                 journal,
                 slice: _,
             }| (simulation, journal),
        )
        .unzip();
    let passed = through(scenario, &mut parts, |parts, until| {
        pass(parts, &journals, until, snap(scenario), control)
    })?;
    let parts = FinishedParts {
        simulations: parts,
        journals: &journals,
        partition: &partition,
    };
    let mut output = join(scenario, control, passed, parts);
    output.wall_s = start.elapsed().as_secs_f64();
    Ok(output)
}

/// Simulates all partitions until `until`; `false` if the overseer ended the run.
fn pass(
    parts: &mut [Simulation<Recorder>],
    journals: &[Journal],
    until: Time,
    snap: u64,
    control: &Control,
) -> Result<bool, Failure> {
    let barrier = Barrier::new(parts.len());
    let all = parts.iter_mut().zip(journals).enumerate().collect();
    let passed = on_threads(all, |(own, (part, journal))| {
        let guard = FailureGuard(&barrier);
        let budget = Budget::new(part, journal, snap);
        let passed = simulate(&barrier, Process { own, part, budget }, until, control)?;
        std::mem::forget(guard);
        Ok(passed)
    })?;
    Ok(passed.into_iter().all(|passed| passed))
}

/// Does a job for each item on a separate thread, the last of them on this one. Returns the first
/// failure, if any.
fn on_threads<I: Send, T: Send>(
    mut items: Vec<I>,
    job: impl Fn(I) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let job = |item| -> Result<T, Failure> { catch(|| job(item))? };
    let job = &job;
    let last = items.pop();
    thread::scope(|scope| {
        let others: Vec<_> = items
            .into_iter()
            .map(|item| scope.spawn(move || job(item)))
            .collect();
        let last = last.map(job);
        let others = others.into_iter();
        let others = others.map(|other| other.join().expect("panics are caught"));
        others.chain(last).collect()
    })
}

/// Checks at intervals whether there is memory for the records of a partition.
struct Budget<'a> {
    journal: &'a Journal,
    snap: u64,
    claim: Claim,
    /// The number of events at the last check.
    checked: u64,
}

impl<'a> Budget<'a> {
    fn new(part: &Simulation<Recorder>, journal: &'a Journal, snap: u64) -> Self {
        Self {
            journal,
            snap,
            claim: Claim::default(),
            checked: part.totals().events,
        }
    }

    fn check(&mut self, part: &Simulation<Recorder>) -> Result<(), RunError> {
        let events = part.totals().events;
        if events < self.checked + MAX_EVENTS {
            return Ok(());
        }
        self.checked = events;
        afford(part, self.journal, self.snap, |bytes| {
            self.claim.affords(bytes)
        })
    }
}

/// Releases the threads at the barrier when this one fails.
struct FailureGuard<'a>(&'a Barrier);

impl Drop for FailureGuard<'_> {
    fn drop(&mut self) {
        self.0.failed.store(true, Ordering::Release);
    }
}

/// Exchanges cross-partition messages and progress after each window.
///
/// Everything but the rounds exists twice, for even and odd rounds: the fastest thread begins the next
/// round while others still read this one.
struct Barrier {
    slots: Vec<Slot>,
    /// By parity of the round, sender and receiver.
    messages: Vec<Mutex<Messages>>,
    /// Whether a thread has failed.
    failed: AtomicBool,
}

/// The state that one partition publishes, on separate cache lines because no other one writes there.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    /// The last round that it has reached.
    round: AtomicU64,
    /// By parity of the round.
    published: [Published; 2],
}

#[derive(Default)]
struct Published {
    clock_ps: AtomicU64,
    next_ps: AtomicU64,
    /// Whether the overseer ends the run.
    ends: AtomicBool,
}

impl Barrier {
    fn new(parts: usize) -> Self {
        Self {
            slots: (0..parts).map(|_| Slot::default()).collect(),
            messages: (0..2 * parts * parts).map(|_| Mutex::default()).collect(),
            failed: AtomicBool::new(false),
        }
    }

    /// The messages from one partition to another, in rounds of this parity.
    fn messages(&self, parity: usize, from: usize, to: usize) -> MutexGuard<'_, Messages> {
        let parts = self.slots.len();
        let messages = self.messages[(parity * parts + from) * parts + to].lock();
        messages.expect("no thread panics while it exchanges messages")
    }

    /// Reaches a round and waits for all others; `false` if a thread has failed.
    fn wait(&self, own: usize, round: u64) -> bool {
        self.slots[own].round.store(round, Ordering::Release);
        self.slots.iter().all(|slot| {
            let mut checks = 0;
            while slot.round.load(Ordering::Acquire) < round {
                if self.failed.load(Ordering::Acquire) {
                    return false;
                }
                back_off(checks);
                checks += 1;
            }
            true
        })
    }
}

fn back_off(checks: u32) {
    if checks < SPINS {
        spin_loop();
    } else if checks < YIELDS {
        thread::yield_now();
    } else {
        thread::sleep(NAP);
    }
}

impl Published {
    fn store_progress(&self, progress: Progress) {
        self.clock_ps
            .store(progress.clock.as_ps(), Ordering::Relaxed);
        self.next_ps.store(progress.next.as_ps(), Ordering::Relaxed);
    }

    fn progress(&self) -> Progress {
        let time = |ps: &AtomicU64| Time::from_ps(ps.load(Ordering::Relaxed));
        Progress {
            clock: time(&self.clock_ps),
            next: time(&self.next_ps),
        }
    }
}

/// A logical process: one partition, in one thread.
struct Process<'a> {
    /// Its index.
    own: usize,
    part: &'a mut Simulation<Recorder>,
    budget: Budget<'a>,
}

/// Simulates one partition until `until`; `false` if the overseer ended the run, or another thread failed.
/// The first partition calls the overseer; all then stop at the latest clock.
fn simulate(
    barrier: &Barrier,
    process: Process<'_>,
    mut until: Time,
    overseer: &impl Overseer,
) -> Result<bool, RunError> {
    let Process {
        own,
        part,
        mut budget,
    } = process;
    let mut continues = true;
    let others = || (0..barrier.slots.len()).filter(|other| *other != own);
    let mut all = Vec::new();
    for round in 1.. {
        let parity = usize::from(round % 2 == 0);
        let progress = part.hand_over(|to, messages| {
            std::mem::swap(&mut *barrier.messages(parity, own, to), messages);
        });
        let ends = own == 0 && !overseer.continues(progress.clock);
        let published = &barrier.slots[own].published[parity];
        published.store_progress(progress);
        published.ends.store(ends, Ordering::Relaxed);
        if !barrier.wait(own, round) {
            return Ok(false);
        }
        for from in others() {
            part.receive(&mut barrier.messages(parity, from, own));
        }
        all.clear();
        let published = barrier.slots.iter().map(|slot| &slot.published[parity]);
        all.extend(published.map(Published::progress));
        if continues
            && barrier.slots[0].published[parity]
                .ends
                .load(Ordering::Relaxed)
        {
            continues = false;
            until = all
                .iter()
                .fold(Time::ZERO, |last, part| last.max(part.clock))
                .min(until);
        }
        let goes_further = part.run_window(&all, until, MAX_EVENTS)?;
        budget.check(part)?;
        if !goes_further {
            return Ok(continues);
        }
    }
    unreachable!("there is always another round")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_reaches_every_round() {
        let barrier = Barrier::new(3);
        let max = Mutex::new(0);
        let rounds = on_threads(vec![0, 1, 2], |own| {
            for round in 1..2_000 {
                let mut max = max.lock().expect("no thread panics");
                // No thread is more than a round ahead of another.
                assert!(round + 1 >= *max);
                *max = round.max(*max);
                drop(max);
                assert!(barrier.wait(own, round));
            }
            Ok(())
        });
        assert_eq!(rounds, Ok(vec![(); 3]));
    }

    #[test]
    fn a_failed_thread_releases_the_others() {
        let barrier = Barrier::new(2);
        let done = on_threads(vec![0, 1], |own| {
            let _guard = FailureGuard(&barrier);
            assert!(own == 0, "the second partition has a defect");
            assert!(!barrier.wait(own, 1));
            Ok(())
        });
        let failure = done.expect_err("a panic");
        assert!(matches!(failure, Failure::Panicked(_)), "{failure}");
        assert!(
            failure.to_string().contains("has a defect (crates/"),
            "{failure}"
        );
    }
}
