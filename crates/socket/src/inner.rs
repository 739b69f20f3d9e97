//! What an endpoint's handles, connections and its driver share: the socket, the table of connections,
//! and the mailbox by which the driver is told that something has changed.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

use incastle_transport::udt::ByteConnection;
use incastle_units::Time;
use quinn_udp::{TransportErrorPayload, UdpSocketState};
use tokio::net::UdpSocket;

use crate::listener::Listening;
use crate::secure::Secure;
use crate::shared::Shared;
use crate::{ConnectError, EndpointConfig, EndpointStatistics, Ignored};

/// Locks, whatever a panic elsewhere left behind: the panic itself is reported where it happened.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shared part of an endpoint.
pub(crate) struct Inner {
    pub(crate) socket: UdpSocket,
    pub(crate) udp: UdpSocketState,
    pub(crate) local: SocketAddr,
    pub(crate) config: EndpointConfig,
    pub(crate) table: Mutex<Table>,
    pub(crate) mailbox: Mutex<Mailbox>,
    pub(crate) counters: Counters,
    /// The sessions, on an endpoint with a key.
    pub(crate) secure: Option<Secure>,
}

/// The connections of an endpoint.
#[derive(Default)]
pub(crate) struct Table {
    pub(crate) connections: HashMap<u32, Arc<Shared>>,
    /// Accepted ones by what the peer calls itself, so that repeated requests find them.
    pub(crate) accepted: HashMap<(SocketAddr, u32), u32>,
    /// How many were accepted from each network ([`network_of`](crate::network_of)).
    pub(crate) per_peer: HashMap<IpAddr, usize>,
    /// Those that wait for a peer which does the same.
    pub(crate) rendezvous: HashMap<SocketAddr, u32>,
    /// Those that ask.
    pub(crate) asking: HashSet<u32>,
    pub(crate) listening: Option<Arc<Listening>>,
    /// Connections that are not over.
    pub(crate) live: usize,
    /// The endpoint is closed, or its driver gone.
    pub(crate) closed: bool,
}

/// Messages for the driver.
#[derive(Default)]
pub(crate) struct Mailbox {
    /// Connections that changed.
    pub(crate) changed: Vec<u32>,
    /// Hosts of which the network says that they, or a port of theirs, cannot be reached.
    pub(crate) unreachable: Vec<IpAddr>,
    /// No handle is left.
    pub(crate) abandoned: bool,
    pub(crate) driver: Option<Waker>,
    /// Who waits for the end of all connections.
    pub(crate) closers: Vec<Waker>,
}

/// Counters of an endpoint.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) receive_memory: AtomicUsize,
    pub(crate) datagrams_sent: AtomicU64,
    pub(crate) sends: AtomicU64,
    pub(crate) datagrams_received: AtomicU64,
    pub(crate) cookies_sent: AtomicU64,
    pub(crate) malformed: AtomicU64,
    pub(crate) unknown_socket: AtomicU64,
    pub(crate) wrong_address: AtomicU64,
    pub(crate) handshakes: AtomicU64,
    pub(crate) beyond_limit: AtomicU64,
    pub(crate) beyond_memory: AtomicU64,
}

/// Adds to a counter that nobody decides by.
pub(crate) fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl Inner {
    pub(crate) fn new(
        socket: UdpSocket,
        udp: UdpSocketState,
        config: EndpointConfig,
    ) -> io::Result<Self> {
        let secure = config
            .key
            .as_ref()
            .map(|key| Secure::new(key, config.max_connections));
        Ok(Self {
            secure: secure.transpose()?,
            local: socket.local_addr()?,
            socket,
            udp,
            config,
            table: Mutex::default(),
            mailbox: Mutex::default(),
            counters: Counters::default(),
        })
    }

    /// Tells the driver that a connection needs it.
    pub(crate) fn notify(&self, id: u32) {
        let mut mailbox = lock(&self.mailbox);
        mailbox.changed.push(id);
        if let Some(driver) = mailbox.driver.take() {
            driver.wake();
        }
    }

    /// Wakes the driver.
    pub(crate) fn wake(&self) {
        if let Some(driver) = lock(&self.mailbox).driver.take() {
            driver.wake();
        }
    }

    /// Adds a connection under a number that no other has.
    pub(crate) fn insert(
        &self,
        table: &mut Table,
        make: impl FnOnce(u32) -> Shared,
    ) -> Result<Arc<Shared>, ConnectError> {
        if table.closed {
            return Err(ConnectError::EndpointClosed);
        }
        if table.connections.len() >= self.config.max_connections {
            return Err(ConnectError::TooMany(table.connections.len()));
        }
        let id = loop {
            // UDT's sockets are positive numbers of 31 bits.
            let id = random::<4>().map(u32::from_le_bytes)? >> 1;
            if id != 0 && !table.connections.contains_key(&id) {
                break id;
            }
        };
        let shared = Arc::new(make(id));
        table.connections.insert(id, Arc::clone(&shared));
        table.live += 1;
        Ok(shared)
    }

    /// Takes what the network said of earlier datagrams; gives whether there was anything. Only who
    /// still asks for a connection believes it: anybody can send such messages.
    pub(crate) fn take_errors(&self) -> bool {
        let mut any = false;
        // Bounded: each can be answered by another.
        for _ in 0..64 {
            let Ok(Some(error)) = self.udp.recv_transport_error((&self.socket).into()) else {
                break;
            };
            any = true;
            if let (TransportErrorPayload::Unreachable, Some(host)) = (error.payload, error.addr) {
                lock(&self.mailbox).unreachable.push(host.ip());
            }
        }
        if any {
            self.wake();
        }
        any
    }

    /// Whether memory is left for a data packet. Beyond half of the limit only for those that come in
    /// their order, and beyond the limit only where an application waits for this very packet: else
    /// what waits for a missing packet would leave no room for it.
    pub(crate) fn has_memory(&self, connection: &ByteConnection, datagram: &[u8]) -> bool {
        let held = self.counters.receive_memory.load(Ordering::Relaxed);
        let most = self.config.max_receive_memory;
        if held < most / 2 {
            return true;
        }
        connection.is_next(datagram) && (held < most || !connection.has_something())
    }

    /// Follows a change of what a connection holds.
    pub(crate) fn account(&self, before: usize, after: usize) {
        let memory = &self.counters.receive_memory;
        if after >= before {
            memory.fetch_add(after - before, Ordering::Relaxed);
        } else {
            memory.fetch_sub(before - after, Ordering::Relaxed);
        }
    }

    pub(crate) fn statistics(&self) -> EndpointStatistics {
        let counters = &self.counters;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EndpointStatistics {
            connections: lock(&self.table).connections.len(),
            receive_memory: counters.receive_memory.load(Ordering::Relaxed),
            datagrams_sent: read(&counters.datagrams_sent),
            sends: read(&counters.sends),
            datagrams_received: read(&counters.datagrams_received),
            cookies_sent: read(&counters.cookies_sent),
            sessions: self.secure.as_ref().map(Secure::statistics),
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
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

/// Random bytes from the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], ConnectError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| ConnectError::Random(error.to_string()))?;
    Ok(bytes)
}

/// Time since `epoch`, as the sans-IO connection counts it. Saturates after 213 days.
pub(crate) fn time_since(epoch: Instant, now: Instant) -> Time {
    let ns = now.saturating_duration_since(epoch).as_nanos();
    Time::from_ps(u64::try_from(ns.saturating_mul(1000)).map_or(u64::MAX - 1, |ps| ps))
}
