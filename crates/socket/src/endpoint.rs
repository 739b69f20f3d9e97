//! An endpoint: one UDP socket, on which any number of connections are opened and accepted.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Instant;

use incastle_transport::udt::{self, Identity, Number};
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::UdpSocketState;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::UdpSocket;

use crate::base::{lock, random};
use crate::config::Made;
use crate::driver::Driver;
use crate::inner::{Handle, Inner};
use crate::listening::Listening;
use crate::port::Port;
use crate::shared::{Parts, Phase, Shared, remember, seed};
use crate::{
    ConnectError, Connection, ConnectionConfig, EndpointConfig, EndpointStatistics, Listener,
    capacity,
};

/// One UDP socket with its connections. Cheap to clone; the socket is closed when the last of its
/// endpoints, listeners and connections is gone and everything written has been delivered.
#[derive(Debug, Clone)]
pub struct Endpoint {
    handle: Arc<Handle>,
}

/// The way in which a connection opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Client,
    Rendezvous,
}

impl Endpoint {
    /// Binds a UDP socket and starts the task that drives it. Must be called within a tokio runtime
    /// with I/O enabled.
    pub fn bind(address: SocketAddr, config: EndpointConfig) -> io::Result<Self> {
        let socket = bind(address, &config)?;
        let udp = UdpSocketState::new((&socket).into())?;
        udp.enable_transport_errors((&socket).into())?;
        if !config.offload {
            setsockopt(&socket, sockopt::UdpGroSegment, &false)?;
        }
        let socket = UdpSocket::from_std(socket.into())?;
        let inner = Arc::new(Inner::new(Port::new(socket, udp, config)?));
        tokio::spawn(Driver::new(Arc::clone(&inner))?);
        tracing::debug!(local = %inner.port.local, "bound");
        let handle = Arc::new(Handle { inner });
        Ok(Self { handle })
    }

    /// The address that the socket is bound to.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.port().socket.local_addr()
    }

    /// Opens a connection to a listener.
    pub async fn connect(
        &self,
        peer: SocketAddr,
        config: &ConnectionConfig,
    ) -> Result<Connection, ConnectError> {
        let connection = self.open(peer, config, Opening::Client)?;
        let opened = connected(connection).await;
        opened.map_err(|error| self.port().explain(error))
    }

    /// Opens a connection to an endpoint that opens one to this at about the same time.
    pub async fn rendezvous(
        &self,
        peer: SocketAddr,
        config: &ConnectionConfig,
    ) -> Result<Connection, ConnectError> {
        let connection = self.open(peer, config, Opening::Rendezvous)?;
        let opened = connected(connection).await;
        opened.map_err(|error| self.port().explain(error))
    }

    /// Accepts connections of that configuration. At most `backlog` wait to be accepted; peers beyond
    /// it repeat their requests.
    pub fn listen(
        &self,
        config: ConnectionConfig,
        backlog: usize,
    ) -> Result<Listener, ConnectError> {
        config.check()?;
        self.port().prepare(config.control);
        let local = self.port().local.ip();
        let known = (!local.is_unspecified()).then(|| capacity::of_local(local.to_canonical()));
        let capacity = config.capacity.or(known);
        let cookies = udt::Listener::new(
            &config.transport(capacity.unwrap_or(crate::DEFAULT_CAPACITY)),
            random()?,
        );
        let listening = Arc::new(Listening {
            cookies,
            config,
            capacity,
            epoch: Instant::now(),
            backlog: backlog.max(1),
            queue: Mutex::default(),
        });
        let mut table = lock(&self.inner().table);
        if table.closed {
            return Err(ConnectError::EndpointClosed);
        }
        if table.listening.is_some() {
            return Err(ConnectError::ListensAlready);
        }
        table.listening = Some(Arc::clone(&listening));
        drop(table);
        let endpoint = Arc::clone(&self.handle);
        Ok(Listener {
            listening,
            endpoint,
        })
    }

    /// Closes every connection as [`Connection::close`] does, ends listening, and waits for both.
    pub async fn close(&self) {
        let inner = self.inner();
        let (connections, listening) = {
            let mut table = lock(&inner.table);
            table.closed = true;
            let connections: Vec<_> = table.connections.values().cloned().collect();
            (connections, table.listening.take())
        };
        if let Some(listening) = listening {
            // Those that wait are among the connections.
            listening.end();
        }
        for shared in connections {
            let now = Instant::now();
            let mut state = shared.lock();
            state.close(&shared, now);
            shared.pump(&inner.port, &mut state, now);
        }
        poll_fn(|cx| {
            // In this order: the driver takes the table's lock before the mailbox's.
            let table = lock(&inner.table);
            if table.live == 0 {
                return Poll::Ready(());
            }
            remember(&mut lock(&inner.port.mailbox).closers, cx.waker());
            Poll::Pending
        })
        .await;
    }

    /// The endpoint's counters.
    pub fn statistics(&self) -> EndpointStatistics {
        self.inner().statistics()
    }

    fn inner(&self) -> &Inner {
        &self.handle.inner
    }

    fn port(&self) -> &Port {
        &self.handle.inner.port
    }

    fn open(
        &self,
        peer: SocketAddr,
        config: &ConnectionConfig,
        opening: Opening,
    ) -> Result<Connection, ConnectError> {
        config.check()?;
        let port = self.port();
        port.prepare(config.control);
        let peer = port.reachable(peer)?;
        let capacity = config.capacity.unwrap_or_else(|| capacity::towards(peer));
        let made = config.make(capacity, peer, &port.traits());
        let now = Instant::now();
        let first = Number::from_word(u32::from_le_bytes(random()?));
        let mut parts = Parts::new(peer, config, port.clock(now), seed()?);
        let mut table = lock(&self.inner().table);
        if opening == Opening::Rendezvous && table.rendezvous.contains_key(&peer) {
            return Err(ConnectError::RendezvousTwice(peer));
        }
        let shared = table.insert(port.config.max_connections, |id| {
            parts.id = id;
            let identity = Identity { socket: id, first };
            Shared::new(&parts, begin(opening, made, identity, &parts))
        })?;
        match opening {
            Opening::Client => _ = table.asking.insert(shared.id),
            Opening::Rendezvous => _ = table.rendezvous.insert(peer, shared.id),
        }
        drop(table);
        shared.pump(port, &mut shared.lock(), now);
        Ok(Connection::new(shared, Arc::clone(&self.handle)))
    }
}

/// The sans-IO connection of an endpoint that opens.
fn begin(opening: Opening, made: Made, identity: Identity, parts: &Parts) -> udt::Connection {
    let Made {
        config,
        algorithm,
        fallback,
    } = made;
    let now = parts.clock.time(parts.clock.epoch);
    let connection = match opening {
        Opening::Client => udt::Connection::client(&config, algorithm, identity, now),
        Opening::Rendezvous => udt::Connection::rendezvous(&config, algorithm, identity, now),
    };
    match fallback {
        Some(fallback) => connection.with_fallback(fallback),
        None => connection,
    }
}

/// Waits for the peer's answer.
async fn connected(connection: Connection) -> Result<Connection, ConnectError> {
    poll_fn(|cx| {
        let shared = connection.shared();
        let mut state = shared.lock();
        match &state.phase {
            Phase::Up => Poll::Ready(Ok(())),
            Phase::Over(result) => {
                let ended = result.is_ok() || state.refusal.is_none();
                let refusal = state.refusal.take().filter(|_| !ended);
                Poll::Ready(Err(refusal.unwrap_or(ConnectError::EndpointClosed)))
            }
            Phase::Connecting => {
                remember(&mut state.watchers, cx.waker());
                Poll::Pending
            }
        }
    })
    .await?;
    Ok(connection)
}

impl Port {
    /// The peer's address as this socket writes it.
    fn reachable(&self, peer: SocketAddr) -> Result<SocketAddr, ConnectError> {
        match (self.local, peer) {
            (SocketAddr::V4(_), SocketAddr::V6(_)) => Err(ConnectError::Family(peer)),
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => {
                let mapped = v4.ip().to_ipv6_mapped();
                Ok(SocketAddr::new(mapped.into(), v4.port()))
            }
            _ => Ok(peer),
        }
    }
}

fn bind(address: SocketAddr, config: &EndpointConfig) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::DGRAM,
        Some(Protocol::UDP),
    )?;
    if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        // One socket for both families.
        socket.set_only_v6(false)?;
    }
    socket.set_send_buffer_size(config.socket_send_buffer)?;
    socket.set_recv_buffer_size(config.socket_receive_buffer)?;
    // The kernel doubles what it is given, and gives no more than its limit unless we may ignore that.
    if socket.recv_buffer_size()? < 2 * config.socket_receive_buffer
        && setsockopt(&socket, sockopt::RcvBufForce, &config.socket_receive_buffer).is_err()
    {
        tracing::info!(
            bytes = socket.recv_buffer_size()? / 2,
            "the kernel's receive buffer is short: packets are lost where this process is late; \
             raise net.core.rmem_max"
        );
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    Ok(socket)
}
