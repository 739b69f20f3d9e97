//! The makers of controllers: Python classes by name.

use incastle_scenario as core;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::context::Connection;

/// The maker of the controllers of one name. Called with a `Connection` and the parameters, it returns
/// the methods `METHODS` of a new one, each bound to it, or None.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct ControllerMaker {
    pub(super) name: String,
    make: Py<PyAny>,
}

#[pymethods]
impl ControllerMaker {
    #[new]
    fn new(name: String, make: Py<PyAny>) -> Self {
        Self { name, make }
    }
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
    pub(super) fn methods<'py>(
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
