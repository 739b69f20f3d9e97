//! Endpoints and connections of the commands, and messages for their errors.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use incastle_socket::{
    ConnectError, Connection, ConnectionConfig, ConnectionError, Control, Endpoint, EndpointConfig,
    Event, Listener, RecvStream, SendStream,
};
use tokio::time::timeout;

use crate::address::{HostPort, local_for};
use crate::arguments::LinkArguments;
use crate::error::Failure;
use crate::key::Key;
use crate::places::Limits;
use crate::printable::{reason, unnumbered};
use crate::protocol::{Channel, PATIENCE};
use crate::terminal::warn;

/// The frames of one connection.
pub type Stream = Channel<RecvStream, SendStream>;

/// How long an endpoint waits for its last frames to arrive.
pub const LINGER: Duration = Duration::from_secs(10);
/// How long a user who stopped the program waits for it.
const ABORT: Duration = Duration::from_secs(1);
/// Ethernet's largest IP packet.
const USUAL_MTU: u32 = 1500;
/// Retransmissions or NAKs without effect, after which the path does not carry such packets.
const STALLED: u64 = 10;
/// The minimum MTU of an IPv6 path (RFC 8200, section 5).
const SMALL_MTU: u32 = 1280;
/// Peers that may wait to be accepted.
const BACKLOG: usize = 128;
/// Connections of one address beyond its share, which are refused or being evicted.
const LEAVING: usize = 16;

/// A connection to a server.
pub struct Link {
    endpoint: Endpoint,
    /// The error of a maximum packet size that is too small.
    packet_size: u32,
    /// The control that was selected.
    control: Control,
    /// For statistics.
    pub connection: Connection,
}

impl Link {
    /// Calls the server's addresses, one after the other.
    pub async fn call(peer: &HostPort, arguments: &LinkArguments) -> Result<Self, Failure> {
        let config = connection_config(arguments)?;
        let protection = arguments.protection();
        let key = read_key(arguments)?;
        let addresses = peer.resolve().await?;
        for address in &addresses {
            protection.check(*address)?;
        }
        let mut last = None;
        for address in addresses {
            match Self::call_one(address, &config, key.as_ref()).await {
                Ok(link) => {
                    if protection.is_open(address) {
                        warn(format_args!(
                            "no key: what is sent to {address} can be read and changed on the path"
                        ));
                    }
                    return Ok(link);
                }
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.expect("a name has at least one address"))
    }

    async fn call_one(
        address: SocketAddr,
        config: &ConnectionConfig,
        key: Option<&Key>,
    ) -> Result<Self, Failure> {
        reachable(address)?;
        let endpoint = bind(local_for(address), endpoint_config(key))?;
        let connected = endpoint.connect(address, config).await;
        match connected {
            Ok(connection) => Ok(Self {
                endpoint,
                packet_size: config.packet_size,
                control: config.control,
                connection,
            }),
            Err(error) => Err(not_connected(&error)),
        }
    }

    /// Its frames, after the greeting.
    pub async fn channel(&self) -> Result<Stream, Failure> {
        let mut channel = channel(&self.connection)?;
        channel.greet().await?;
        Ok(channel)
    }

    /// Does something on the connection, and warns the user meanwhile of missing features: DCUDP at the peer,
    /// ECN on the path, packets of that size.
    pub async fn with_warnings<T>(&self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            // First, because the work is over too once the connection is.
            never = self.warn_of_events() => match never {},
            done = work => done,
        }
    }

    async fn warn_of_events(&self) -> Infallible {
        let mut events = self.connection.events();
        while let Some(event) = events.next().await {
            match event {
                Event::Fallback => warn(match self.control {
                    Control::Named(_) | Control::Own => {
                        "the peer has no accurate ACKs: UDT's control is run"
                    }
                    _ => "the peer speaks UDT alone: its control is run",
                }),
                Event::EcnFailed => warn(match self.control {
                    Control::Named(_) | Control::Own => {
                        "this path does not carry ECN: there are no marks"
                    }
                    _ => "this path does not carry ECN: UDT's control is run",
                }),
                Event::Over(Some(
                    ConnectionError::Silent { .. } | ConnectionError::PeerClosed { .. },
                )) => self.warn_of_send_size(),
                _ => {}
            }
        }
        std::future::pending().await
    }

    /// Warns if the peer acknowledged small packets and no full one. Routers that drop packets above the MTU of
    /// the next link often send no ICMP message, or one that is ignored as unverified.
    fn warn_of_send_size(&self) {
        let statistics = self.connection.statistics();
        let size = u64::from(self.packet_size);
        if statistics.acknowledged < size && statistics.sent > 2 * size {
            self.warn_of_size("was acknowledged");
        } else if self.packet_size > USUAL_MTU && statistics.protocol.timeouts >= STALLED {
            // Between virtual interfaces some pass: those that the kernel has joined.
            self.warn_of_size("that was sent again was acknowledged");
        }
    }

    /// Warns if the peer was lost before any full packet of its file arrived, or while retransmissions did
    /// not arrive.
    pub fn warn_of_receive_size(&self, failure: &Failure) {
        if !matches!(failure, Failure::Connection(_)) {
            return;
        }
        let statistics = self.connection.statistics();
        if statistics.delivered < u64::from(self.packet_size) {
            self.warn_of_size("came from there");
        } else if self.packet_size > USUAL_MTU && statistics.protocol.naks_sent >= STALLED {
            self.warn_of_size("that was asked for again came from there");
        }
    }

    fn warn_of_size(&self, what: &str) {
        let size = self.packet_size;
        let smaller = if size > USUAL_MTU {
            USUAL_MTU
        } else {
            SMALL_MTU
        };
        warn(format_args!(
            "no packet of {size} bytes {what}: \
             if this path takes only smaller ones, give --mtu '{smaller} B'"
        ));
    }

    /// Closes the connection, and waits a while until the peer has received that.
    pub async fn close(self) {
        // Transfers were confirmed before; the peer drops a connection that falls silent.
        timeout(LINGER, self.connection.close()).await.ok();
        timeout(LINGER, self.endpoint.close()).await.ok();
    }

    /// Aborts the connection, and waits a moment until the peer has received that.
    pub async fn abort(self) {
        self.connection.abort();
        timeout(ABORT, self.endpoint.close()).await.ok();
    }
}

/// Asks the system for a route to an address. Without one a key's handshake would wait for nothing.
fn reachable(address: SocketAddr) -> Result<(), Failure> {
    let connected = UdpSocket::bind(local_for(address)).and_then(|it| it.connect(address));
    connected.map_err(|error| {
        let message = format!("{address} cannot be reached: {}", reason(&error));
        Failure::Connection(message)
    })
}

/// The frames of a connection.
pub fn channel(connection: &Connection) -> Result<Stream, Failure> {
    let failed = |error| Failure::Connection(format!("{error}"));
    let reader = connection.recv_stream().map_err(failed)?;
    let writer = connection.send_stream().map_err(failed)?;
    Ok(Channel::new(reader, writer, PATIENCE))
}

/// Starts to listen, for at most `places` connections at a time. Gives the address, with the port that the system
/// chose for 0.
pub fn listen(
    address: SocketAddr,
    limits: Limits,
    arguments: &LinkArguments,
) -> Result<(Endpoint, Listener, SocketAddr), Failure> {
    let config = connection_config(arguments)?;
    arguments.protection().check(address)?;
    let key = read_key(arguments)?;
    let bounded = EndpointConfig {
        // Those beyond the limits are there until they were told to come later.
        max_connections: usize::from(limits.connections) + BACKLOG,
        max_connections_per_peer: usize::from(limits.per_address) + LEAVING,
        ..endpoint_config(key.as_ref())
    };
    let endpoint = bind(address, bounded)?;
    let listener = endpoint
        .listen(config, BACKLOG)
        .map_err(|error| not_connected(&error))?;
    let local = endpoint.local_addr();
    let local = local.map_err(|error| Failure::Input(reason(&error)))?;
    Ok((endpoint, listener, local))
}

fn bind(address: SocketAddr, config: EndpointConfig) -> Result<Endpoint, Failure> {
    Endpoint::bind(address, config).map_err(|error| {
        let message = match error.kind() {
            ErrorKind::AddrInUse => {
                "another program has this port; choose one with --listen".to_owned()
            }
            ErrorKind::AddrNotAvailable => "this machine does not have this address".to_owned(),
            _ => reason(&error),
        };
        Failure::Input(format!("{address}: {message}"))
    })
}

fn read_key(arguments: &LinkArguments) -> Result<Option<Key>, Failure> {
    arguments.key_file.as_deref().map(Key::read).transpose()
}

fn endpoint_config(key: Option<&Key>) -> EndpointConfig {
    EndpointConfig {
        key: key.map(|key| incastle_socket::Key::new(*key.bytes())),
        ..EndpointConfig::default()
    }
}

fn connection_config(arguments: &LinkArguments) -> Result<ConnectionConfig, Failure> {
    let mtu = arguments.mtu;
    let config = ConnectionConfig {
        control: arguments.cc,
        own: arguments.own.clone(),
        packet_size: u32::try_from(mtu.count()).unwrap_or(u32::MAX),
        capacity: arguments.capacity,
        linger: LINGER,
        ..ConnectionConfig::default()
    };
    if arguments.cc == Control::Own && arguments.own.is_none() {
        let why = "--cc: classes of Python run in the program of the Python package alone";
        return Err(Failure::Input(why.to_owned()));
    }
    let checked = config.check();
    checked.map_err(|error| Failure::Input(format!("{error}")))?;
    Ok(config)
}

/// The failure of a connection that was not established.
fn not_connected(error: &ConnectError) -> Failure {
    let message = unnumbered(error.to_string());
    match error {
        ConnectError::Config(_) => Failure::Input(message),
        _ => Failure::Connection(message),
    }
}
