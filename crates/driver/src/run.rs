//! One run of a scenario: with the wall clock, stoppable from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use incastle_units::Time;

use crate::memory::Claim;
use incastle_experiment::Output;
use incastle_experiment::memory::Shortage;
use incastle_experiment::{Overseer, RunError, simulate};
use incastle_scenario::Scenario;

/// Shared between a run and its caller on another thread.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it, and the run ends within milliseconds, with what it has.
    pub cancel: AtomicBool,
    /// The progress of the run, in picoseconds of simulated time.
    pub simulated_ps: AtomicU64,
    /// The memory that the run will still take.
    pub(super) claim: Claim,
}

impl Control {
    /// The run has handed over its result: it needs no more memory.
    pub fn release(&self) {
        self.claim.release();
    }
}

impl Overseer for Control {
    fn continues(&self, now: Time) -> bool {
        self.simulated_ps.store(now.as_ps(), Ordering::Relaxed);
        !self.cancel.load(Ordering::Relaxed)
    }

    fn affords(&self, bytes: u64) -> Result<(), Shortage> {
        self.claim.affords(bytes)
    }
}

/// Runs a scenario.
pub fn run(scenario: &Scenario, overseer: &impl Overseer) -> Result<Output, RunError> {
    let start = Instant::now();
    let mut output = simulate(scenario, overseer)?;
    output.wall_s = start.elapsed().as_secs_f64();
    Ok(output)
}
