//! Estimates: the calling Python thread watches over the links, hands each finished one to Python, and
//! listens for signals. Elsewhere, on machines of a cluster, links are simulated one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use incastle_scenario as core;
use incastle_units::{Rate, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::run::Failure;
use crate::scenario::Scenario;
use crate::tables::Output;

/// A delay that is absent.
const NONE: i64 = i64::MIN;

/// A rate that is absent.
const ANY: u64 = 0;

/// A scenario taken apart link by link.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Estimation {
    inner: core::Estimation,
}

/// The paces of all flows before a pass.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct Paces {
    inner: Option<core::Paces>,
}

/// Nobody watches: a link on a machine of a cluster is simulated to its end.
struct Alone;

impl core::Overseer for Alone {
    fn goes_on(&self, _: Time) -> bool {
        true
    }
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
    match made.map_err(|panic| raised(&panic))? {
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

    /// How many passes there are over the links.
    #[classattr]
    const PASSES: u8 = core::PASSES;

    /// The jobs of a pass, each with how much work it is; the longest first.
    fn jobs(&self, stage: u8) -> Vec<(usize, u64)> {
        let links = self.inner.links_of(stage).into_iter();
        let job = |link| number(core::LinkJob { link, pass: stage });
        let jobs = links.map(|link| (job(link), self.inner.work(link)));
        let mut jobs: Vec<(usize, u64)> = jobs.collect();
        jobs.sort_by_key(|&(_, work)| Reverse(work));
        jobs
    }

    /// The paces of a pass, from the delays that the jobs of the passes before gave.
    fn paces(&self, py: Python<'_>, stage: u8, known: BTreeMap<usize, Vec<u8>>) -> PyResult<Paces> {
        if stage == 0 {
            return Ok(Paces { inner: None });
        }
        let mut passes = vec![BTreeMap::new(); usize::from(stage)];
        for (job, delays) in self.read(known)? {
            if let Some(pass) = passes.get_mut(usize::from(job.pass)) {
                pass.insert(job.link, delays);
            }
        }
        let paces = py.detach(|| core::catch(|| self.inner.paces(&passes)));
        let inner = Some(paces.map_err(|panic| raised(&panic))?);
        Ok(Paces { inner })
    }

    /// What a job needs of its pass's paces: the rates at which flows come to its link.
    fn rates<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        paces: &Paces,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let rates = || self.inner.rates(job(number).link, paces.inner.as_ref());
        let rates = py
            .detach(|| core::catch(rates))
            .map_err(|panic| raised(&panic))?;
        let words = rates
            .into_iter()
            .map(|rate| rate.map_or(ANY, Rate::bits_per_second));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        Ok(PyBytes::new(py, &bytes))
    }

    /// Does one job, in the calling thread: the bytes that `run` hands to `on_link`, or why there are
    /// none.
    fn simulate<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        rates: &[u8],
    ) -> PyResult<(Option<Bound<'py, PyBytes>>, Option<Failure>)> {
        let link = job(number).link;
        let (words, rest) = rates.as_chunks::<8>();
        let rate = |&word: &[u8; 8]| match u64::from_le_bytes(word) {
            ANY => None,
            bits => Some(Rate::from_bits_per_second(bits)),
        };
        let rates: Vec<Option<Rate>> = words.iter().map(rate).collect();
        if !(rest.is_empty() && self.inner.takes(link, &rates)) {
            return Err(PyValueError::new_err("rates of something else"));
        }
        let done = py.detach(|| core::catch(|| self.inner.delays((link, &rates), &Alone)));
        let failure: core::Failure = match done {
            Ok(Ok(delays)) => {
                let delays = delays.expect("nobody ends it");
                return Ok((Some(PyBytes::new(py, &written(&delays))), None));
            }
            Ok(Err(refused)) => refused.into(),
            Err(panic) => panic.into(),
        };
        Ok((None, Some(failure.into())))
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
        let delays = self.read(known)?;
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

impl Estimation {
    /// The delays that jobs gave, by job.
    fn read(
        &self,
        known: BTreeMap<usize, Vec<u8>>,
    ) -> PyResult<BTreeMap<core::LinkJob, core::Delays>> {
        let known = known.into_iter().map(|(number, bytes)| {
            let job = job(number);
            let delays = read(&bytes).filter(|known| self.inner.fits(job.link, known));
            let delays = delays.ok_or_else(|| PyValueError::new_err("delays of something else"))?;
            Ok((job, delays))
        });
        known.collect()
    }
}

fn raised(panic: &core::Panic) -> PyErr {
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

impl core::EstimateWatcher for Watch<'_> {
    fn link(&mut self, job: core::LinkJob, delays: &core::Delays) {
        let number = number(job);
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

/// The number of a job: link by link, and of each link pass by pass.
fn number(job: core::LinkJob) -> usize {
    usize::from(core::PASSES) * job.link + usize::from(job.pass)
}

/// The job of a number.
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
