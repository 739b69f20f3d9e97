//! Controllers written in Python, as the transport sees them.
//!
//! Python has one lock. A run with such controllers therefore stays in the thread that called, which
//! holds that lock, and no call into Python waits for it. A controller's fault (an exception,
//! an invalid window) ends its run: the first fault is stored, and no controller of that run is
//! called again. Leaves out: the list of classes and their sources (Python's side).

mod context;
mod controller;
mod fault;
mod maker;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use incastle_scenario as core;
use pyo3::prelude::*;

pub(crate) use context::{Ack, CongestionEvent, Connection, ControllerContext};
pub(crate) use fault::{ControllerFault, Faults};
pub(crate) use maker::ControllerMaker;

use controller::PyController;

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
