//! A connection, as its application holds it.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use incastle_transport::udt::{self, SendError};
use incastle_units::{Span, Time};

use crate::inner::Handle;
use crate::port::Port;
use crate::shared::{Phase, Shared, State, remember};
use crate::{ConnectionError, Event, SocketKind, Statistics};

/// The options of a message: those of [`udt::MessageOptions`], with the standard library's time, as all of this
/// crate's public interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOptions {
    /// It is given up once this has passed. Absent: never.
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

/// One endpoint of a connection. Cheap to clone. When the last clone and the last of its streams are gone, it
/// closes as [`Self::close`] does, without anybody waiting for it.
#[derive(Debug, Clone)]
pub struct Connection {
    owner: Arc<Owner>,
}

/// The shared owner of a connection, held by all of its handles: the connection ends with it.
struct Owner {
    shared: Arc<Shared>,
    endpoint: Arc<Handle>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.shared.lock();
        state.close(&self.shared, now);
        self.shared.pump(&self.endpoint.inner.port, &mut state, now);
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("peer", &self.shared.peer)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, endpoint: Arc<Handle>) -> Self {
        let owner = Arc::new(Owner { shared, endpoint });
        Self { owner }
    }

    /// Queues a message, once the send buffer has room for it; one longer than the whole buffer is
    /// refused. Dropping the future sends nothing.
    pub async fn send_message(
        &self,
        message: Bytes,
        options: MessageOptions,
    ) -> Result<(), ConnectionError> {
        self.expect(SocketKind::Message)?;
        poll_fn(|cx| {
            self.change(|state, time| Self::poll_send_message(state, cx, time, &message, options))
        })
        .await
    }

    fn poll_send_message(
        state: &mut State,
        cx: &mut Context<'_>,
        now: Time,
        message: &[u8],
        options: MessageOptions,
    ) -> Poll<Result<(), ConnectionError>> {
        if let Some(error) = state.write_error() {
            return Poll::Ready(Err(error));
        }
        let options = udt::MessageOptions {
            ttl: options.ttl.map(span),
            in_order: options.in_order,
        };
        let sent = state.connection.send_message(now, message, options);
        Poll::Ready(match sent {
            Ok(()) => Ok(()),
            Err(SendError::Full) => {
                remember(&mut state.writers, cx.waker());
                return Poll::Pending;
            }
            Err(SendError::Empty) => Err(ConnectionError::EmptyMessage),
            Err(SendError::Long { bytes, most }) => {
                Err(ConnectionError::LongMessage { bytes, most })
            }
            Err(SendError::Over) => Err(ConnectionError::Closed),
        })
    }

    /// The next message; nothing once the peer has closed and all were taken. Dropping the future loses
    /// no message.
    pub async fn recv_message(&self) -> Result<Option<Bytes>, ConnectionError> {
        self.expect(SocketKind::Message)?;
        poll_fn(|cx| {
            self.change(|state, time| {
                if let Some(message) = state.connection.receive_message(time) {
                    return Poll::Ready(Ok(Some(Bytes::from(message))));
                }
                if let Some(end) = state.read_end() {
                    return Poll::Ready(end.map(|()| None));
                }
                remember(&mut state.readers, cx.waker());
                Poll::Pending
            })
        })
        .await
    }

    /// A snapshot of what has happened.
    pub fn statistics(&self) -> Statistics {
        self.owner.shared.lock().statistics()
    }

    /// Events other than data. Each is delivered once, to the first task that polls.
    pub fn events(&self) -> Events {
        Events {
            connection: self.clone(),
        }
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        let peer = self.owner.shared.peer;
        SocketAddr::new(peer.ip().to_canonical(), peer.port())
    }

    /// A stream or messages.
    pub fn kind(&self) -> SocketKind {
        self.owner.shared.kind
    }

    /// Waits until everything written is acknowledged.
    pub async fn flush(&self) -> Result<(), ConnectionError> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Delivers everything written, notifies the peer, and waits for both. UDT has no half-closed
    /// connection: what the peer still sends is not delivered.
    pub async fn close(&self) -> Result<(), ConnectionError> {
        let shared = &self.owner.shared;
        self.change(|state, _| state.close(shared, Instant::now()));
        poll_fn(|cx| {
            let mut state = shared.lock();
            match &state.phase {
                Phase::Over(result) => Poll::Ready(result.clone()),
                Phase::Connecting | Phase::Up => {
                    remember(&mut state.watchers, cx.waker());
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Gives the connection up at once, and notifies the peer.
    pub fn abort(&self) {
        self.change(|state, _| state.connection.abort());
    }

    pub(crate) fn poll_flush(&self, cx: &mut Context<'_>) -> Poll<Result<(), ConnectionError>> {
        let mut state = self.owner.shared.lock();
        if state.connection.core().unacknowledged() == 0 {
            return Poll::Ready(Ok(()));
        }
        if let Phase::Over(result) = &state.phase {
            return Poll::Ready(result.clone());
        }
        remember(&mut state.watchers, cx.waker());
        Poll::Pending
    }

    /// Changes the connection, then sends what may leave.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State, Time) -> T) -> T {
        let Owner { shared, .. } = &*self.owner;
        let now = Instant::now();
        let mut state = shared.lock();
        let result = change(&mut state, shared.time(now));
        shared.pump(self.port(), &mut state, now);
        result
    }

    /// Sends what may leave, and notifies the driver.
    pub(crate) fn pump(&self, state: &mut State, now: Instant) {
        self.owner.shared.pump(self.port(), state, now);
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.owner.shared
    }

    fn port(&self) -> &Port {
        &self.owner.endpoint.inner.port
    }

    /// Fails where the connection is of another kind.
    pub(crate) fn expect(&self, wanted: SocketKind) -> Result<(), ConnectionError> {
        let words = |kind| match kind {
            SocketKind::Stream => "a stream",
            SocketKind::Message => "messages",
        };
        let has = self.kind();
        if has == wanted {
            return Ok(());
        }
        Err(ConnectionError::WrongKind {
            has: words(has),
            wanted: words(wanted),
        })
    }
}

/// The events of a connection.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
}

impl Events {
    /// The next event; nothing after [`Event::Over`].
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|cx| {
            let mut state = self.connection.owner.shared.lock();
            if let Some(event) = state.events.pop() {
                return Poll::Ready(Some(event));
            }
            if state.events.over {
                return Poll::Ready(None);
            }
            remember(&mut state.events.wakers, cx.waker());
            Poll::Pending
        })
        .await
    }
}

fn span(duration: Duration) -> Span {
    let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    Span::from_ns(ns.min(u64::MAX / 1000))
}
