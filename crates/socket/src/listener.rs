//! What accepts connections.

use std::io;
use std::net::SocketAddr;

use crate::Connection;

/// Accepts the connections that peers open to an endpoint. Ends when dropped.
#[derive(Debug)]
pub struct Listener {
    local: SocketAddr,
}

impl Listener {
    /// The next connection; nothing once the endpoint is closed. A peer has returned its cookie before
    /// anything is kept of it. Dropping the future loses no connection.
    #[expect(clippy::unused_async)]
    pub async fn accept(&self) -> Option<Connection> {
        None
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.local)
    }
}
