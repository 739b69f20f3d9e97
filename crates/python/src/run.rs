//! Runs: threads of ours drive the engine while the calling Python thread watches over them, hands
//! finished runs to Python, and listens for signals.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use incastle_scenario as core;
use pyo3::prelude::*;

use crate::guard;
use crate::scenario::Scenario;
use crate::tables::Output;

/// How long a signal or a progress bar may wait.
const TICK: Duration = Duration::from_millis(50);

/// Picoseconds in a second.
const PS_PER_S: f64 = 1e12;

/// A run that gave no result: the engine refused it, or hit a defect of its own.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct Failure {
    message: String,
    /// True for a panic: a violated invariant, to be reported.
    internal: bool,
}

type Finished = (usize, Result<core::Output, Failure>);

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
    let pool = Pool {
        scenarios: &scenarios,
        controls: &controls,
        next: AtomicUsize::new(0),
    };
    let watch = Watch {
        controls: &controls,
        on_finished,
        on_progress,
        raised: None,
    };
    py.detach(|| drive(&pool, threads, watch))
}

fn drive(pool: &Pool<'_>, threads: usize, mut watch: Watch<'_>) -> PyResult<()> {
    let (sender, receiver) = channel();
    thread::scope(|scope| {
        for _ in 0..threads.min(pool.scenarios.len()) {
            let sender = sender.clone();
            scope.spawn(move || pool.work(&sender));
        }
        // The watch ends when the last worker has dropped its end of the channel.
        drop(sender);
        watch.until_done(&receiver);
    });
    watch.raised.map_or(Ok(()), Err)
}

/// The workers' side: scenarios are taken in order, each by whoever is free. Every run is alone with
/// its scenario and control, so that the number of workers cannot change a result.
struct Pool<'a> {
    scenarios: &'a [core::Scenario],
    controls: &'a [core::Control],
    next: AtomicUsize,
}

impl Pool<'_> {
    fn work(&self, sender: &Sender<Finished>) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let (Some(scenario), Some(control)) =
                (self.scenarios.get(index), self.controls.get(index))
            else {
                return;
            };
            if control.cancel.load(Ordering::Relaxed) {
                return;
            }
            let outcome = match guard::catch(|| core::run(scenario, control)) {
                Ok(Ok(output)) => Ok(output),
                Ok(Err(error)) => Err(Failure {
                    message: error.to_string(),
                    internal: false,
                }),
                Err(panic) => Err(Failure {
                    message: panic,
                    internal: true,
                }),
            };
            if sender.send((index, outcome)).is_err() {
                return;
            }
        }
    }
}

/// The calling thread's side of a batch of runs.
struct Watch<'a> {
    controls: &'a [core::Control],
    on_finished: Py<PyAny>,
    on_progress: Py<PyAny>,
    /// The first exception that a signal handler or a callable raised.
    raised: Option<PyErr>,
}

impl Watch<'_> {
    /// Returns once the last worker has dropped its end of the channel: every run is over.
    fn until_done(&mut self, receiver: &Receiver<Finished>) {
        let mut next_look = Instant::now() + TICK;
        loop {
            let patience = next_look.saturating_duration_since(Instant::now());
            match receiver.recv_timeout(patience) {
                Ok((index, outcome)) => self.hand_over(index, outcome),
                Err(RecvTimeoutError::Timeout) => {
                    self.look();
                    next_look = Instant::now() + TICK;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn hand_over(&mut self, index: usize, outcome: Result<core::Output, Failure>) {
        let called = Python::attach(|py| {
            let argument = match outcome {
                Ok(output) => Py::new(py, Output::new(py, output)?)?.into_any(),
                Err(failure) => Py::new(py, failure)?.into_any(),
            };
            self.on_finished.call1(py, (index, argument))
        });
        self.note(called.map(|_| ()));
    }

    /// Lets signal handlers run and the progress be shown.
    fn look(&mut self) {
        let seconds: Vec<f64> = self.controls.iter().map(simulated_s).collect();
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            self.on_progress.call1(py, (seconds,)).map(|_| ())
        });
        self.note(outcome);
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

fn simulated_s(control: &core::Control) -> f64 {
    control.simulated_ps.load(Ordering::Relaxed) as f64 / PS_PER_S
}
