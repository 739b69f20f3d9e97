//! One run on several threads: each simulates a part of the network, and all meet after each window.
//!
//! The engine says how far a part may go (`incastle-engine`, `parallel`); here they wait for each other.
//! A wait begins with a short spin, for most are shorter than a system call; then it gives the processor
//! to others, so that threads may outnumber the cores that are free.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use incastle_engine::Simulation;
use incastle_engine::parallel::{Messages, Progress};
use incastle_engine::probe::Recorder;
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

/// Looks before a wait gives the processor to others: some microseconds.
const SPINS: u32 = 1_000;
/// Looks before a wait sleeps in between.
const YIELDS: u32 = 10_000;
/// So long: little beside the work that lasted as long as the wait.
const NAP: Duration = Duration::from_micros(50);
/// Events between two meetings at the most: some milliseconds.
const MOST_EVENTS: u64 = 100_000;

/// Runs a scenario on so many threads, or on one where it has to be
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

/// Lets time pass in all parts until `until`; `false` if the overseer ended it.
fn pass(
    parts: &mut [Simulation<Recorder>],
    journals: &[Journal],
    until: Time,
    snap: u64,
    control: &Control,
) -> Result<bool, Failure> {
    let meeting = Meeting::new(parts.len());
    let all = parts.iter_mut().zip(journals).enumerate().collect();
    let passed = on_threads(all, |(own, (part, journal))| {
        let leaves = Leaves(&meeting);
        let budget = Budget::new(part, journal, snap);
        let passed = attend(&meeting, Attendee { own, part, budget }, until, control)?;
        std::mem::forget(leaves);
        Ok(passed)
    })?;
    Ok(passed.into_iter().all(|passed| passed))
}

/// Does a job for each item on a thread of its own, the last of them on this one; the first failure is
/// that of all.
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

/// Looks now and then whether there is memory for what a part has recorded.
struct Budget<'a> {
    journal: &'a Journal,
    snap: u64,
    claim: Claim,
    /// How many events had happened at the last look.
    looked: u64,
}

impl<'a> Budget<'a> {
    fn new(part: &Simulation<Recorder>, journal: &'a Journal, snap: u64) -> Self {
        Self {
            journal,
            snap,
            claim: Claim::default(),
            looked: part.totals().events,
        }
    }

    fn look(&mut self, part: &Simulation<Recorder>) -> Result<(), RunError> {
        let events = part.totals().events;
        if events < self.looked + MOST_EVENTS {
            return Ok(());
        }
        self.looked = events;
        afford(part, self.journal, self.snap, |bytes| {
            self.claim.affords(bytes)
        })
    }
}

/// Whoever fails leaves the others alone, who must not wait.
struct Leaves<'a>(&'a Meeting);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::Release);
    }
}

/// Where the parts hand over their mail and say how far they have come. All but the rounds are there
/// twice: for this round and the next, which the fastest begins while others still look at this one.
struct Meeting {
    seats: Vec<Seat>,
    /// By turn, sender and receiver.
    letters: Vec<Mutex<Messages>>,
    /// Whether somebody has failed.
    left: AtomicBool,
}

/// What one part says. On cache lines of its own: it alone writes there.
#[derive(Default)]
#[repr(align(128))]
struct Seat {
    /// The rounds that it has come to.
    round: AtomicU64,
    said: [Said; 2],
}

#[derive(Default)]
struct Said {
    clock_ps: AtomicU64,
    next_ps: AtomicU64,
    /// Whether the run is to end.
    ends: AtomicBool,
}

impl Meeting {
    fn new(parts: usize) -> Self {
        Self {
            seats: (0..parts).map(|_| Seat::default()).collect(),
            letters: (0..2 * parts * parts).map(|_| Mutex::default()).collect(),
            left: AtomicBool::new(false),
        }
    }

    /// The mail of a turn from one part to another.
    fn letter(&self, turn: usize, from: usize, to: usize) -> MutexGuard<'_, Messages> {
        let parts = self.seats.len();
        let letter = self.letters[(turn * parts + from) * parts + to].lock();
        letter.expect("nobody panics while handing over mail")
    }

    /// Comes to a round and waits for all others; `false` if somebody has failed.
    fn wait(&self, own: usize, round: u64) -> bool {
        self.seats[own].round.store(round, Ordering::Release);
        self.seats.iter().all(|seat| {
            let mut looks = 0;
            while seat.round.load(Ordering::Acquire) < round {
                if self.left.load(Ordering::Acquire) {
                    return false;
                }
                be_patient(looks);
                looks += 1;
            }
            true
        })
    }
}

fn be_patient(looks: u32) {
    if looks < SPINS {
        spin_loop();
    } else if looks < YIELDS {
        thread::yield_now();
    } else {
        thread::sleep(NAP);
    }
}

impl Said {
    fn say(&self, progress: Progress, ends: bool) {
        self.clock_ps
            .store(progress.clock.as_ps(), Ordering::Relaxed);
        self.next_ps.store(progress.next.as_ps(), Ordering::Relaxed);
        self.ends.store(ends, Ordering::Relaxed);
    }

    fn progress(&self) -> Progress {
        let time = |ps: &AtomicU64| Time::from_ps(ps.load(Ordering::Relaxed));
        Progress {
            clock: time(&self.clock_ps),
            next: time(&self.next_ps),
        }
    }
}

/// A part of the network at a meeting.
struct Attendee<'a> {
    /// Its number.
    own: usize,
    part: &'a mut Simulation<Recorder>,
    budget: Budget<'a>,
}

/// Simulates one part until `until`; `false` if the overseer ended it, or somebody failed. The first part asks
/// the overseer; all then stop where the last of them has come to.
fn attend(
    meeting: &Meeting,
    attendee: Attendee<'_>,
    mut until: Time,
    overseer: &impl Overseer,
) -> Result<bool, RunError> {
    let Attendee {
        own,
        part,
        mut budget,
    } = attendee;
    let mut goes_on = true;
    let others = || (0..meeting.seats.len()).filter(|other| *other != own);
    let mut all = Vec::new();
    for round in 1.. {
        let turn = usize::from(round % 2 == 0);
        let progress = part.hand_over(|to, mail| {
            std::mem::swap(&mut *meeting.letter(turn, own, to), mail);
        });
        let ends = own == 0 && !overseer.goes_on(progress.clock);
        meeting.seats[own].said[turn].say(progress, ends);
        if !meeting.wait(own, round) {
            return Ok(false);
        }
        for from in others() {
            part.receive(&mut meeting.letter(turn, from, own));
        }
        all.clear();
        all.extend(meeting.seats.iter().map(|seat| seat.said[turn].progress()));
        if goes_on && meeting.seats[0].said[turn].ends.load(Ordering::Relaxed) {
            goes_on = false;
            until = all
                .iter()
                .fold(Time::ZERO, |last, part| last.max(part.clock))
                .min(until);
        }
        let goes_further = part.run_window(&all, until, MOST_EVENTS)?;
        budget.look(part)?;
        if !goes_further {
            return Ok(goes_on);
        }
    }
    unreachable!("there is always another round")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_meet_in_every_round() {
        let meeting = Meeting::new(3);
        let most = Mutex::new(0);
        let rounds = on_threads(vec![0, 1, 2], |own| {
            for round in 1..2_000 {
                let mut most = most.lock().expect("nobody panics");
                // Nobody is more than a round ahead of anybody.
                assert!(round + 1 >= *most);
                *most = round.max(*most);
                drop(most);
                assert!(meeting.wait(own, round));
            }
            Ok(())
        });
        assert_eq!(rounds, Ok(vec![(); 3]));
    }

    #[test]
    fn who_fails_leaves_nobody_waiting() {
        let meeting = Meeting::new(2);
        let done = on_threads(vec![0, 1], |own| {
            let _leaves = Leaves(&meeting);
            assert!(own == 0, "the second part has a defect");
            assert!(!meeting.wait(own, 1));
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
