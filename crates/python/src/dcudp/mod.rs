//! DCUDP's sockets, as blocking calls: the private half of `incastle.dcudp`.
//!
//! Three promises are kept here. The interpreter's lock is released while a call waits. A signal
//! (Ctrl-C) reaches a waiting main thread within a twentieth of a second. What a call had received
//! before its time was up, or before a signal's handler raised, is there for the next one.
//!
//! Leaves out: everything that is asynchronous, and events; addresses come resolved.

mod connection;
mod error;
mod listener;
mod options;
mod runtime;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use incastle_dcudp::key::Key;
use incastle_scenario as core;
use incastle_scenario::language::transport::Kind;
use incastle_scenario::language::udt::HEADERS;
use incastle_socket::{DEFAULT_CAPACITY, OwnControl};
use incastle_units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::controllers::{ControllerFault, Faults, controllers};
use crate::scenario::Scenario;

pub(crate) use connection::{DcudpConnection, dcudp_connect};
pub(crate) use listener::{DcudpListener, dcudp_listen};

/// Reads a key file as the program does, warnings on standard error included.
#[pyfunction]
pub(crate) fn dcudp_read_key(py: Python<'_>, path: PathBuf) -> PyResult<Bound<'_, PyBytes>> {
    let key = py
        .detach(move || Key::read(&path))
        .map_err(|failure| PyValueError::new_err(failure.to_string()))?;
    Ok(PyBytes::new(py, key.bytes()))
}

/// Runs the program `dcudp` with its arguments, its own name first; a scenario of UDT has the control of `--cc
/// FILE.py:CLASS`. Returns the exit status, and the fault of a controller if there was one.
#[pyfunction]
#[pyo3(signature = (typed, own=None))]
pub(crate) fn dcudp_program(
    py: Python<'_>,
    typed: Vec<OsString>,
    own: Option<PyRef<'_, Scenario>>,
) -> (u8, Option<ControllerFault>) {
    let faults = Arc::new(Faults::default());
    let own = own.and_then(|scenario| {
        let bound = controllers(py, &scenario.makers, &faults);
        own_control(&scenario.inner.with_controllers(&bound))
    });
    let status = py.detach(|| incastle_dcudp::run_with(typed, own));
    (status, faults.take())
}

/// The control of the first flows of a scenario, if they are UDT's.
fn own_control(scenario: &core::Scenario) -> Option<OwnControl> {
    let (_, group) = scenario.tables().flows.first()?;
    let Kind::Udt(udt) = &group.transport.kind else {
        return None;
    };
    let udt = udt.clone();
    Some(OwnControl {
        config: udt.to_config([DEFAULT_CAPACITY; 2]),
        controller: Arc::new(move |payload| {
            let mut udt = udt.clone();
            udt.stream.packet_size = payload + Bytes::new(HEADERS);
            udt.controller(0)
        }),
    })
}
