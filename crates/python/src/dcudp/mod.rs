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

use incastle_dcudp::key::Key;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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

/// Runs the program `dcudp` with its arguments, its own name first. Returns the exit status.
#[pyfunction]
pub(crate) fn dcudp_program(py: Python<'_>, typed: Vec<OsString>) -> u8 {
    py.detach(|| incastle_dcudp::run(typed))
}
