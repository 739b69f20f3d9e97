//! Explanations of flows: tables come in as streams of Arrow's IPC format, explanations go out as JSON.

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::ArrowError;
use incastle_explanation::{Instants, Malformed, Run, Trace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

/// The record of some flows of a run.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct EventTrace(Trace);

#[pymethods]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python gives is extracted by value"
)]
impl EventTrace {
    /// `events` and `pauses` are the tables `events` and `pause_record`.
    #[new]
    fn new(
        py: Python<'_>,
        events: &[u8],
        pauses: Option<&[u8]>,
        flows: Vec<u64>,
        neighbours: Vec<u64>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let (events, pauses) = (batches(Some(events))?, batches(pauses)?);
            let trace = Trace::read(&events, &pauses, &flows, &neighbours);
            trace.map(Self).map_err(|error| malformed(&error))
        })
    }

    /// The flows that have events, in order of the first one of each.
    fn flows(&self) -> Vec<u64> {
        self.0.flows().to_vec()
    }

    /// Whether there was no more room for the events of its flows.
    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// JSON of everything that happened to a flow between two instants in picoseconds.
    fn story(&self, py: Python<'_>, flow: u64, begins: i64, ends: i64) -> PyResult<String> {
        let steps = py.detach(|| self.0.story(flow, begins, ends));
        steps
            .map(|steps| json(&steps))
            .map_err(|error| malformed(&error))
    }
}

/// A finished run whose flows are explained.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct ExplainedRun(Run);

#[pymethods]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python gives is extracted by value"
)]
impl ExplainedRun {
    /// `instants` are the end of the run, and begin and end of the measured interval, in seconds.
    #[new]
    fn new(
        flows: &[u8],
        transfers: &[u8],
        instants: (f64, f64, f64),
        scenario: String,
    ) -> PyResult<Self> {
        let instants = Instants {
            simulated_s: instants.0,
            measured_s: [instants.1, instants.2],
        };
        let (flows, transfers) = (batches(Some(flows))?, batches(Some(transfers))?);
        let run = Run::read(&flows, &transfers, instants, scenario);
        run.map(Self).map_err(|error| malformed(&error))
    }

    /// The number of a flow: named by its number, as GROUP:INDEX, or GROUP for its slowest.
    fn numbered(&self, name: &str) -> Option<u64> {
        self.0.numbered(name)
    }

    /// The flows with transfers, that with the slowest transfer first.
    fn by_time(&self) -> Vec<u64> {
        self.0.by_time(None)
    }

    /// How long the slowest transfer took, or has lasted, in seconds; 0 if there is none.
    fn longest_s(&self) -> f64 {
        self.0.longest_s()
    }

    /// The other queue pairs that a record of some flows is to have.
    fn neighbours(&self, queue_pairs: Option<&[u8]>, flows: Vec<u64>) -> PyResult<Vec<u64>> {
        let found = self.0.neighbours(&batches(queue_pairs)?, &flows);
        found.map_err(|error| malformed(&error))
    }

    /// JSON of the explanation of a flow.
    fn explain(
        &self,
        py: Python<'_>,
        trace: &EventTrace,
        flow: u64,
        all_timeouts: bool,
    ) -> PyResult<String> {
        py.detach(|| {
            let explanation = self.0.explain(&trace.0, flow, all_timeouts);
            explanation
                .map(|one| json(&one))
                .map_err(|error| malformed(&error))
        })
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("its maps have strings as keys")
}

fn batches(stream: Option<&[u8]>) -> PyResult<Vec<RecordBatch>> {
    let Some(stream) = stream else {
        return Ok(Vec::new());
    };
    let read = || -> Result<Vec<RecordBatch>, ArrowError> {
        StreamReader::try_new(stream, None)?.collect()
    };
    read().map_err(|error| PyValueError::new_err(error.to_string()))
}

fn malformed(error: &Malformed) -> PyErr {
    PyValueError::new_err(error.to_string())
}
