//! Estimates: the calling Python thread watches over the links, hands each finished one to Python, and
//! listens for signals. Elsewhere, on machines of a cluster, links are simulated one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use incastle_driver as driver;
use incastle_estimate as estimate;
use incastle_experiment as experiment;
use incastle_units::Time;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::run::Failure;
use crate::scenario::Scenario;
use crate::tables::Output;

/// A delay that is absent.
const NONE: i64 = i64::MIN;

/// A decomposed scenario.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Estimation {
    inner: estimate::Estimation,
}

/// No watcher: a link on a machine of a cluster is simulated to its end.
struct Alone;

impl experiment::Overseer for Alone {
    fn continues(&self, _: Time) -> bool {
        true
    }
}

/// The reason why a scenario cannot be decomposed: key, message, remedy.
type Why = (String, String, String);

/// Decomposes a scenario, or returns the reason why it cannot be.
#[pyfunction]
#[pyo3(signature = (scenario, per_class, threads))]
pub(crate) fn take_apart(
    py: Python<'_>,
    scenario: &Scenario,
    per_class: Option<usize>,
    threads: usize,
) -> PyResult<(Option<Estimation>, Option<Why>)> {
    let scenario = &scenario.inner;
    let made = py.detach(|| driver::catch(|| driver::take_apart(scenario, per_class, threads)));
    match made.map_err(|panic| raised(&panic))? {
        Ok(inner) => Ok((Some(Estimation { inner }), None)),
        Err(estimate::EstimateError::Unsuited(found)) => {
            Ok((None, Some((found.key, found.message, found.help))))
        }
        Err(estimate::EstimateError::Run(error)) => Err(PyValueError::new_err(error.to_string())),
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

    /// The number of simulated ones.
    #[getter]
    fn simulated(&self) -> usize {
        self.inner.links().len()
    }

    /// Whether a link is simulated.
    fn simulates(&self, link: usize) -> bool {
        self.inner.links().binary_search(&link).is_ok()
    }

    /// The links that are to be simulated, each with how much work it is; the longest first.
    fn jobs(&self) -> Vec<(usize, u64)> {
        let links = self.inner.links().iter();
        let mut jobs: Vec<(usize, u64)> =
            links.map(|&link| (link, self.inner.work(link))).collect();
        jobs.sort_by_key(|&(_, work)| Reverse(work));
        jobs
    }

    /// Simulates one link, in the calling thread: the bytes that `run` hands to `on_link`, or why there
    /// are none.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        link: usize,
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, Option<Failure>)> {
        if !self.simulates(link) {
            return Err(PyValueError::new_err("a link of something else"));
        }
        let done = py.detach(|| driver::catch(|| self.inner.delays(link, &Alone)));
        let failure: driver::Failure = match done {
            Ok(Ok(delays)) => {
                let delays = delays.expect("there is no watcher to end it");
                return Ok((Some(PyBytes::new(py, &written(&delays))), None));
            }
            Ok(Err(refused)) => refused.into(),
            Err(panic) => panic.into(),
        };
        Ok((None, Some(failure.into())))
    }

    /// Estimates on `threads` workers. In the calling thread, `on_link(link, bytes)` is called once for every
    /// simulated link, and `on_progress(share)` about twenty times a second.
    /// `known` has the arguments of `on_link` from earlier calls.
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
        let delays = self.read(known)?;
        let cancel = AtomicBool::new(false);
        let mut watch = Watch {
            cancel: &cancel,
            on_link,
            on_progress,
            raised: None,
        };
        let outcome =
            py.detach(|| driver::estimate(&self.inner, threads, delays, &cancel, &mut watch));
        if let Some(raised) = watch.raised {
            return Err(raised);
        }
        match outcome {
            Ok(output) => Ok((
                output
                    .map(|output| Output::new(py, output, None))
                    .transpose()?,
                None,
            )),
            Err(failure) => Ok((None, Some(failure.into()))),
        }
    }
}

impl Estimation {
    /// The delays by link.
    fn read(&self, known: BTreeMap<usize, Vec<u8>>) -> PyResult<BTreeMap<usize, estimate::Delays>> {
        let known = known.into_iter().map(|(link, bytes)| {
            let delays = read(&bytes).filter(|known| self.inner.fits(link, known));
            let delays = delays.ok_or_else(|| PyValueError::new_err("delays of something else"))?;
            Ok((link, delays))
        });
        known.collect()
    }
}

fn raised(panic: &driver::Panic) -> PyErr {
    PyRuntimeError::new_err(panic.to_string())
}

/// The calling thread's side.
struct Watch<'a> {
    cancel: &'a AtomicBool,
    on_link: Py<PyAny>,
    on_progress: Py<PyAny>,
    /// The first exception that a signal handler or a callable raised.
    raised: Option<PyErr>,
}

impl driver::EstimateWatcher for Watch<'_> {
    fn link(&mut self, link: usize, delays: &estimate::Delays) {
        let called = Python::attach(|py| {
            let bytes = PyBytes::new(py, &written(delays));
            self.on_link.call1(py, (link, bytes)).map(|_| ())
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

/// Delays as bytes: packet-hops, then picoseconds by flow, each a little-endian word.
fn written(delays: &estimate::Delays) -> Vec<u8> {
    let mut bytes = delays.packet_hops.to_le_bytes().to_vec();
    for delay in &delays.of_flows {
        bytes.extend(delay.unwrap_or(NONE).to_le_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Option<estimate::Delays> {
    let (words, rest) = bytes.as_chunks::<8>();
    let (&first, others) = words.split_first()?;
    rest.is_empty().then(|| estimate::Delays {
        packet_hops: u64::from_le_bytes(first),
        of_flows: others
            .iter()
            .map(|&word| Some(i64::from_le_bytes(word)).filter(|delay| *delay != NONE))
            .collect(),
    })
}
