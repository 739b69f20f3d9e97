//! The faults of controllers; the first one of a run is stored.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use incastle_units::Time;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The first fault of a controller in a run.
#[pyclass(frozen, get_all, module = "incastle._engine")]
pub(crate) struct ControllerFault {
    /// The controller's name in the scenario.
    controller: String,
    /// The method that was called.
    method: String,
    /// The simulated time of the call; none where no call has one, while the controller is made.
    now_s: Option<f64>,
    /// The exception that it raised, or
    raised: Option<Py<PyAny>>,
    /// the error of the value that it returned.
    gave: Option<String>,
}

/// The error of one call.
pub(super) enum Wrong {
    Raised(PyErr),
    Gave(String),
}

/// The faults of one run, of which the first counts.
#[derive(Default)]
pub(crate) struct Faults {
    any: AtomicBool,
    first: Mutex<Option<ControllerFault>>,
}

/// A call of a controller's method.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) controller: &'a str,
    pub(super) method: &'a str,
    /// Absent while it is made.
    pub(super) now: Option<Time>,
}

impl Faults {
    /// Whether a controller has failed: then none is called any more.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Takes the first one.
    pub(crate) fn take(&self) -> Option<ControllerFault> {
        self.first
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    /// Stores a fault, unless there is an earlier one.
    pub(super) fn note(&self, py: Python<'_>, call: Call<'_>, wrong: Wrong) {
        let (raised, gave) = match wrong {
            Wrong::Raised(error) => (Some(error.into_value(py).into_any()), None),
            Wrong::Gave(message) => (None, Some(message)),
        };
        self.any.store(true, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(ControllerFault {
            controller: call.controller.to_owned(),
            method: call.method.to_owned(),
            now_s: call.now.map(Time::as_secs_lossy),
            raised,
            gave,
        });
    }
}

impl ControllerFault {
    /// The exception, if it is a Ctrl-C. All others are faults: `sys.exit` too, after which a run would
    /// end without a message.
    pub(crate) fn interruption(&self, py: Python<'_>) -> Option<PyErr> {
        let raised = self.raised.as_ref()?.bind(py);
        self.is_interruption(py)
            .then(|| PyErr::from_value(raised.clone()))
    }

    /// Whether it is a Ctrl-C.
    pub(crate) fn is_interruption(&self, py: Python<'_>) -> bool {
        let raised = self.raised.as_ref().map(|raised| raised.bind(py));
        raised.is_some_and(PyAnyMethods::is_instance_of::<PyKeyboardInterrupt>)
    }
}
