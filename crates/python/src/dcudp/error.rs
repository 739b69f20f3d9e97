//! Errors as Python's own exceptions of sockets: an `OSError` with the number that TCP would
//! have, of which Python makes the subclass (`TimeoutError`, `ConnectionRefusedError`, ...).

use std::fmt::Display;
use std::io;

use incastle_socket::{ConnectError, ConnectionError};
use nix::errno::Errno;
use pyo3::PyErr;
use pyo3::exceptions::{PyOSError, PyTimeoutError, PyValueError};

/// An `OSError`, or the subclass that belongs to the number.
pub(super) fn system(number: Errno, message: impl Display) -> PyErr {
    PyOSError::new_err((number as i32, message.to_string()))
}

/// The time that the caller gave is up.
pub(super) fn timed_out() -> PyErr {
    // Without a number, as in Python's sockets.
    PyTimeoutError::new_err("timed out")
}

/// Why the system refused; `what` is the requested operation.
pub(super) fn refused(what: impl Display, error: &io::Error) -> PyErr {
    let number = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
    let message = match number {
        Errno::EADDRINUSE => "another program has this port".to_owned(),
        Errno::EADDRNOTAVAIL => "this machine does not have this address".to_owned(),
        Errno::EIO => error.to_string(),
        other => other.desc().to_owned(),
    };
    system(number, format_args!("{what}: {message}"))
}

/// Why there is no connection.
pub(super) fn not_connected(error: &ConnectError) -> PyErr {
    let number = match error {
        ConnectError::NoAnswer(_) | ConnectError::NoSession(_) | ConnectError::NoListener(_) => {
            Errno::ETIMEDOUT
        }
        ConnectError::PortUnreachable(_) | ConnectError::Refused(_) => Errno::ECONNREFUSED,
        ConnectError::Unreachable(_, why) => {
            let number = why.raw_os_error().map(Errno::from_raw);
            number.unwrap_or(Errno::EHOSTUNREACH)
        }
        ConnectError::Family(_) => Errno::EAFNOSUPPORT,
        ConnectError::Config(_) => return PyValueError::new_err(error.to_string()),
        ConnectError::TooMany(_) => Errno::ENOBUFS,
        _ => Errno::ECONNABORTED,
    };
    system(number, error)
}

/// Why a connection is over, or cannot do the requested operation.
pub(super) fn over(error: &ConnectionError) -> PyErr {
    let number = match error {
        // Not a timeout: who waits for data piece by piece would wait for ever.
        ConnectionError::Silent { .. }
        | ConnectionError::Aborted
        | ConnectionError::EndpointGone(_) => Errno::ECONNABORTED,
        ConnectionError::Linger { .. } => Errno::ETIMEDOUT,
        ConnectionError::PeerClosed { .. } => Errno::ECONNRESET,
        ConnectionError::PacketSize { .. } | ConnectionError::LongMessage { .. } => Errno::EMSGSIZE,
        ConnectionError::Closed => Errno::ENOTCONN,
        ConnectionError::WrongKind { .. } | ConnectionError::EmptyMessage => {
            return PyValueError::new_err(error.to_string());
        }
    };
    system(number, error)
}

/// The same, where it comes through a stream.
pub(super) fn stream_over(error: &io::Error) -> PyErr {
    let inside = error.get_ref().and_then(|inner| inner.downcast_ref());
    inside.map_or_else(|| refused("the connection", error), over)
}
