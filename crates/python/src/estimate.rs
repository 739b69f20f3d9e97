//! Estimates: the calling Python thread watches over the links, hands each finished one to Python, and
//! listens for signals.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use incastle_scenario as core;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::run::Failure;
use crate::scenario::Scenario;
use crate::tables::Output;

/// A delay that is absent.
const NONE: i64 = i64::MIN;

/// A scenario taken apart link by link.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Estimation {
    inner: core::Estimation,
}

/// Why a scenario cannot be taken apart: key, message, what would do.
type Why = (String, String, String);

/// Takes a scenario apart: that, or why it cannot be.
#[pyfunction]
#[pyo3(signature = (scenario, per_class))]
pub(crate) fn take_apart(
    py: Python<'_>,
    scenario: &Scenario,
    per_class: Option<usize>,
) -> PyResult<(Option<Estimation>, Option<Why>)> {
    let made = py.detach(|| core::catch(|| core::Estimation::new(&scenario.inner, per_class)));
    match made.map_err(|panic| PyRuntimeError::new_err(panic.to_string()))? {
        Ok(inner) => Ok((Some(Estimation { inner }), None)),
        Err(core::EstimateError::Unsuited(found)) => {
            Ok((None, Some((found.key, found.message, found.help))))
        }
        Err(core::EstimateError::Run(error)) => Err(PyValueError::new_err(error.to_string())),
    }
}

#[pymethods]
impl Estimation {
    /// The number of flows.
    #[getter]
    fn flows(&self) -> usize {
        self.inner.flows()
    }

    /// The number of links that flows cross.
    #[getter]
    fn crossed(&self) -> usize {
        self.inner.crossed()
    }

    /// How many of them are simulated, and in how many simulations.
    #[getter]
    fn simulated(&self) -> (usize, usize) {
        let simulations = (0..core::PASSES).map(|pass| self.inner.links_of(pass).len());
        (self.inner.links().len(), simulations.sum())
    }

    /// Whether a job is one of this estimate's.
    fn wants(&self, number: usize) -> bool {
        self.inner.links().binary_search(&job(number).link).is_ok()
    }

    /// Estimates on `threads` workers. `known` has what earlier calls handed to `on_link(number, bytes)`,
    /// which is called once for every job as soon as a link is simulated; `on_progress(share)` is called
    /// about twenty times a second. Both in the calling thread.
    ///
    /// When a signal handler or one of the two callables raises, all work is stopped, and then the
    /// exception is raised.
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        known: BTreeMap<usize, Vec<u8>>,
        on_link: Py<PyAny>,
        on_progress: Py<PyAny>,
    ) -> PyResult<(Option<Output>, Option<Failure>)> {
        let mut delays = BTreeMap::new();
        for (number, bytes) in known {
            let job = job(number);
            let known = read(&bytes).filter(|known| self.inner.fits(job.link, known));
            let known = known.ok_or_else(|| PyValueError::new_err("delays of something else"))?;
            delays.insert(job, known);
        }
        let cancel = AtomicBool::new(false);
        let mut watch = Watch {
            cancel: &cancel,
            on_link,
            on_progress,
            raised: None,
        };
        let outcome =
            py.detach(|| core::estimate(&self.inner, threads, delays, (&cancel, &mut watch)));
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        match outcome {
            Ok(output) => Ok((
                output.map(|output| Output::new(py, output)).transpose()?,
                None,
            )),
            Err(failure) => Ok((None, Some(failure.into()))),
        }
    }
}

/// The calling thread's side.
struct Watch<'a> {
    cancel: &'a AtomicBool,
    on_link: Py<PyAny>,
    on_progress: Py<PyAny>,
    /// The first exception that a signal handler or a callable raised.
    raised: Option<PyErr>,
}

impl core::EstimateWatcher for Watch<'_> {
    fn link(&mut self, job: core::LinkJob, delays: &core::Delays) {
        let number = usize::from(core::PASSES) * job.link + usize::from(job.pass);
        let called = Python::attach(|py| {
            let bytes = PyBytes::new(py, &written(delays));
            self.on_link.call1(py, (number, bytes)).map(|_| ())
        });
        self.note(called);
    }

    fn tick(&mut self, done: f64) {
        let called = Python::attach(|py| {
            py.check_signals()?;
            self.on_progress.call1(py, (done,)).map(|_| ())
        });
        self.note(called);
    }
}

impl Watch<'_> {
    fn note(&mut self, outcome: PyResult<()>) {
        if let Err(error) = outcome {
            self.cancel.store(true, Ordering::Relaxed);
            self.raised.get_or_insert(error);
        }
    }
}

/// The job of a number: link by link, and of each link pass by pass.
fn job(number: usize) -> core::LinkJob {
    let passes = usize::from(core::PASSES);
    core::LinkJob {
        link: number / passes,
        pass: (number % passes) as u8,
    }
}

/// Delays as bytes: packet-hops, then picoseconds by flow, each a little-endian word.
fn written(delays: &core::Delays) -> Vec<u8> {
    let mut bytes = delays.packet_hops.to_le_bytes().to_vec();
    for delay in &delays.of_flows {
        bytes.extend(delay.unwrap_or(NONE).to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<core::Delays> {
    let (words, rest) = bytes.as_chunks::<8>();
    let (&first, others) = words.split_first()?;
    rest.is_empty().then(|| core::Delays {
        packet_hops: u64::from_le_bytes(first),
        of_flows: others
            .iter()
            .map(|&word| Some(i64::from_le_bytes(word)).filter(|delay| *delay != NONE))
            .collect(),
    })
}
