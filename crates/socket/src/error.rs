//! Errors, with messages for users.

use std::io;
use std::net::SocketAddr;

use incastle_transport::udt::ConfigError;
use thiserror::Error;

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The peer did not reply to the handshake in time.
    #[error(
        "{0} does not answer: nobody listens there, it requires a key, or a firewall drops UDP"
    )]
    NoAnswer(SocketAddr),
    /// No reply to an endpoint with a key.
    #[error("{0} does not answer: its key is another one or it has none, or nobody is there")]
    NoSession(SocketAddr),
    /// The peer has the key, but does not reply to the handshake.
    #[error("{0} has the key, but does not answer: nobody listens there, or it is gone")]
    NoListener(SocketAddr),
    /// The peer's host reports that nobody listens on that port.
    #[error("{0} refused: nobody listens on that port")]
    PortUnreachable(SocketAddr),
    /// The network has no route there.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(SocketAddr, io::Error),
    /// The peer refused.
    #[error("{0} refused: it has another version, another kind of socket, or other packet sizes")]
    Refused(SocketAddr),
    /// This endpoint's address family has no route to the peer's.
    #[error("{0} has another address family than this endpoint's socket")]
    Family(SocketAddr),
    /// There is one already.
    #[error("a rendezvous with {0} was begun on this endpoint")]
    RendezvousTwice(SocketAddr),
    /// Somebody listens already.
    #[error("this endpoint listens already")]
    ListensAlready,
    /// A parameter is out of its range.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The endpoint has as many connections as it may.
    #[error("this endpoint has {0} connections, and may have no more")]
    TooMany(usize),
    /// The endpoint was closed, or its socket failed.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The system gave no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// Why a connection is over, or why a call on it fails.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConnectionError {
    /// The peer was silent for the idle timeout.
    #[error("the peer is silent: {lost} bytes were not acknowledged")]
    Silent {
        /// Bytes written that it may not have.
        lost: u64,
    },
    /// The linger time of a closed connection ran out.
    #[error("closed, but {lost} bytes were not acknowledged in time")]
    Linger {
        /// Bytes written that the peer may not have.
        lost: u64,
    },
    /// The peer closed, so that what was written can no longer be delivered.
    #[error("the peer closed the connection: {lost} bytes were not acknowledged")]
    PeerClosed {
        /// Bytes written that it may not have.
        lost: u64,
    },
    /// The interface takes no packets of the size agreed.
    #[error("packets of {packet_size} bytes do not fit the interface: set a smaller packet size")]
    PacketSize {
        /// Bytes of the largest packet, IP and UDP headers included.
        packet_size: u32,
    },
    /// This endpoint gave the connection up.
    #[error("the connection was aborted")]
    Aborted,
    /// This endpoint closed.
    #[error("the connection is closed")]
    Closed,
    /// The endpoint's socket failed, or its runtime ended.
    #[error("the endpoint is gone: {0}")]
    EndpointGone(String),
    /// Messages on a stream, or a stream of messages.
    #[error("this connection carries {has}, not {wanted}")]
    WrongKind {
        /// The kind of the connection.
        has: &'static str,
        /// The kind that the call requires.
        wanted: &'static str,
    },
    /// An empty message.
    #[error("a message must hold at least one byte")]
    EmptyMessage,
    /// A message that could never be kept or delivered whole.
    #[error(
        "a message of {bytes} bytes is longer than the {most} that the buffers of both endpoints take"
    )]
    LongMessage {
        /// Its length.
        bytes: u64,
        /// The longest that could be sent.
        most: u64,
    },
}

impl From<ConnectionError> for io::Error {
    fn from(error: ConnectionError) -> Self {
        let kind = match &error {
            ConnectionError::Silent { .. } | ConnectionError::Linger { .. } => {
                io::ErrorKind::TimedOut
            }
            ConnectionError::PeerClosed { .. } => io::ErrorKind::BrokenPipe,
            ConnectionError::PacketSize { .. } => io::ErrorKind::InvalidInput,
            ConnectionError::Aborted => io::ErrorKind::ConnectionAborted,
            ConnectionError::Closed | ConnectionError::EndpointGone(_) => {
                io::ErrorKind::NotConnected
            }
            ConnectionError::WrongKind { .. } => io::ErrorKind::Unsupported,
            ConnectionError::EmptyMessage | ConnectionError::LongMessage { .. } => {
                io::ErrorKind::InvalidInput
            }
        };
        Self::new(kind, error)
    }
}
