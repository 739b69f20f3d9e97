//! Listeners, which accept connections.

use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use incastle_socket::{Endpoint, Listener};
use pyo3::prelude::*;
use tokio::sync::Semaphore;

use super::connection::DcudpConnection;
use super::error;
use super::options::{Address, Options, socket_address};
use super::runtime::{is_forked, runtime, wait};

/// A listener with a separate UDP socket.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct DcudpListener {
    listener: Mutex<Option<Arc<Listener>>>,
    /// Closed with the listener, for threads that wait for a connection.
    open: Arc<Semaphore>,
    local: SocketAddr,
}

/// Binds a socket and listens.
#[pyfunction]
pub(crate) fn dcudp_listen(
    py: Python<'_>,
    address: Address,
    options: Options,
    backlog: usize,
) -> PyResult<DcudpListener> {
    let address = socket_address(address);
    let (endpoint, config) = (options.endpoint(), options.connection()?);
    let _inside = runtime(py)?.enter();
    let endpoint = Endpoint::bind(address, endpoint);
    let endpoint = endpoint.map_err(|error| error::refused(address, &error))?;
    let local = endpoint.local_addr();
    let local = local.map_err(|error| error::refused(address, &error))?;
    let listener = endpoint.listen(config, backlog);
    let listener = listener.map_err(|error| error::not_connected(&error))?;
    Ok(DcudpListener {
        listener: Mutex::new(Some(Arc::new(listener))),
        open: Arc::new(Semaphore::new(0)),
        local,
    })
}

#[pymethods]
impl DcudpListener {
    /// IP address and port.
    #[getter]
    fn address(&self) -> (String, u16) {
        (self.local.ip().to_string(), self.local.port())
    }

    #[getter]
    fn closed(&self) -> bool {
        self.listener().is_none()
    }

    /// The next connection; None once the listener is closed.
    fn accept(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<DcudpConnection>> {
        runtime(py)?;
        let Some(listener) = self.listener() else {
            return Ok(None);
        };
        let closed = self.open.acquire();
        let accepted = wait(py, timeout, async {
            tokio::select! {
                _ = closed => None,
                connection = listener.accept() => connection,
            }
        })?;
        let accepted = accepted.ok_or_else(error::timed_out)?;
        Ok(accepted.map(DcudpConnection::new))
    }

    /// Ends listening, and closes connections that were not accepted.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        runtime(py)?;
        self.open.close();
        let listener = self.lock().take();
        py.detach(|| drop(listener));
        Ok(())
    }
}

impl DcudpListener {
    fn listener(&self) -> Option<Arc<Listener>> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Listener>>> {
        self.listener.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for DcudpListener {
    fn drop(&mut self) {
        // A forked process must not end what it has in common with its parent.
        if Python::attach(is_forked) {
            let listener = self.listener.get_mut();
            mem::forget(listener.unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
