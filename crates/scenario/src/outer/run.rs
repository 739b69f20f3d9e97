//! Runs of scenarios: with the wall clock, stoppable from outside, several at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use incastle_units::Time;

use crate::output::Output;
use crate::scenario::Scenario;
use crate::simulate::{Overseer, RunError, simulate};

/// Shared between a run and its caller on another thread.
#[derive(Debug, Default)]
pub struct Control {
    /// Set it, and the run ends within milliseconds, with what it has.
    pub cancel: AtomicBool,
    /// How far the run has come, in picoseconds of simulated time.
    pub simulated_ps: AtomicU64,
}

impl Overseer for Control {
    fn goes_on(&self, now: Time) -> bool {
        self.simulated_ps.store(now.as_ps(), Ordering::Relaxed);
        !self.cancel.load(Ordering::Relaxed)
    }
}

/// Runs a scenario.
pub fn run(scenario: &Scenario, control: &Control) -> Result<Output, RunError> {
    let start = Instant::now();
    let mut output = simulate(scenario, control)?;
    output.wall_s = start.elapsed().as_secs_f64();
    Ok(output)
}

/// Runs scenarios on so many threads, each with the control of its position, and tells of each when
/// it is over. A scenario is run by one thread, so that the number of threads changes no result.
/// Those that are cancelled before they begin are not told of.
pub fn run_many(
    scenarios: &[Scenario],
    threads: usize,
    controls: &[Control],
    on_finished: impl Fn(usize, Result<Output, RunError>) + Sync,
) {
    assert!(
        scenarios.len() == controls.len(),
        "every scenario has a control"
    );
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let (Some(scenario), Some(control)) = (scenarios.get(index), controls.get(index))
            else {
                return;
            };
            if !control.cancel.load(Ordering::Relaxed) {
                on_finished(index, run(scenario, control));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, scenarios.len().max(1)) {
            scope.spawn(work);
        }
    });
}
