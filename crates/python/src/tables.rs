//! Results for Python: totals as a dictionary, tables through the Arrow C stream interface (the Arrow
//! PyCapsule protocol). Polars, pyarrow and pandas read these without a copy of the numbers.

use std::ffi::CStr;

use crate::controllers::ControllerFault;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use incastle_experiment as experiment;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict};

/// The name that the Arrow PyCapsule protocol gives to a stream's capsule.
const STREAM: &CStr = c"arrow_array_stream";

/// The output of one run.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Output {
    #[pyo3(get)]
    digest: String,
    #[pyo3(get)]
    interrupted: bool,
    #[pyo3(get)]
    wall_s: f64,
    /// Notes on its numbers.
    #[pyo3(get)]
    notes: Vec<String>,
    /// A controller's fault in a lone run for an ideal FCT.
    #[pyo3(get)]
    fault: Option<Py<ControllerFault>>,
    totals: experiment::Totals,
    tables: Vec<Py<Table>>,
    captures: Vec<(String, Py<PyBytes>)>,
}

#[pymethods]
impl Output {
    /// Name and value of each total: counts are int, times float.
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.totals.entries() {
            match value {
                experiment::Total::Count(count) => dict.set_item(name, count)?,
                experiment::Total::Seconds(seconds) => dict.set_item(name, seconds)?,
            }
        }
        Ok(dict)
    }

    fn tables(&self, py: Python<'_>) -> Vec<Py<Table>> {
        self.tables
            .iter()
            .map(|table| table.clone_ref(py))
            .collect()
    }

    /// Name and bytes of each capture.
    fn captures(&self, py: Python<'_>) -> Vec<(String, Py<PyBytes>)> {
        let captures = self.captures.iter();
        captures
            .map(|(name, bytes)| (name.clone(), bytes.clone_ref(py)))
            .collect()
    }
}

impl Output {
    pub(crate) fn new(
        py: Python<'_>,
        from: experiment::Output,
        fault: Option<ControllerFault>,
    ) -> PyResult<Self> {
        let tables = from
            .tables
            .into_iter()
            .map(|table| Py::new(py, Table::new(table).map_err(|error| arrow_error(&error))?))
            .collect::<PyResult<_>>()?;
        Ok(Self {
            digest: from.digest,
            interrupted: from.interrupted,
            wall_s: from.wall_s,
            notes: from.notes.iter().map(ToString::to_string).collect(),
            fault: fault.map(|fault| Py::new(py, fault)).transpose()?,
            totals: from.totals,
            tables,
            captures: from
                .captures
                .into_iter()
                .map(|capture| (capture.name, PyBytes::new(py, &capture.bytes).unbind()))
                .collect(),
        })
    }
}

/// One result table in columns.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Table {
    #[pyo3(get)]
    name: String,
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The table as an Arrow stream of one batch. `requested_schema` is a wish that the protocol
    /// allows a producer to ignore, as this one does.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = std::iter::once(Ok::<_, ArrowError>(self.batch.clone()));
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, STREAM)
    }
}

impl Table {
    fn new(from: experiment::Table) -> Result<Self, ArrowError> {
        let name = from.name.clone();
        let batch = experiment::arrow::batch(from)?;
        Ok(Self { name, batch })
    }
}

fn arrow_error(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}
