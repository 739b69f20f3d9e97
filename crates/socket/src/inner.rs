//! The shared state of an endpoint's handles, connections and driver: the socket and the connection table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::base::lock;
use crate::port::Port;
use crate::secure::Secure;
use crate::table::Table;
use crate::{EndpointStatistics, Ignored};

/// The shared part of an endpoint.
pub(crate) struct Inner {
    pub(crate) port: Port,
    pub(crate) table: Mutex<Table>,
}

/// The handle that endpoints, listeners and connections hold. The driver ends with the last of them.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) inner: Arc<Inner>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        let port = &self.inner.port;
        lock(&port.mailbox).abandoned = true;
        port.wake();
    }
}

impl Inner {
    pub(crate) fn new(port: Port) -> Self {
        Self {
            port,
            table: Mutex::default(),
        }
    }

    pub(crate) fn statistics(&self) -> EndpointStatistics {
        let counters = &self.port.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EndpointStatistics {
            connections: lock(&self.table).connections.len(),
            receive_memory: counters.receive_memory.load(Ordering::Relaxed),
            datagrams_sent: read(&counters.datagrams_sent),
            sends: read(&counters.sends),
            datagrams_received: read(&counters.datagrams_received),
            cookies_sent: read(&counters.cookies_sent),
            sessions: self.port.secure.as_ref().map(Secure::statistics),
            ignored: Ignored {
                malformed: read(&counters.malformed),
                unknown_socket: read(&counters.unknown_socket),
                wrong_address: read(&counters.wrong_address),
                handshakes: read(&counters.handshakes),
                beyond_limit: read(&counters.beyond_limit),
                beyond_memory: read(&counters.beyond_memory),
            },
        }
    }
}

impl std::fmt::Debug for Inner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("local", &self.port.local)
            .finish_non_exhaustive()
    }
}
