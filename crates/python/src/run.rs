//! Runs: the calling Python thread watches over them, hands finished ones to Python, and listens
//! for signals. Runs with controllers in Python it does itself.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use incastle_driver as driver;
use incastle_driver::{Parallelism, Watcher};
use incastle_experiment as experiment;
use incastle_experiment::Overseer;
use incastle_scenario as core;
use incastle_units::Time;
use pyo3::prelude::*;

use crate::controllers::{ControllerFault, Faults, controllers};
use crate::scenario::Scenario;
use crate::tables::Output;

/// Picoseconds in a second.
const PS_PER_S: f64 = 1e12;

/// The longest time that a signal or a progress bar waits during a run in this thread.
const TICK: Duration = Duration::from_millis(50);

/// A run without a result: the engine refused it, a controller failed, or it hit a defect of Incastle.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct Failure {
    message: String,
    /// True for a panic: a violated invariant, to be reported.
    internal: bool,
    /// The controller's fault, if that was the reason.
    fault: Option<Py<ControllerFault>>,
}

impl From<driver::Failure> for Failure {
    fn from(from: driver::Failure) -> Self {
        Self {
            message: from.to_string(),
            internal: matches!(from, driver::Failure::Panicked(_)),
            fault: None,
        }
    }
}

impl Failure {
    fn of(py: Python<'_>, fault: ControllerFault) -> PyResult<Self> {
        Ok(Self {
            message: "a controller failed".to_owned(),
            internal: false,
            fault: Some(Py::new(py, fault)?),
        })
    }
}

/// Runs `threads[0]` of the scenarios at the same time, each on `threads[1]` threads. Those with controllers in
/// Python follow, one by one in the calling thread.
///
/// A tuple in Python.
#[derive(FromPyObject)]
pub(crate) struct Threads {
    /// Simultaneous runs.
    #[pyo3(item(0))]
    runs: usize,
    /// Threads of each run.
    #[pyo3(item(1))]
    per_run: usize,
}

/// In the calling thread, calls `on_finished(index, Output or Failure)` once for every started run, in the order
/// of their ends. About twenty times a second it calls `on_progress([simulated seconds of each run])`.
///
/// When a signal handler or one of the two callables raises, all runs are stopped. The stopped ones
/// are handed over as well (`Output.interrupted`). Then the exception is raised.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python gives is extracted by value"
)]
pub(crate) fn run_many(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    threads: Threads,
    on_finished: Py<PyAny>,
    on_progress: Py<PyAny>,
) -> PyResult<()> {
    let everywhere = |index: &usize| scenarios[*index].get().makers.is_empty();
    let (numbers, here): (Vec<usize>, Vec<usize>) = (0..scenarios.len()).partition(everywhere);
    let shared = inner(numbers.iter().map(|&index| &scenarios[index]));
    let all: Vec<driver::Control> = scenarios
        .iter()
        .map(|_| driver::Control::default())
        .collect();
    let controls: Vec<&driver::Control> = numbers.iter().map(|&index| &all[index]).collect();
    let mut watch = Watch {
        controls: &all,
        numbers: &numbers,
        on_finished,
        on_progress,
        raised: None,
    };
    let parallelism = Parallelism {
        runs: threads.runs,
        threads_per_run: threads.per_run,
    };
    py.detach(|| driver::run_many(&shared, parallelism, &controls, &mut watch));
    for index in here {
        if watch.raised.is_none() {
            run_here(py, scenarios[index].get(), index, &mut watch);
        }
    }
    watch.raised.map_or(Ok(()), Err)
}

/// Does a run in this thread, which has the interpreter's lock and releases it at each tick; within
/// a controller the interpreter itself does so.
fn run_here(py: Python<'_>, scenario: &Scenario, index: usize, watch: &mut Watch<'_>) {
    let faults = Arc::new(Faults::default());
    let bound = controllers(py, &scenario.makers, &faults);
    let ready = scenario.inner.with_controllers(&bound);
    let here = Here {
        control: &watch.controls[index],
        faults: &faults,
        watch: RefCell::new(&mut *watch),
        next_tick: RefCell::new(Instant::now() + TICK),
    };
    let outcome = driver::attempt(|| driver::run(&ready, &here));
    match (faults.take(), outcome) {
        (None, outcome) => watch.hand_over(index, outcome, None),
        (Some(fault), Ok(output)) if lacks_ideals(&output) && !fault.is_interruption(py) => {
            watch.hand_over(index, Ok(output), Some(fault));
        }
        (Some(fault), _) => watch.fail(py, index, fault),
    }
    watch.controls[index].release();
}

/// Whether the run itself came to its end, and a lone run for an ideal FCT did not.
fn lacks_ideals(output: &experiment::Output) -> bool {
    let mut notes = output.notes.iter();
    notes.any(|note| matches!(note, experiment::Note::NoIdeals { .. }))
}

/// Watches over a run in this thread.
struct Here<'a, 'b> {
    control: &'a driver::Control,
    faults: &'a Faults,
    watch: RefCell<&'a mut Watch<'b>>,
    next_tick: RefCell<Instant>,
}

impl Overseer for Here<'_, '_> {
    fn continues(&self, now: Time) -> bool {
        // An exception within a controller comes first, a Ctrl-C too: its message names the place.
        if self.faults.any() {
            return false;
        }
        let mut next_tick = self.next_tick.borrow_mut();
        if Instant::now() >= *next_tick {
            // Other threads of the program have had no turn unless a controller was at work.
            Python::attach(|py| py.detach(|| ()));
            self.watch.borrow_mut().tick();
            *next_tick = Instant::now() + TICK;
        }
        self.control.continues(now)
    }

    fn affords(&self, bytes: u64) -> Result<(), experiment::Shortage> {
        self.control.affords(bytes)
    }
}

/// The calling thread's side of a batch of runs.
struct Watch<'a> {
    /// The controls of all runs.
    controls: &'a [driver::Control],
    /// Which runs those on threads are.
    numbers: &'a [usize],
    on_finished: Py<PyAny>,
    on_progress: Py<PyAny>,
    /// The first exception that a signal handler or a callable raised.
    raised: Option<PyErr>,
}

impl Watcher for Watch<'_> {
    fn finished(&mut self, index: usize, outcome: Result<experiment::Output, driver::Failure>) {
        self.hand_over(self.numbers[index], outcome, None);
    }

    /// Lets signal handlers run and the progress be shown.
    fn tick(&mut self) {
        let seconds: Vec<f64> = self.controls.iter().map(simulated_s).collect();
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            self.on_progress.call1(py, (seconds,)).map(|_| ())
        });
        self.note(outcome);
    }
}

impl Watch<'_> {
    fn hand_over(
        &mut self,
        index: usize,
        outcome: Result<experiment::Output, driver::Failure>,
        fault: Option<ControllerFault>,
    ) {
        let made = Python::attach(|py| {
            Ok(match outcome {
                Ok(output) => Py::new(py, Output::new(py, output, fault)?)?.into_any(),
                Err(failure) => Py::new(py, Failure::from(failure))?.into_any(),
            })
        });
        self.deliver(index, made);
    }

    /// A controller failed; or it was interrupted, which is no failure of its.
    fn fail(&mut self, py: Python<'_>, index: usize, fault: ControllerFault) {
        if let Some(error) = fault.interruption(py) {
            self.note(Err(error));
            return;
        }
        let failed = Failure::of(py, fault).and_then(|failure| Py::new(py, failure));
        self.deliver(index, failed.map(Py::into_any));
    }

    fn deliver(&mut self, index: usize, made: PyResult<Py<PyAny>>) {
        let called = Python::attach(|py| self.on_finished.call1(py, (index, made?)));
        self.note(called.map(|_| ()));
    }

    /// The first exception stops all runs; a second one (an impatient Ctrl-C) adds nothing.
    fn note(&mut self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            for control in self.controls {
                control.cancel.store(true, Ordering::Relaxed);
            }
            self.raised.get_or_insert(error);
        }
    }
}

fn inner<'a>(scenarios: impl Iterator<Item = &'a Py<Scenario>>) -> Vec<core::Scenario> {
    scenarios.map(|one| one.get().inner.clone()).collect()
}

fn simulated_s(control: &driver::Control) -> f64 {
    control.simulated_ps.load(Ordering::Relaxed) as f64 / PS_PER_S
}

/// A warning before these scenarios are run, `at_once` at a time, if their memory may not be enough.
#[pyfunction]
#[allow(
    clippy::needless_pass_by_value,
    reason = "what Python gives is extracted by value"
)]
pub(crate) fn memory_warning(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    at_once: usize,
) -> Option<String> {
    let all = inner(scenarios.iter());
    py.detach(|| driver::memory_warning(&all, at_once))
}
