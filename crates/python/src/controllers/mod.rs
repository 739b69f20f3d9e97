//! Controllers that users write in Python, as the transport sees them.
//!
//! Python has one lock. A run with such controllers therefore stays in the thread that called, which
//! holds that lock, and no call into Python waits for it. What a controller does wrong (an exception,
//! a window that is none) ends its run: the first fault is kept, and no controller of that run is
//! called again. Leaves out: which classes there are, and where their source is (Python's side).

mod context;
mod controller;
mod fault;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use incastle_scenario as core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pub(crate) use context::{Ack, CongestionEvent, Connection, ControllerContext};
pub(crate) use fault::{ControllerFault, Faults};

use controller::PyController;

/// What makes the controllers of one name: called with a `Connection` and the parameters, it gives
/// the methods `METHODS` of a new one, each bound to it, or None.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct ControllerMaker {
    name: String,
    make: Py<PyAny>,
}

#[pymethods]
impl ControllerMaker {
    #[new]
    fn new(name: String, make: Py<PyAny>) -> Self {
        Self { name, make }
    }
}

/// The controllers of one run.
pub(crate) fn controllers(
    py: Python<'_>,
    makers: &[Py<ControllerMaker>],
    faults: &Arc<Faults>,
) -> core::Controllers {
    let made = Arc::new(AtomicU64::new(0));
    let mut all = core::Controllers::default();
    for maker in makers {
        let name = &maker.get().name;
        let (maker, faults, made) = (maker.clone_ref(py), Arc::clone(faults), Arc::clone(&made));
        all = all.with(name, move |setting| {
            let number = made.fetch_add(1, Ordering::Relaxed);
            Box::new(PyController::new(maker.get(), setting, number, &faults))
        });
    }
    all
}

/// Parameters as keyword arguments.
fn keywords<'py>(py: Python<'py>, parameters: &core::Parameters) -> PyResult<Bound<'py, PyDict>> {
    let keywords = PyDict::new(py);
    for (name, value) in parameters.entries() {
        match value {
            core::Parameter::Integer(value) => keywords.set_item(name, value)?,
            core::Parameter::Number(value) => keywords.set_item(name, value)?,
            core::Parameter::Flag(value) => keywords.set_item(name, value)?,
            core::Parameter::Text(value) => keywords.set_item(name, value)?,
        }
    }
    Ok(keywords)
}

impl ControllerMaker {
    /// The bound methods of a new controller.
    fn methods<'py>(
        &self,
        py: Python<'py>,
        setting: &core::ControllerSetting,
        number: u64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let connection = Py::new(py, Connection::new(setting, number))?;
        let parameters = keywords(py, &setting.parameters)?;
        let made = self.make.bind(py).call1((connection, parameters))?;
        Ok(made.cast_into::<PyTuple>()?)
    }
}
