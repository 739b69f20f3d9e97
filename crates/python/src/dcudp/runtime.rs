//! The one tokio runtime of the process, started when a socket is first used, and the waits of Python threads
//! for its futures.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::process;
use std::thread;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, timeout_at};

use super::error;

/// The longest time that a signal's handler waits.
const SLICE: Duration = Duration::from_millis(50);
/// Threads for the network. An endpoint is one task, and a writer sends its packets in its own thread. More
/// threads would help only a process with many busy endpoints.
const MAX_THREADS: usize = 4;

/// The runtime, and the process that has its threads.
struct Started {
    process: u32,
    runtime: Runtime,
}

static STARTED: PyOnceLock<Started> = PyOnceLock::new();

thread_local! {
    /// Whether signals' handlers run in this thread, once that is known.
    static HAS_SIGNALS: Cell<Option<bool>> = const { Cell::new(None) };
}

/// The runtime. Refused in a process that was forked from the one that started it. Threads are not
/// copied, and packets that two processes send for one connection would destroy it.
pub(super) fn runtime(py: Python<'_>) -> PyResult<&'static Runtime> {
    let started = STARTED.get_or_try_init(py, start)?;
    if started.process == process::id() {
        return Ok(&started.runtime);
    }
    Err(PyRuntimeError::new_err(
        "incastle.dcudp was in use before this process was forked, and cannot be used in it: \
         start processes by multiprocessing's \"spawn\" or \"forkserver\"",
    ))
}

/// Whether this process was forked from the one that has the runtime's threads.
pub(super) fn is_forked(py: Python<'_>) -> bool {
    let started = STARTED.get(py);
    started.is_some_and(|started| started.process != process::id())
}

fn start() -> PyResult<Started> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let runtime = Builder::new_multi_thread()
        .worker_threads(cores.min(MAX_THREADS))
        .thread_name("incastle-dcudp")
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| error::refused("DCUDP's threads", &error))?;
    let process = process::id();
    Ok(Started { process, runtime })
}

/// A time to wait, in seconds.
pub(super) fn seconds(name: &str, value: f64) -> PyResult<Duration> {
    if value.is_nan() || value < 0.0 {
        let message = format!("{name} = {value}: it must be seconds, 0 or more");
        return Err(PyValueError::new_err(message));
    }
    Ok(Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX))
}

/// Waits without the interpreter's lock until the future is ready, the time is up (then there is
/// nothing), or a signal's handler raises. The future is polled at least once.
pub(super) fn wait<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    future: impl Future<Output = T> + Send,
) -> PyResult<Option<T>> {
    let runtime = runtime(py)?;
    let timeout = timeout.map(|s| seconds("timeout", s)).transpose()?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    let has_signals = has_signals(py)?;
    py.detach(|| {
        let mut future = pin!(future);
        loop {
            let slice = has_signals.then(|| Instant::now() + SLICE);
            let until = deadline.into_iter().chain(slice).min();
            if let Some(value) = runtime.block_on(ready_by(until, future.as_mut())) {
                return Ok(Some(value));
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(None);
            }
            // Only where signals are handled: a thread that waits for the lock of an interpreter that ends is lost.
            Python::attach(check_signals)?;
        }
    })
}

async fn ready_by<F: Future>(until: Option<Instant>, future: Pin<&mut F>) -> Option<F::Output> {
    match until {
        Some(until) => timeout_at(until, future).await.ok(),
        None => Some(future.await),
    }
}

/// Python runs signals' handlers in its main thread alone.
fn has_signals(py: Python<'_>) -> PyResult<bool> {
    if let Some(known) = HAS_SIGNALS.get() {
        return Ok(known);
    }
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    let is_main = main.eq(threading.call_method0("get_ident")?)?;
    HAS_SIGNALS.set(Some(is_main));
    Ok(is_main)
}

// A separate function, because the method's lifetime is too special for `attach`.
fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}
