//! What accepts connections: peers that returned their cookie wait in a queue of bounded length.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use incastle_transport::udt;
use incastle_units::Time;

use crate::connection::Connection;
use crate::endpoint::Handle;
use crate::inner::{lock, time_since};
use crate::shared::remember;
use crate::{ConnectionConfig, Rate};

/// After so long the cookies' minutes are counted from 0 again: time has 64 bits of picoseconds.
const COOKIE_ROUND: Duration = Duration::from_secs(100 * 24 * 3600);

/// Accepts the connections that peers open to an endpoint. Ends when dropped: connections that nobody
/// has accepted are closed.
#[derive(Debug)]
pub struct Listener {
    pub(crate) listening: Arc<Listening>,
    pub(crate) endpoint: Arc<Handle>,
}

/// The driver's part of a listener.
pub(crate) struct Listening {
    pub(crate) cookies: udt::Listener,
    pub(crate) config: ConnectionConfig,
    /// C where the configuration or the address that is listened on tells it.
    pub(crate) capacity: Option<Rate>,
    pub(crate) endpoint: Weak<Handle>,
    pub(crate) epoch: Instant,
    pub(crate) backlog: usize,
    pub(crate) queue: Mutex<Queue>,
}

/// Connections that wait to be accepted.
#[derive(Default)]
pub(crate) struct Queue {
    pub(crate) waiting: VecDeque<Connection>,
    wakers: Vec<Waker>,
    ended: bool,
}

impl Listener {
    /// The next connection; nothing once the endpoint is closed. A peer has returned its cookie before
    /// anything is kept of it. Dropping the future loses no connection.
    pub async fn accept(&self) -> Option<Connection> {
        poll_fn(|cx| {
            let mut queue = lock(&self.listening.queue);
            if let Some(connection) = queue.waiting.pop_front() {
                return Poll::Ready(Some(connection));
            }
            if queue.ended {
                return Poll::Ready(None);
            }
            remember(&mut queue.wakers, cx.waker());
            Poll::Pending
        })
        .await
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.endpoint.inner.socket.local_addr()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.endpoint.inner.table).listening = None;
        self.listening.end();
    }
}

impl Listening {
    /// The time by which cookies are made.
    pub(crate) fn time(&self, now: Instant) -> Time {
        let age = now.saturating_duration_since(self.epoch);
        let rounds = age.as_secs() / COOKIE_ROUND.as_secs();
        let begun = Duration::from_secs(rounds * COOKIE_ROUND.as_secs());
        time_since(self.epoch + begun, now)
    }

    pub(crate) fn has_room(&self) -> bool {
        let queue = lock(&self.queue);
        !queue.ended && queue.waiting.len() < self.backlog
    }

    pub(crate) fn push(&self, connection: Connection) {
        let mut queue = lock(&self.queue);
        if queue.ended {
            drop(queue);
            return;
        }
        queue.waiting.push_back(connection);
        for waker in queue.wakers.drain(..) {
            waker.wake();
        }
    }

    /// No connection comes any more; those that wait are closed.
    pub(crate) fn end(&self) {
        let waiting = {
            let mut queue = lock(&self.queue);
            queue.ended = true;
            for waker in queue.wakers.drain(..) {
                waker.wake();
            }
            std::mem::take(&mut queue.waiting)
        };
        drop(waiting);
    }
}

impl std::fmt::Debug for Listening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listening")
            .field("backlog", &self.backlog)
            .finish_non_exhaustive()
    }
}
