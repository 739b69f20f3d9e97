//! `incastle._engine`: the private Python module under the package `incastle`.
//!
//! It hands scenarios to the engine and results back, lets DCUDP's sockets be used in blocking calls,
//! and nothing else. Names, docstrings for users, files, the command line and plots belong to the
//! Python side, which alone imports this.
//!
//! Three promises are kept here. The interpreter's lock is released while the engine runs, unless it
//! calls controllers in Python. A signal
//! (Ctrl-C) reaches the engine within a tenth of a second. A panic of the engine becomes a value
//! that names it, never an abort and never a line on the standard error stream.

mod controllers;
mod dcudp;
mod estimate;
mod explanation;
mod run;
mod scenario;
mod tables;
mod world;

use incastle_memory::HugePages;
use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: HugePages = HugePages;

#[pymodule]
mod _engine {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::controllers::{
        Ack, CongestionEvent, Connection, ControllerContext, ControllerFault, ControllerMaker,
    };
    #[pymodule_export]
    use super::dcudp::{
        DcudpConnection, DcudpListener, dcudp_connect, dcudp_listen, dcudp_program, dcudp_read_key,
    };
    #[pymodule_export]
    use super::estimate::{Estimation, take_apart};
    #[pymodule_export]
    use super::explanation::{EventTrace, ExplainedRun};
    #[pymodule_export]
    use super::run::{Failure, memory_warning, run_many};
    #[pymodule_export]
    use super::scenario::{Diagnostic, Scenario, catalog, parse, schema};
    #[pymodule_export]
    use super::tables::{Output, Table};
    #[pymodule_export]
    use super::world::{sockets_program, softswitch_program};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
