//! One endpoint of a UDT or DCUDP connection over a UDP socket, without a runtime: only the loop that a
//! sans-IO state machine needs.
//!
//! Leaves out: ECN, several connections, batches, speed.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use incastle_congestion::{Algorithm, Udt, UdtConfig};
use incastle_transport::udt::wire::{
    Content, Control, ControlBody, Dialect, Handshake, Packet, parse, write,
};
use incastle_transport::udt::{
    ByteConnection, Config, Connection, Event, Failure, Identity, Listener, Number, PeerAddress,
    Response, SendError, Stats,
};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use thiserror::Error;

use crate::application::{Application, Task};
use crate::socket;
use incastle_softswitch::clock::Clock;
use incastle_softswitch::wait::readable;

/// Bytes that may be written and not acknowledged.
const SEND_BUFFER: usize = 12 << 20;

/// How the connection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It waits for a client.
    Listen,
    /// It is the client of that server.
    Connect(SocketAddr),
    /// Both ask each other.
    Meet(SocketAddr),
}

/// Why it did not work.
#[derive(Debug, Error)]
pub enum PeerError {
    /// The socket failed.
    #[error(transparent)]
    Socket(#[from] io::Error),
    /// The connection failed.
    #[error("the connection failed: {0:?}")]
    Failed(Failure),
    /// A message was not taken.
    #[error("a message was not taken: {0}")]
    Message(#[from] SendError),
    /// The peer closed before everything was there.
    #[error("the peer closed early: {sent} bytes written, {received} bytes received")]
    Early {
        /// Written so far.
        sent: u64,
        /// Received so far.
        received: u64,
    },
    /// The time ran out.
    #[error("not done in time: {sent} bytes written, {received} bytes received, {state}")]
    Late {
        /// Written so far.
        sent: u64,
        /// Received so far.
        received: u64,
        /// Counters.
        state: String,
    },
}

/// One end, with its socket.
pub struct Peer {
    clock: Clock,
    socket: UdpSocket,
    config: Config,
    /// Where the peer is, once it is known.
    remote: Option<SocketAddr>,
    listener: Option<Listener>,
    connection: Option<ByteConnection>,
    rng: Xoshiro256PlusPlus,
    application: Application,
    /// Whether this endpoint closes as soon as it is done, or waits until its peer has.
    closes_first: bool,
    connected: bool,
    /// When the peer closed.
    deserted: Option<Time>,
    closed: bool,
    datagram: Vec<u8>,
}

impl Peer {
    /// An endpoint that has not sent anything yet. The seed makes its numbers.
    pub fn new(
        socket: UdpSocket,
        opening: Opening,
        config: Config,
        task: Task,
        closes_first: bool,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let mut peer = Self {
            clock: Clock::start(),
            socket,
            config,
            remote: None,
            listener: None,
            connection: None,
            rng: Xoshiro256PlusPlus::seed_from_u64(task.seed),
            application: Application::new(task),
            closes_first,
            connected: false,
            deserted: None,
            closed: false,
            datagram: vec![0; 1 << 16],
        };
        peer.open(opening);
        Ok(peer)
    }

    fn open(&mut self, opening: Opening) {
        let now = self.clock.now();
        let identity = Identity {
            socket: self.rng.next_u32() >> 1 | 1,
            first: Number::from_word(self.rng.next_u32()),
        };
        let (config, law) = (&self.config, law(&self.config));
        let (core, remote) = match opening {
            Opening::Listen => {
                let mut key = [0; 16];
                self.rng.fill_bytes(&mut key);
                self.listener = Some(Listener::new(config, key));
                return;
            }
            Opening::Connect(server) => (Connection::client(config, law, identity, now), server),
            Opening::Meet(other) => (Connection::rendezvous(config, law, identity, now), other),
        };
        self.remote = Some(remote);
        self.connection = Some(ByteConnection::new(core, SEND_BUFFER));
    }

    /// The application, with the bytes sent and received.
    pub const fn application(&self) -> &Application {
        &self.application
    }

    /// The connection's counters.
    pub fn stats(&self) -> Option<&Stats> {
        self.connection.as_ref().map(|c| c.core().stats())
    }

    /// Whether the peer closed before this endpoint did.
    pub const fn peer_closed(&self) -> bool {
        self.deserted.is_some()
    }

    /// Works until the connection is over on both sides, or until `limit`.
    pub fn run(&mut self, limit: Time) -> Result<(), PeerError> {
        while !self.closed {
            self.receive()?;
            self.work()?;
            let more = self.transmit()?;
            self.heed_events()?;
            let now = self.clock.now();
            if self.is_left_alone(now) {
                break;
            }
            if now >= limit {
                return Err(self.late());
            }
            if !more && !self.closed {
                let timer = self
                    .connection
                    .as_ref()
                    .and_then(ByteConnection::poll_timeout);
                let until = timer.map_or(limit, |at| at.min(limit));
                readable(&self.clock, &[self.socket.as_fd()], Some(until))?;
            }
        }
        Ok(())
    }

    /// Whether the peer closed some time ago, and everything is written and received. It may have taken
    /// everything and not said so, as the library does; the hashes show it.
    fn is_left_alone(&self, now: Time) -> bool {
        let patience = Span::from_secs(1);
        let since = self.deserted.map(|at| now.saturating_since(at));
        self.application.is_done() && since.is_some_and(|since| since >= patience)
    }

    fn receive(&mut self) -> Result<(), PeerError> {
        for _ in 0..64 {
            let Some((length, from)) = socket::receive(&self.socket, &mut self.datagram)? else {
                break;
            };
            self.handle(from, length)?;
        }
        Ok(())
    }

    fn handle(&mut self, from: SocketAddr, length: usize) -> Result<(), PeerError> {
        let now = self.clock.now();
        let datagram = &self.datagram[..length];
        match &mut self.connection {
            Some(connection) if self.remote == Some(from) => {
                // Errors are counted by the connection.
                let _ = connection.handle_datagram(now, datagram, Ecn::NotEct, &mut self.rng);
                Ok(())
            }
            Some(_) => Ok(()),
            None => self.accept(now, from, length),
        }
    }

    fn accept(&mut self, now: Time, from: SocketAddr, length: usize) -> Result<(), PeerError> {
        let datagram = &self.datagram[..length];
        let (Some(listener), Ok(view)) = (&self.listener, parse(datagram, Dialect::Udt)) else {
            return Ok(());
        };
        let (Content::Control(header), Some(handshake)) = (view.packet.content, &view.handshake)
        else {
            return Ok(());
        };
        assert_eq!(header.control, Control::Handshake, "its body was parsed");
        match listener.handle(now, address(from), &view.packet, handshake) {
            Response::Reply(packet, body) => {
                let reply = handshake_datagram(&packet, &body);
                socket::send(&self.socket, &reply, from)?;
            }
            Response::Accept(incoming) => {
                let own = self.rng.next_u32() >> 1 | 1;
                let core = Connection::server(&self.config, law(&self.config), own, &incoming, now);
                self.remote = Some(from);
                self.connection = Some(ByteConnection::new(core, SEND_BUFFER));
            }
            Response::Ignore => {}
        }
        Ok(())
    }

    fn work(&mut self) -> Result<(), PeerError> {
        let now = self.clock.now();
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now, &mut self.rng);
        }
        if !self.connected || connection.core().is_over() {
            return Ok(());
        }
        self.application.work(now, connection)?;
        let done = self.application.is_done();
        if self.deserted.is_some() && !done {
            let (sent, received) = self.progress();
            return Err(PeerError::Early { sent, received });
        }
        if done && (self.closes_first || self.deserted.is_some()) {
            connection.close(now);
        }
        Ok(())
    }

    /// Sends what is due; gives whether it stopped early, to listen.
    fn transmit(&mut self) -> Result<bool, PeerError> {
        let (Some(connection), Some(remote)) = (&mut self.connection, self.remote) else {
            return Ok(false);
        };
        let mut out = Vec::new();
        for _ in 0..64 {
            if connection
                .poll_transmit(self.clock.now(), &mut out, &mut self.rng)
                .is_none()
            {
                return Ok(false);
            }
            socket::send(&self.socket, &out, remote)?;
        }
        Ok(true)
    }

    fn heed_events(&mut self) -> Result<(), PeerError> {
        let Some(connection) = &mut self.connection else {
            return Ok(());
        };
        while let Some(event) = connection.poll_event() {
            match event {
                Event::Connected => self.connected = true,
                Event::PeerClosed => self.deserted = Some(self.clock.now()),
                Event::Closed => self.closed = true,
                // UDT sends its shutdown once, and that may be lost: then silence is its end.
                Event::Failed(Failure::Silent(_)) if self.application.is_done() => {
                    self.closed = true;
                }
                Event::Failed(failure) => return Err(PeerError::Failed(failure)),
                Event::Fallback | Event::NoEcn | Event::Readable | Event::Finished => {}
            }
        }
        Ok(())
    }

    fn progress(&self) -> (u64, u64) {
        let application = &self.application;
        (application.sent().bytes(), application.received().bytes())
    }

    fn late(&self) -> PeerError {
        let (sent, received) = self.progress();
        PeerError::Late {
            sent,
            received,
            state: format!("{:?}", self.stats()),
        }
    }
}

fn law(config: &Config) -> Algorithm {
    let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
    Algorithm::Udt(Udt::new(UdtConfig { packet }))
}

fn address(of: SocketAddr) -> PeerAddress {
    let ip = match of.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    PeerAddress {
        ip: ip.octets(),
        port: of.port(),
    }
}

/// The datagram of a handshake packet.
pub(crate) fn handshake_datagram(packet: &Packet, body: &Handshake) -> Vec<u8> {
    let mut bytes = Vec::new();
    let body = ControlBody::Handshake(body);
    write(packet, body, &[], Dialect::Udt, &mut bytes);
    bytes
}
