//! Runs: the calling Python thread watches over them, hands finished ones to Python, and listens
//! for signals.

use std::sync::atomic::Ordering;

use incastle_scenario as core;
use pyo3::prelude::*;

use crate::scenario::Scenario;
use crate::tables::Output;

/// Picoseconds in a second.
const PS_PER_S: f64 = 1e12;

/// A run that gave no result: the engine refused it, or hit a defect of its own.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct Failure {
    message: String,
    /// True for a panic: a violated invariant, to be reported.
    internal: bool,
}

impl From<core::Failure> for Failure {
    fn from(from: core::Failure) -> Self {
        Self {
            message: from.to_string(),
            internal: matches!(from, core::Failure::Panicked(_)),
        }
    }
}

/// Runs all scenarios on `threads` workers. Calls, in the calling thread, `on_finished(index, Output
/// or Failure)` once for every run that was started, in the order of their ends, and about twenty
/// times a second `on_progress([simulated seconds of each run])`.
///
/// When a signal handler or one of the two callables raises, all runs are stopped, those stopped
/// are handed over as well (`Output.interrupted`), and then the exception is raised.
#[pyfunction]
pub(crate) fn run_many(
    py: Python<'_>,
    scenarios: Vec<Py<Scenario>>,
    threads: usize,
    on_finished: Py<PyAny>,
    on_progress: Py<PyAny>,
) -> PyResult<()> {
    let scenarios: Vec<core::Scenario> = scenarios
        .into_iter()
        .map(|scenario| scenario.get().inner.clone())
        .collect();
    let controls: Vec<core::Control> = scenarios.iter().map(|_| core::Control::default()).collect();
    let mut watch = Watch {
        controls: &controls,
        on_finished,
        on_progress,
        raised: None,
    };
    py.detach(|| core::run_many(&scenarios, threads, &controls, &mut watch));
    watch.raised.map_or(Ok(()), Err)
}

/// The calling thread's side of a batch of runs.
struct Watch<'a> {
    controls: &'a [core::Control],
    on_finished: Py<PyAny>,
    on_progress: Py<PyAny>,
    /// The first exception that a signal handler or a callable raised.
    raised: Option<PyErr>,
}

impl core::Watcher for Watch<'_> {
    fn finished(&mut self, index: usize, outcome: Result<core::Output, core::Failure>) {
        let called = Python::attach(|py| {
            let argument = match outcome {
                Ok(output) => Py::new(py, Output::new(py, output)?)?.into_any(),
                Err(failure) => Py::new(py, Failure::from(failure))?.into_any(),
            };
            self.on_finished.call1(py, (index, argument))
        });
        self.note(called.map(|_| ()));
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

fn simulated_s(control: &core::Control) -> f64 {
    control.simulated_ps.load(Ordering::Relaxed) as f64 / PS_PER_S
}
