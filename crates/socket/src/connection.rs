//! A connection, as its application holds it.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use crate::{ConnectionError, Event, RecvStream, SendStream, SocketKind, Statistics};

/// How a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOptions {
    /// It is given up once so much time has passed. Absent: never.
    pub ttl: Option<Duration>,
    /// Whether it must wait for those before it at the peer.
    pub in_order: bool,
}

impl Default for MessageOptions {
    fn default() -> Self {
        Self {
            ttl: None,
            in_order: true,
        }
    }
}

/// One end of a connection. Cheap to clone. When the last clone and the last of its streams are gone, it
/// closes as [`Self::close`] does, without anybody waiting for it.
#[derive(Debug, Clone)]
pub struct Connection {
    peer: SocketAddr,
}

impl Connection {
    /// What writes to the stream.
    pub fn send_stream(&self) -> Result<SendStream, ConnectionError> {
        Err(ConnectionError::Closed)
    }

    /// What reads from the stream.
    pub fn recv_stream(&self) -> Result<RecvStream, ConnectionError> {
        Err(ConnectionError::Closed)
    }

    /// Queues a message, once the send buffer has room for it. Dropping the future sends nothing.
    #[expect(clippy::unused_async)]
    pub async fn send_message(
        &self,
        message: Bytes,
        options: MessageOptions,
    ) -> Result<(), ConnectionError> {
        let _ = (message, options);
        Err(ConnectionError::Closed)
    }

    /// The next message; nothing once the peer has closed and all were taken. Dropping the future loses
    /// no message.
    #[expect(clippy::unused_async)]
    pub async fn recv_message(&self) -> Result<Option<Bytes>, ConnectionError> {
        Err(ConnectionError::Closed)
    }

    /// A snapshot of what has happened.
    pub fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    /// What happens beside data. Each event is given once, to whoever asks first.
    pub fn events(&self) -> Events {
        Events { peer: self.peer }
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// A stream or messages.
    pub fn kind(&self) -> SocketKind {
        SocketKind::Stream
    }

    /// Waits until everything written is acknowledged.
    #[expect(clippy::unused_async)]
    pub async fn flush(&self) -> Result<(), ConnectionError> {
        Err(ConnectionError::Closed)
    }

    /// Delivers everything written, tells the peer, and waits for both. UDT knows no half-closed
    /// connection: what the peer still sends is not delivered.
    #[expect(clippy::unused_async)]
    pub async fn close(&self) -> Result<(), ConnectionError> {
        Err(ConnectionError::Closed)
    }

    /// Gives the connection up at once, and tells the peer.
    pub fn abort(&self) {}
}

/// The events of a connection.
#[derive(Debug)]
pub struct Events {
    peer: SocketAddr,
}

impl Events {
    /// The next event; nothing after [`Event::Over`].
    #[expect(clippy::unused_async)]
    pub async fn next(&mut self) -> Option<Event> {
        let _ = self.peer;
        None
    }
}
