//! `incastle._kernel`: the private Python module of this crate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use incastle_congestion::{Algorithm, Controller};
use incastle_scenario::language::tcp::Tcp;
use incastle_scenario::language::transport::Kind;
use incastle_scenario::{Files, Scenario, parse_with};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::controllers::{
    Ack, CongestionEvent, Connection, ControllerContext, ControllerFault, ControllerMaker, Faults,
    controllers,
};
use crate::{Bridge, Control, Delays, KernelError, Statistics};

/// The longest time that a signal or `stop` waits.
const TICK: Duration = Duration::from_millis(50);

/// A control that the kernel has, until `close` or the end of the process.
#[pyclass]
struct KernelControl(Option<Control>);

#[pymethods]
impl KernelControl {
    /// Unregisters it. Connections that have it keep it.
    fn close(&mut self) {
        self.0 = None;
    }
}

/// Registers DCTCP, `incastle_dctcp`.
#[pyfunction]
fn register_dctcp(py: Python<'_>) -> PyResult<KernelControl> {
    let control = py.detach(Control::dctcp).map_err(raised)?;
    Ok(KernelControl(Some(control)))
}

/// The bridge from the kernel's connections to controllers.
#[pyclass(unsendable)]
struct KernelBridge {
    bridge: Option<Bridge>,
    tcp: Tcp,
    makers: Vec<Py<ControllerMaker>>,
    faults: Arc<Faults>,
}

#[pymethods]
impl KernelBridge {
    /// Registers the bridge. `scenario` is a text whose only group of flows has the transport of its connections.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &str,
        makers: Vec<Py<ControllerMaker>>,
        ecn: bool,
        dilation: u64,
    ) -> PyResult<Self> {
        let faults = Arc::new(Faults::default());
        let bound = controllers(py, &makers, &faults);
        let parsed = parse_with(scenario, "transport", &[], &NoFiles);
        let (parsed, _) = parsed.map_err(|errors| {
            let first = errors.first().map(ToString::to_string);
            PyValueError::new_err(first.unwrap_or_default())
        })?;
        let tcp = tcp_of(&parsed.with_controllers(&bound))?;
        if tcp.controller(1, 1).samples_rate() {
            let message = "the bridge to the kernel has no samples of the delivery rate";
            return Err(PyValueError::new_err(message));
        }
        Ok(Self {
            bridge: Some(Bridge::register(ecn, dilation).map_err(raised)?),
            tcp,
            makers,
            faults,
        })
    }

    /// Answers until `stop()` is true, a controller fails, or a signal's handler raises. Returns the fault.
    fn run(
        &mut self,
        py: Python<'_>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<Option<ControllerFault>> {
        debug_assert!(self.makers.len() <= 1, "one control");
        let (tcp, faults) = (&self.tcp, &self.faults);
        let Some(bridge) = &mut self.bridge else {
            return Ok(None);
        };
        let stop = stop.clone().unbind();
        let mut outcome = Ok(());
        let mut next = Instant::now();
        let mut ends = || {
            if faults.any() {
                return true;
            }
            if Instant::now() < next {
                return false;
            }
            next = Instant::now() + TICK;
            let looked = Python::attach(|py| {
                py.check_signals()?;
                stop.call0(py)?.extract::<bool>(py)
            });
            looked.unwrap_or_else(|error| {
                outcome = Err(error);
                true
            })
        };
        let mut make = |_| -> Box<dyn Controller> { boxed(tcp.controller(1, 1)) };
        let ran = py.detach(|| bridge.run(&mut make, &mut ends));
        let fault = self.faults.take();
        outcome?;
        ran.map_err(raised)?;
        // A Ctrl-C within a controller is none of its faults.
        match fault.as_ref().and_then(|fault| fault.interruption(py)) {
            Some(interruption) => Err(interruption),
            None => Ok(fault),
        }
    }

    /// The measurements: connections, reports, then in seconds the median and the 99th percentile from a report to
    /// its answer, and to its application; and the reports of connections that had fallen back.
    fn statistics(&self) -> Measured {
        let none = Statistics::default();
        let all = self.bridge.as_ref().map_or(&none, Bridge::statistics);
        (
            all.connections,
            all.reports,
            quantiles(&all.answered),
            quantiles(&all.applied),
            all.fallen_back,
        )
    }

    /// Unregisters it. Connections that have it keep it, and fall back to NewReno.
    fn close(&mut self) {
        self.bridge = None;
    }
}

/// Median and 99th percentile.
type Quantiles = (Option<f64>, Option<f64>);
/// As `statistics` has it.
type Measured = (u64, u64, Quantiles, Quantiles, u64);

fn quantiles(delays: &Delays) -> Quantiles {
    let of = |share| delays.quantile(share).map(|delay| delay.as_secs_f64());
    (of(0.5), of(0.99))
}

/// A scenario without files; its controllers are bound by name.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path}: a transport reads no file"))
    }
}

fn tcp_of(scenario: &Scenario) -> PyResult<Tcp> {
    let mut groups = scenario.tables().flows.iter();
    match groups.next().map(|(_, group)| &group.transport.kind) {
        Some(Kind::Tcp(tcp)) => Ok(tcp.clone()),
        _ => Err(PyValueError::new_err("the kernel's sockets are \"tcp\"")),
    }
}

fn boxed(algorithm: Algorithm) -> Box<dyn Controller> {
    match algorithm {
        Algorithm::Custom(controller) => controller,
        other => Box::new(other),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "`map_err` gives it by value")]
fn raised(error: KernelError) -> PyErr {
    PyOSError::new_err(error.to_string())
}

#[pymodule]
mod _kernel {
    #[pymodule_export]
    use super::{
        Ack, CongestionEvent, Connection, ControllerContext, ControllerFault, ControllerMaker,
        KernelBridge, KernelControl, register_dctcp,
    };
}
