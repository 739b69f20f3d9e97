//! An endpoint of a UDT or DCUDP flow: a listener until the handshake of its peer, then a connection.
//!
//! The connection is that of real sockets. Here its payload is a length. Its packets have no time stamp and
//! destination, which nothing reads but the header's 16 or 20 bytes include. The responder closes as soon as its peer
//! has: its application only receives. Leaves out: fallback to UDT (both endpoints have one configuration), paths
//! that clear ECT.

use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_transport::datagram::Refused;
use incastle_transport::udt::wire::{
    Content, Control, ControlBody, ControlHeader, Dialect, HEADER_BYTES, Handshake, IP_UDP_BYTES,
    Losses, NumberRange, Packet as Header,
};
use incastle_transport::udt::{
    Config, Connection, Event, Identities, Identity, Listener, Number, PeerAddress, Response, Stats,
};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_core::Rng;

use crate::core::EndpointIndex;
use crate::flow::Leaving;
use crate::network::{Body, Extras, Packet};
use crate::probe::UdtControl;

/// Bytes of UDT, UDP and IP headers of a data packet.
pub(crate) const DATA_HEADERS: u16 = HEADER_BYTES as u16 + IP_UDP_BYTES as u16;

/// The counters of a UDT endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UdtCounters {
    /// The statistics of the connection.
    pub stats: Stats,
    /// The time in congestion mode as a sender.
    pub congested: Span,
    /// Whether the connection has failed.
    pub failed: bool,
}

/// The beginning of a UDT flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UdtStart {
    /// A handshake: two round trips with a cookie.
    Handshake,
    /// Connected, with this round-trip time in place of the measured one.
    Connected(Span),
}

/// The parameters of the two endpoints of a new flow.
pub(crate) struct Pair<'a> {
    pub(crate) config: &'a Arc<Config>,
    pub(crate) start: UdtStart,
    pub(crate) send_buffer: Option<Bytes>,
    pub(crate) initiator: EndpointIndex,
}

/// The endpoint.
pub(crate) struct UdtEndpoint {
    state: State,
    send_buffer: Option<Bytes>,
    refused: Refused,
    /// Everything written is acknowledged, since the last poll.
    finished: bool,
    failed: bool,
    connected: bool,
    /// The application has closed; the connection follows once it is established.
    closing: bool,
    congested_since: Option<Time>,
    congested: Span,
}

#[expect(
    clippy::large_enum_variant,
    reason = "an endpoint listens for a round trip and is connected for the rest of its life"
)]
enum State {
    Listening(Listening),
    Connected(Connection),
}

/// A responder before the handshake.
struct Listening {
    config: Arc<Config>,
    listener: Listener,
    /// The controller for the connection.
    algorithm: Option<Algorithm>,
    socket: u32,
    reply: Option<(ControlHeader, Handshake)>,
    /// Bytes written before the connection.
    written: u64,
}

impl UdtEndpoint {
    /// The two endpoints of a new flow: initiator, responder.
    pub(crate) fn pair(
        pair: &Pair<'_>,
        [initiator, responder]: [Algorithm; 2],
        now: Time,
        rng: &mut dyn Rng,
    ) -> [Self; 2] {
        // A server's sequence numbers begin with its client's.
        let first = Number::from_word(rng.next_u32());
        let identity = |index: EndpointIndex| Identity {
            socket: index.0.saturating_add(1),
            first,
        };
        let own = identity(pair.initiator);
        let peer = identity(pair.initiator.peer());
        let config = pair.config;
        let states = match pair.start {
            UdtStart::Handshake => {
                let key = std::array::from_fn(|_| rng.next_u32() as u8);
                let listening = Listening {
                    config: Arc::clone(config),
                    listener: Listener::new(config, key),
                    algorithm: Some(responder),
                    socket: peer.socket,
                    reply: None,
                    written: 0,
                };
                let client = Connection::client(config, initiator, own, now);
                [State::Connected(client), State::Listening(listening)]
            }
            UdtStart::Connected(rtt) => {
                let made = |algorithm, own, peer| {
                    let identities = Identities { own, peer };
                    State::Connected(Connection::established(
                        config, algorithm, identities, rtt, now,
                    ))
                };
                [made(initiator, own, peer), made(responder, peer, own)]
            }
        };
        states.map(|state| Self {
            state,
            send_buffer: pair.send_buffer,
            refused: Refused::default(),
            finished: false,
            failed: false,
            connected: false,
            closing: false,
            congested_since: None,
            congested: Span::ZERO,
        })
    }

    /// Receives a packet.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        packet: &Packet,
        extras: &mut Extras,
        rng: &mut dyn Rng,
    ) {
        match &packet.body {
            Body::UdtData { header, .. } => {
                let arrived = UdtPacket {
                    header: Content::Data(*header),
                    body: ControlBody::Empty,
                };
                self.handle(now, arrived, packet.marks.ecn(), rng);
            }
            Body::UdtControl { place, .. } => {
                let control = extras.controls.take(*place);
                let arrived = UdtPacket {
                    header: Content::Control(control.header),
                    body: control.body(),
                };
                self.handle(now, arrived, packet.marks.ecn(), rng);
            }
            _ => unreachable!("both endpoints of a flow have the same transport"),
        }
        self.settle(now);
    }

    fn handle(
        &mut self,
        now: Time,
        UdtPacket {
            header: content,
            body,
        }: UdtPacket<'_, Content>,
        ecn: Ecn,
        rng: &mut dyn Rng,
    ) {
        let mut header = Header {
            timestamp: 0,
            destination: 0,
            content,
        };
        match &mut self.state {
            State::Connected(connection) => {
                if !matches!(body, ControlBody::Handshake(_)) {
                    header.destination = connection.socket();
                }
                connection.handle(now, &header, body, ecn, rng);
            }
            State::Listening(listening) => {
                if let ControlBody::Handshake(request) = body
                    && let Some(connection) = listening.handle(now, &header, request)
                {
                    self.state = State::Connected(connection);
                }
            }
        }
    }

    /// The instant of `poll_timeout` has come.
    pub(crate) fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        if let State::Connected(connection) = &mut self.state {
            connection.handle_timeout(now, rng);
            self.settle(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.connection()?.poll_timeout()
    }

    /// Whether it certainly has nothing to send now.
    pub(crate) fn is_quiet(&mut self, now: Time) -> bool {
        match &mut self.state {
            State::Connected(connection) => connection.is_quiet(now),
            State::Listening(listening) => listening.reply.is_none(),
        }
    }

    /// Writes the next packet to `out`.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        rng: &mut dyn Rng,
        extras: &mut Extras,
        out: &mut Packet,
    ) -> Option<Leaving> {
        let connection = match &mut self.state {
            State::Connected(connection) => connection,
            State::Listening(listening) => {
                let (header, handshake) = listening.reply.take()?;
                let body = ControlBody::Handshake(&handshake);
                let reply = UdtPacket { header, body };
                return Some(control(now, reply, Dialect::Udt, extras, out));
            }
        };
        let transmit = connection.poll_transmit(now, rng);
        let leaving = transmit.map(|transmit| match transmit.packet.content {
            Content::Data(header) => {
                out.body = Body::UdtData {
                    header,
                    sent_at: now,
                };
                Leaving {
                    payload: header.length,
                    headers: DATA_HEADERS,
                    ecn: transmit.ecn,
                }
            }
            Content::Control(header) => {
                let packet = UdtPacket {
                    header,
                    body: connection.body(),
                };
                Leaving {
                    ecn: transmit.ecn,
                    ..control(now, packet, connection.dialect(), extras, out)
                }
            }
        });
        self.settle(now);
        leaving
    }

    /// After each call that may have changed the connection: takes its events and its mode.
    #[inline]
    fn settle(&mut self, now: Time) {
        let State::Connected(connection) = &mut self.state else {
            return;
        };
        if connection.in_congestion_mode() != self.congested_since.is_some() {
            match self.congested_since.take() {
                Some(since) => self.congested += now - since,
                None => self.congested_since = Some(now),
            }
        }
        loop {
            if self.closing && self.connected && !connection.is_closing() {
                connection.close(now);
            }
            let Some(event) = connection.poll_event() else {
                return;
            };
            match event {
                Event::Finished => self.finished |= !self.closing,
                Event::Closed => self.finished = true,
                Event::PeerClosed => self.closing = true,
                Event::Failed(_) => self.failed = true,
                Event::Connected => self.connected = true,
                Event::Readable | Event::Fallback | Event::NoEcn => {}
            }
        }
    }

    /// Whether everything written has been acknowledged, and the endpoint closed if the application has, since the last
    /// call.
    pub(crate) fn poll_finished(&mut self) -> bool {
        std::mem::take(&mut self.finished)
    }

    /// Adds bytes to the stream. A message that exceeds the send buffer is refused whole, and counted.
    pub(crate) fn write(&mut self, bytes: u64) {
        let (waiting, open) = match &self.state {
            State::Listening(listening) => (listening.written, true),
            State::Connected(connection) => (connection.unsent(), !connection.is_over()),
        };
        let fits = |room: Bytes| waiting.saturating_add(bytes) <= room.count();
        if !open || self.closing || !self.send_buffer.is_none_or(fits) {
            self.refused.messages += 1;
            self.refused.bytes += Bytes::new(bytes);
            return;
        }
        match &mut self.state {
            State::Listening(listening) => listening.written += bytes,
            State::Connected(connection) => connection.write(bytes),
        }
    }

    /// Unsent bytes behind which further ones change nothing; none where a limit refuses some.
    pub(crate) fn unseen(&self) -> u64 {
        match &self.state {
            State::Connected(connection) if self.send_buffer.is_none() => connection.unseen(),
            State::Connected(_) | State::Listening(_) => 0,
        }
    }

    pub(crate) fn stop(&mut self, now: Time) {
        match &mut self.state {
            State::Listening(listening) => listening.written = 0,
            State::Connected(connection) => connection.forget_unsent(),
        }
        self.settle(now);
    }

    pub(crate) fn close(&mut self, now: Time) {
        self.closing = true;
        self.settle(now);
    }

    /// Application bytes: acknowledged, in flight, and unsent.
    pub(crate) fn written(&self) -> u64 {
        match &self.state {
            State::Listening(listening) => listening.written,
            State::Connected(connection) => {
                connection.acknowledged_offset() + connection.unacknowledged()
            }
        }
    }

    pub(crate) fn delivered(&self) -> u64 {
        self.connection()
            .map_or(0, |connection| connection.stats().delivered)
    }

    pub(crate) fn refused(&self) -> Refused {
        self.refused
    }

    /// The counters at `now`.
    pub(crate) fn counters(&self, now: Time) -> UdtCounters {
        let lasting = self
            .congested_since
            .map(|since| now.saturating_since(since));
        UdtCounters {
            stats: self
                .connection()
                .map_or_else(Stats::default, |connection| *connection.stats()),
            congested: self.congested + lasting.unwrap_or(Span::ZERO),
            failed: self.failed,
        }
    }

    /// The connection, once there is one.
    pub(crate) fn connection(&self) -> Option<&Connection> {
        match &self.state {
            State::Connected(connection) => Some(connection),
            State::Listening(_) => None,
        }
    }
}

/// A packet of UDT: its header, and the loss list or handshake after it.
#[derive(Debug, Clone, Copy)]
struct UdtPacket<'a, H> {
    header: H,
    body: ControlBody<'a>,
}

impl Listening {
    /// Handles a handshake; returns the connection, if one is accepted.
    fn handle(&mut self, now: Time, header: &Header, request: &Handshake) -> Option<Connection> {
        // No address is forged here.
        let nowhere = PeerAddress {
            ip: [0; 16],
            port: 0,
        };
        match self.listener.handle(now, nowhere, header, request) {
            Response::Accept(incoming) => {
                let algorithm = self
                    .algorithm
                    .take()
                    .expect("a listener accepts one connection");
                let mut connection =
                    Connection::server(&self.config, algorithm, self.socket, &incoming, now);
                connection.write(self.written);
                Some(connection)
            }
            Response::Reply(packet, handshake) => {
                if let Content::Control(header) = packet.content {
                    self.reply = Some((header, handshake));
                }
                None
            }
            Response::Ignore => None,
        }
    }
}

/// Writes a control packet to `out`, as Not-ECT.
fn control(
    now: Time,
    UdtPacket { header, body }: UdtPacket<'_, ControlHeader>,
    dialect: Dialect,
    extras: &mut Extras,
    out: &mut Packet,
) -> Leaving {
    let packet = Header {
        timestamp: 0,
        destination: 0,
        content: Content::Control(header),
    };
    let ip_bytes = packet.wire_bytes(body, dialect) as u16 + IP_UDP_BYTES as u16;
    out.body = Body::UdtControl {
        words: words(&header, body),
        ip_bytes,
        place: extras.controls.store(UdtControl::new(header, body)),
        sent_at: now,
    };
    Leaving {
        payload: 0,
        headers: ip_bytes,
        ecn: Ecn::NotEct,
    }
}

/// Two words that differ between different control packets of a flow.
fn words(header: &ControlHeader, body: ControlBody<'_>) -> [u32; 2] {
    let observe = u32::from(header.observe) << 31;
    let body = match body {
        ControlBody::Empty => 0,
        ControlBody::Losses(losses) => fold(losses),
        ControlBody::Handshake(handshake) => handshake.cookie ^ handshake.kind as u32,
    };
    let (kind, value) = match header.control {
        Control::Handshake => (1, 0),
        Control::KeepAlive => (2, 0),
        Control::Ack {
            number, next, ece, ..
        } => (
            3 | u32::from(ece) << 3,
            next.word() ^ number.word().rotate_left(16),
        ),
        Control::LightAck { next } => (4, next.word()),
        Control::Nak => (5, 0),
        Control::Warning => (6, 0),
        Control::Shutdown { answers, gone } => (7, u32::from(answers) | u32::from(gone) << 1),
        Control::Ack2 { number } => (8, number.word()),
        Control::Drop { message, first, .. } => (9, message ^ first.word().rotate_left(16)),
        Control::ObserveChange { change } => (10, change),
        Control::ObserveChanged { change } => (11, change),
        Control::AccurateAck(ack) => (12, ack.next.word() ^ ack.counts.arrived.rotate_left(16)),
    };
    [header.number.word() ^ observe ^ kind << 24, value ^ body]
}

fn fold(losses: Losses<'_>) -> u32 {
    let fold = |sum: u32, NumberRange { first, last }| {
        sum.rotate_left(5) ^ first.word() ^ last.word().rotate_left(16)
    };
    losses.ranges().fold(0, fold)
}
