//! A connection: a byte stream in each direction, or messages.

use std::cell::Cell;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use incastle_dcudp::address::local_for;
use incastle_socket::{
    Connection, ConnectionError, Endpoint, MessageOptions, Rate, RecvStream, SendStream,
    SocketKind, Statistics, TransmissionMode,
};
use pyo3::exceptions::PyEOFError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::error;
use super::options::{Address, Options, socket_address};
use super::runtime::{is_forked, runtime, seconds, wait};

/// The maximum number of bytes of one read.
const READ_BYTES: usize = 1 << 18;

thread_local! {
    /// Where reads go before they become Python's.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// One endpoint of a connection.
#[pyclass(frozen, module = "incastle._engine")]
pub(crate) struct DcudpConnection {
    handle: Mutex<Handle>,
    /// The bytes received for a call that did not complete; the next one returns them first.
    ahead: Mutex<Vec<u8>>,
    peer: SocketAddr,
    kind: SocketKind,
}

/// With the last handle of a connection its socket goes too.
enum Handle {
    Open(Connection),
    /// Its statistics at its end.
    Over(Box<Statistics>),
}

/// Opens a connection from a separate socket. `timeout` is the longest wait for the peer's answer.
#[pyfunction]
pub(crate) fn dcudp_connect(
    py: Python<'_>,
    address: Address,
    options: Options,
    timeout: Option<f64>,
) -> PyResult<DcudpConnection> {
    let peer = socket_address(address);
    let endpoint = options.endpoint();
    let mut config = options.connection()?;
    if let Some(timeout) = timeout {
        config.connect_timeout = seconds("timeout", timeout)?;
    }
    let opened = wait(py, None, async {
        let endpoint = Endpoint::bind(local_for(peer), endpoint);
        let endpoint = endpoint.map_err(|error| error::refused(peer, &error))?;
        let connected = endpoint.connect(peer, &config).await;
        connected.map_err(|error| error::not_connected(&error))
    })?;
    let connection = opened.ok_or_else(error::timed_out)??;
    Ok(DcudpConnection::new(connection))
}

#[pymethods]
impl DcudpConnection {
    /// The peer's IP address and port.
    #[getter]
    fn peer(&self) -> (String, u16) {
        (self.peer.ip().to_string(), self.peer.port())
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            SocketKind::Stream => "stream",
            SocketKind::Message => "messages",
        }
    }

    /// Whether nothing is left of it: it was aborted, or closed and the close has come to its end.
    #[getter]
    fn closed(&self) -> bool {
        matches!(&*self.lock(), Handle::Over(_))
    }

    /// Writes to the stream. Returns the number of bytes accepted before the time was up.
    fn send(&self, py: Python<'_>, data: &[u8], timeout: Option<f64>) -> PyResult<usize> {
        let mut stream = self.writer(py)?;
        let mut taken = 0;
        let written = wait(py, timeout, async {
            while taken < data.len() {
                taken += stream.write(&data[taken..]).await?;
            }
            Ok(())
        })?;
        if let Some(Err(error)) = written {
            return Err(error::stream_over(&error));
        }
        Ok(taken)
    }

    /// Reads from the stream what is there, `most` bytes of it; nothing at its end.
    fn recv<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut stream = self.reader(py)?;
        let ahead = self.take_ahead(most);
        if most == 0 || !ahead.is_empty() {
            return Ok(PyBytes::new(py, &ahead));
        }
        let mut scratch = SCRATCH.take();
        scratch.resize(READ_BYTES, 0);
        let room = &mut scratch[..most.min(READ_BYTES)];
        let result = wait(py, timeout, stream.read(room));
        let bytes = match result? {
            Some(Ok(count)) => Ok(PyBytes::new(py, &scratch[..count])),
            Some(Err(error)) => Err(error::stream_over(&error)),
            None => Err(error::timed_out()),
        };
        SCRATCH.set(scratch);
        bytes
    }

    /// Reads as many bytes from the stream. Where they do not come, those that did stay to be read.
    fn recv_exactly<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let mut stream = self.reader(py)?;
        let mut bytes = self.take_ahead(count);
        let mut filled = bytes.len();
        let result = wait(
            py,
            timeout,
            fill(&mut stream, &mut bytes, &mut filled, count),
        );
        bytes.truncate(filled);
        if filled == count {
            return Ok(PyBytes::new(py, &bytes));
        }
        self.give_back(bytes);
        match result? {
            Some(Err(error)) => Err(error::stream_over(&error)),
            Some(Ok(())) => Err(PyEOFError::new_err(format!(
                "the peer closed after {filled} of {count} bytes"
            ))),
            None => Err(error::timed_out()),
        }
    }

    /// Queues a message.
    fn send_message(
        &self,
        py: Python<'_>,
        message: &[u8],
        ttl: Option<f64>,
        ordered: bool,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let connection = self.connection(py)?;
        let options = MessageOptions {
            ttl: ttl.map(|ttl| seconds("ttl", ttl)).transpose()?,
            in_order: ordered,
        };
        let message = Bytes::copy_from_slice(message);
        complete(py, timeout, connection.send_message(message, options))
    }

    /// The next message; None once the peer has closed and all were taken.
    fn recv_message<'py>(
        &self,
        py: Python<'py>,
        timeout: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let connection = self.connection(py)?;
        let message = complete(py, timeout, connection.recv_message())?;
        Ok(message.map(|message| PyBytes::new(py, &message)))
    }

    /// Waits until everything written is acknowledged.
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        let connection = self.connection(py)?;
        complete(py, timeout, connection.flush())
    }

    /// A snapshot of the statistics, as a dictionary.
    fn statistics(&self, py: Python<'_>) -> PyResult<Snapshot> {
        runtime(py)?;
        let connection = match &*self.lock() {
            Handle::Open(connection) => connection.clone(),
            Handle::Over(statistics) => return Ok(Snapshot::of(statistics)),
        };
        Ok(Snapshot::of(&py.detach(|| connection.statistics())))
    }

    /// Delivers everything, notifies the peer, and waits for both. Once the time is up it continues in the
    /// background, and can be waited for again.
    fn close(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        if self.closed() {
            runtime(py)?;
            return Ok(());
        }
        let connection = self.connection(py)?;
        let result = wait(py, timeout, connection.close())?;
        let result = result.ok_or_else(error::timed_out)?;
        self.end(py, connection);
        result.map_err(|error| error::over(&error))
    }

    /// Aborts at once, discards data in flight, and notifies the peer.
    fn abort(&self, py: Python<'_>) -> PyResult<()> {
        runtime(py)?;
        let Ok(connection) = self.connection(py) else {
            return Ok(());
        };
        py.detach(|| connection.abort());
        self.end(py, connection);
        Ok(())
    }
}

impl DcudpConnection {
    pub(super) fn new(connection: Connection) -> Self {
        Self {
            peer: connection.peer_addr(),
            kind: connection.kind(),
            handle: Mutex::new(Handle::Open(connection)),
            ahead: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Handle> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, py: Python<'_>) -> PyResult<Connection> {
        runtime(py)?;
        match &*self.lock() {
            Handle::Open(connection) => Ok(connection.clone()),
            Handle::Over(_) => Err(error::over(&ConnectionError::Closed)),
        }
    }

    fn writer(&self, py: Python<'_>) -> PyResult<SendStream> {
        let stream = self.connection(py)?.send_stream();
        stream.map_err(|error| error::over(&error))
    }

    fn reader(&self, py: Python<'_>) -> PyResult<RecvStream> {
        let stream = self.connection(py)?.recv_stream();
        stream.map_err(|error| error::over(&error))
    }

    /// The bytes of an earlier call, at most this number of them.
    fn take_ahead(&self, most: usize) -> Vec<u8> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let count = most.min(ahead.len());
        let rest = ahead.split_off(count);
        mem::replace(&mut *ahead, rest)
    }

    fn give_back(&self, mut bytes: Vec<u8>) {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.append(&mut ahead);
        *ahead = bytes;
    }

    /// Stores the connection's statistics, and releases its socket.
    fn end(&self, py: Python<'_>, connection: Connection) {
        py.detach(|| {
            let over = Handle::Over(Box::new(connection.statistics()));
            let before = mem::replace(&mut *self.lock(), over);
            drop((before, connection));
        });
    }
}

impl Drop for DcudpConnection {
    fn drop(&mut self) {
        // A forked process must not end what it has in common with its parent.
        if Python::attach(is_forked) {
            let handle = self
                .handle
                .get_mut()
                .unwrap_or_else(PoisonError::into_inner);
            let over = Handle::Over(Box::default());
            mem::forget(mem::replace(handle, over));
        }
    }
}

/// Waits, and returns the error, if any.
fn complete<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    future: impl Future<Output = Result<T, ConnectionError>> + Send,
) -> PyResult<T> {
    let result = wait(py, timeout, future)?.ok_or_else(error::timed_out)?;
    result.map_err(|error| error::over(&error))
}

/// Reads until there are `count` bytes or the stream ends. `bytes` grows with what comes: a peer that
/// sends nothing costs nothing.
async fn fill(
    stream: &mut RecvStream,
    bytes: &mut Vec<u8>,
    filled: &mut usize,
    count: usize,
) -> std::io::Result<()> {
    while *filled < count {
        if *filled == bytes.len() {
            let more = bytes.len().max(READ_BYTES);
            bytes.resize(count.min(bytes.len().saturating_add(more)), 0);
        }
        match stream.read(&mut bytes[*filled..]).await? {
            0 => break,
            read => *filled += read,
        }
    }
    Ok(())
}

/// A snapshot, as a dictionary with these keys.
#[derive(IntoPyObject)]
pub(crate) struct Snapshot {
    control: &'static str,
    mode: Option<&'static str>,
    rate_bit_s: Option<u64>,
    rtt_s: f64,
    unacknowledged_bytes: u64,
    acknowledged_bytes: u64,
    sent_bytes: u64,
    delivered_bytes: u64,
    retransmissions: u64,
    losses_reported: u64,
    marks_echoed: u64,
    marks_received: u64,
}

impl Snapshot {
    fn of(statistics: &Statistics) -> Self {
        Self {
            control: statistics.control.name(),
            mode: statistics.mode.map(|mode| match mode {
                TransmissionMode::Udp => "udp",
                TransmissionMode::Congestion => "congestion",
            }),
            rate_bit_s: statistics.rate.map(Rate::bits_per_second),
            rtt_s: statistics.rtt.as_secs_f64(),
            unacknowledged_bytes: statistics.unacknowledged,
            acknowledged_bytes: statistics.acknowledged,
            sent_bytes: statistics.sent,
            delivered_bytes: statistics.delivered,
            retransmissions: statistics.retransmissions,
            losses_reported: statistics.losses_reported,
            marks_echoed: statistics.marks_echoed,
            marks_received: statistics.marks_received,
        }
    }
}
