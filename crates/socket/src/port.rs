//! The socket of an endpoint, and its state: parameters, sessions, counters, and the mailbox by
//! which the driver learns that something has changed. Connections are in `table`.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Waker;

use incastle_transport::udt::ByteConnection;
use quinn_udp::{TransportErrorPayload, UdpSocketState};
use tokio::net::UdpSocket;

use crate::EndpointConfig;
use crate::base::lock;
use crate::secure::Secure;

/// The socket.
pub(crate) struct Port {
    pub(crate) socket: UdpSocket,
    pub(crate) udp: UdpSocketState,
    pub(crate) local: SocketAddr,
    pub(crate) config: EndpointConfig,
    pub(crate) mailbox: Mutex<Mailbox>,
    pub(crate) counters: Counters,
    /// The sessions, on an endpoint with a key.
    pub(crate) secure: Option<Secure>,
}

/// Messages for the driver.
#[derive(Default)]
pub(crate) struct Mailbox {
    /// Connections that changed.
    pub(crate) changed: Vec<u32>,
    /// Hosts of which the network reports that they, or a port of theirs, cannot be reached.
    pub(crate) unreachable: Vec<IpAddr>,
    /// No handle is left.
    pub(crate) abandoned: bool,
    pub(crate) driver: Option<Waker>,
    /// The tasks that wait for the end of all connections.
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

impl Port {
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

    /// Takes what the network reports of earlier datagrams; gives whether there was anything. Only who
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

    /// Whether memory is left for a data packet. Above half of the limit, only packets in order have memory.
    /// Above the limit, only a packet that an application waits for has it. Otherwise reordered packets
    /// would leave no memory for the missing one.
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
            let held = memory.fetch_sub(before - after, Ordering::Relaxed);
            assert!(held >= before - after, "what is given back was counted");
        }
    }
}
