//! The listener: accepts connections of peers that returned their cookie.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use crate::base::lock;
use crate::connection::Connection;
use crate::inner::Handle;
use crate::listening::Listening;
use crate::shared::remember;

/// Accepts the connections that peers open to an endpoint. Ends when dropped: connections that nobody
/// has accepted are closed.
#[derive(Debug)]
pub struct Listener {
    pub(crate) listening: Arc<Listening>,
    pub(crate) endpoint: Arc<Handle>,
}

impl Listener {
    /// The next connection; nothing once the endpoint is closed. A peer has returned its cookie before
    /// anything is kept of it. Dropping the future loses no connection.
    pub async fn accept(&self) -> Option<Connection> {
        poll_fn(|cx| {
            let mut queue = lock(&self.listening.queue);
            if let Some(shared) = queue.waiting.pop_front() {
                let endpoint = Arc::clone(&self.endpoint);
                return Poll::Ready(Some(Connection::new(shared, endpoint)));
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
        self.endpoint.inner.port.socket.local_addr()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.endpoint.inner.table).listening = None;
        for shared in self.listening.end() {
            drop(Connection::new(shared, Arc::clone(&self.endpoint)));
        }
    }
}
