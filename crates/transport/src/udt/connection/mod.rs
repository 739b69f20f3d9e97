//! One endpoint of a UDT or DCUDP connection: joins handshake, congestion control, sender, receiver,
//! modes, timers, control packets and shutdown.
//!
//! Works with typed packets and lengths; the bytes are a layer around it ([`ByteConnection`]). Call
//! order: [`Connection::handle`], [`Connection::handle_timeout`] or an application call; then
//! [`Connection::poll_transmit`] until it returns `None`; then [`Connection::poll_event`] likewise;
//! [`Connection::poll_timeout`] last. [`Connection::body`] holds the body of the packet polled
//! last, until the next call.
//!
//! Leaves out: changing the peer's address, several paths, probing for the packet size.
//!
//! [`ByteConnection`]: super::ByteConnection

mod accurate;
mod agreement;
mod control;
mod control_packets;
mod events;
mod exp;
mod handshake;
mod incoming;
mod outgoing;
mod shutdown;
mod timers;

use incastle_congestion::{Algorithm, CongestionEvent, ControlState, Controller, Reaction};
use incastle_units::{Ecn, Rate, Span, Time};
use rand_core::Rng;

use super::backlog::Message;
use super::config::{Accurate, Config, Dcudp, Protocol};
use super::exit_rule::ExitRuleConfig;
use super::listener::Incoming;
use super::modes::Watch;
use super::reassembly::MessageRange;
use super::receiver::{Receiver, ReceiverSetup};
use super::rtt::Rtt;
use super::sender::{Sender, SenderSetup};
use super::sequence::Number;
use super::stats::Stats;
use super::wire::{ControlBody, Dialect, Handshake, HandshakeKind, Losses, NumberRange, Packet};
use crate::pacer::Lags;
pub use agreement::Identities;
use control::CongestionControl;
use control_packets::ControlPackets;
use events::Events;
pub use events::{Event, Failure};
use exp::Exp;
pub use handshake::Identity;
use handshake::{Agreement, Peering};
use shutdown::Shutdown;

/// A packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Its header.
    pub packet: Packet,
    /// The ECN field of its IP packet.
    pub ecn: Ecn,
    /// Whether it repeats data that were sent before.
    pub retransmission: bool,
    /// For data: the beginning of the payload in the application's data, in bytes.
    pub offset: u64,
}

/// The options of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageOptions {
    /// It is given up once this has passed. Absent: never.
    pub ttl: Option<Span>,
    /// Whether the peer's application takes it after all earlier ones.
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

/// The body of the packet polled last.
#[derive(Debug, Clone, Default)]
struct Attachment {
    nak: Vec<NumberRange>,
    handshake: Option<Handshake>,
}

impl Attachment {
    fn clear(&mut self) {
        self.nak.clear();
        self.handshake = None;
    }
}

/// The clock of a connection: time never runs back, even if the caller's clock does.
#[derive(Debug, Clone, Copy)]
struct Clock {
    begun: Time,
    now: Time,
}

impl Clock {
    fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// Microseconds since the connection began; wraps.
    fn timestamp(&self, now: Time) -> u32 {
        let us = now.saturating_since(self.begun).as_ps() / Span::from_us(1).as_ps();
        us as u32
    }
}

/// One endpoint of a connection.
pub struct Connection {
    config: Config,
    peering: Peering,
    control: CongestionControl,
    sender: Sender,
    receiver: Receiver,
    watch: Watch,
    rtt: Rtt,
    exp: Exp,
    clock: Clock,
    packets: ControlPackets,
    shutdown: Shutdown,
    events: Events,
    stats: Stats,
    /// For the packet polled last.
    attachment: Attachment,
}

impl Connection {
    /// The endpoint that opens a connection. Panics where [`Config::check`] finds a mistake.
    pub fn client(config: &Config, algorithm: Algorithm, identity: Identity, now: Time) -> Self {
        let peering = Peering::client(now, config, identity);
        Self::new(config, algorithm, peering, now)
    }

    /// One of two endpoints that open a connection to each other at about the same time.
    pub fn rendezvous(
        config: &Config,
        algorithm: Algorithm,
        identity: Identity,
        now: Time,
    ) -> Self {
        let peering = Peering::rendezvous(now, config, identity);
        Self::new(config, algorithm, peering, now)
    }

    /// The endpoint that a listener accepted, as `socket`.
    pub fn server(
        config: &Config,
        algorithm: Algorithm,
        socket: u32,
        incoming: &Incoming,
        now: Time,
    ) -> Self {
        let identity = Identity {
            socket,
            first: incoming.first,
        };
        let mut connection = Self::new(config, algorithm, Peering::server(identity), now);
        let response = Some(HandshakeKind::Response);
        connection.establish(now, &Agreement::unrequested(*incoming, response));
        connection
    }

    fn new(config: &Config, algorithm: Algorithm, peering: Peering, now: Time) -> Self {
        assert_eq!(config.check(), Ok(()), "a checked configuration");
        let first = peering.own().first;
        let payload = Config::payload_of(config.packet_size);
        let kind = config.socket_kind;
        let rule = match &config.protocol {
            Protocol::Udt => ExitRuleConfig::default(),
            Protocol::Dcudp(dcudp) => dcudp.exit_rule,
        };
        Self {
            config: *config,
            peering,
            control: CongestionControl::new(algorithm),
            sender: Sender::new(SenderSetup {
                first,
                dialect: Dialect::Udt,
                kind,
                payload,
                flow_window: config.flow_window,
                pairs: config.packet_pairs,
                lags: Lags {
                    late: config.burst_allowance,
                    paused: config.batch,
                },
                interface: config.interface,
                rate_limit: config.rate_limit,
                max_loss_ranges: config.max_loss_ranges,
            }),
            receiver: Receiver::new(ReceiverSetup {
                first,
                kind,
                payload,
                buffer: config.receive_buffer,
                reads_at_once: config.reads_at_once,
                max_loss_ranges: config.max_loss_ranges,
            }),
            watch: Watch::new(rule),
            rtt: Rtt::new(config.first_rtt),
            exp: Exp::new(now, &Rtt::new(config.first_rtt), config),
            clock: Clock { begun: now, now },
            packets: ControlPackets::new(first),
            shutdown: Shutdown::default(),
            events: Events::default(),
            stats: Stats::default(),
            attachment: Attachment::default(),
        }
    }

    /// The controller for peers that support UDT alone, and for paths that do not carry ECT. Without
    /// one a DCUDP endpoint keeps the controller that it has.
    #[must_use]
    pub fn with_fallback(mut self, algorithm: Algorithm) -> Self {
        self.control.set_fallback(algorithm);
        if self.is_established() && self.has_fallen_back() {
            self.control.fall_back();
            self.adapt();
        }
        self
    }

    /// Whether the peer does not support what this endpoint's controller needs.
    fn has_fallen_back(&self) -> bool {
        match &self.config.protocol {
            Protocol::Udt => self.config.accurate.is_some() && !self.peering.is_accurate(),
            Protocol::Dcudp(_) => !self.peering.speaks_dcudp(),
        }
    }

    /// Adds `bytes` to the stream; `u64::MAX / 2` and more is unlimited. Panics on a message socket and
    /// after [`Self::close`].
    pub fn write(&mut self, bytes: u64) {
        assert!(
            !self.shutdown.is_closing(),
            "an application writes before it closes"
        );
        self.sender.write(bytes);
        self.events.on_write(bytes);
    }

    /// The application has stopped: forgets all data that were never sent; a message that was begun
    /// goes on. Only for applications without bytes.
    pub fn forget_unsent(&mut self) {
        self.sender.forget_unsent();
        self.check_done();
    }

    /// Adds a message of `bytes`, at least 1 and at most [`Self::max_message`]. Panics on a stream
    /// socket, for another length and after [`Self::close`].
    pub fn write_message(&mut self, now: Time, bytes: u64, options: MessageOptions) {
        assert!(
            !self.shutdown.is_closing(),
            "an application writes before it closes"
        );
        let possible = 1..=self.sender.max_message();
        assert!(
            possible.contains(&bytes),
            "a message fits the peer's buffer"
        );
        let expires = |ttl| now.saturating_add(ttl);
        self.sender.write_message(Message {
            length: bytes,
            expires: options.ttl.map_or(Time::NEVER, expires),
            in_order: options.in_order,
        });
        self.events.on_write(bytes);
    }

    /// The longest message: the agreed flow window holds it whole. Settled once connected.
    pub const fn max_message(&self) -> u64 {
        self.sender.max_message()
    }

    /// Whether the application has closed.
    pub const fn is_closing(&self) -> bool {
        self.shutdown.is_closing()
    }

    /// The application has nothing more to send: its data are delivered, as long as the linger time
    /// allows, then a shutdown is sent.
    pub fn close(&mut self, now: Time) {
        if self.is_closing() || self.is_over() {
            return;
        }
        self.shutdown.close(now, self.config.linger);
        if self.peering.is_connecting() {
            self.end();
        } else {
            self.check_done();
        }
    }

    /// The application gives the connection up: nothing more is delivered, one shutdown is sent.
    pub fn abort(&mut self) {
        if self.is_over() {
            return;
        }
        self.shutdown.set_due(self.is_established());
        self.fail(Failure::Aborted(self.sender.unacknowledged()));
    }

    /// Packets of a stream that the application could take, where it does not read immediately.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// The application takes packets of a stream; at most [`Self::readable`].
    pub fn consume(&mut self, now: Time, packets: u64) {
        self.receiver.consume(now, packets, &mut self.stats);
    }

    /// The next complete message, where the application does not read immediately.
    pub fn next_message(&self) -> Option<MessageRange> {
        self.receiver.next_message()
    }

    /// The application takes the next complete message.
    pub fn take_message(&mut self, now: Time) -> Option<MessageRange> {
        self.receiver.take_message(now, &mut self.stats)
    }

    /// The next data packet expected: all before it have arrived, or were given up.
    pub fn next_expected(&self) -> Number {
        self.receiver.numbering.wire(self.receiver.next)
    }

    /// The first received packet that may still be read: earlier ones were taken, or given up.
    pub fn received_base(&self) -> u64 {
        self.receiver.base()
    }

    /// Everything below this offset of the application's data will never be sent again.
    pub fn acknowledged_offset(&self) -> u64 {
        self.sender.acknowledged_offset()
    }

    /// Bytes written and not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.sender.unacknowledged()
    }

    /// Bytes written and never sent.
    pub fn unsent(&self) -> u64 {
        self.sender.unsent()
    }

    /// As [`Self::unsent`]: bytes behind which further ones change nothing; none where each write counts.
    pub fn unseen(&self) -> u64 {
        if self.control.algorithm.heeds_writes() {
            return 0;
        }
        self.unsent()
    }

    /// The body of the packet that was polled last.
    pub fn body(&self) -> ControlBody<'_> {
        match &self.attachment.handshake {
            Some(handshake) => ControlBody::Handshake(handshake),
            None if self.attachment.nak.is_empty() => ControlBody::Empty,
            None => ControlBody::Losses(Losses::typed(&self.attachment.nak)),
        }
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.poll()
    }

    /// The layout of headers; settled once connected.
    pub const fn dialect(&self) -> Dialect {
        self.peering.dialect()
    }

    /// This endpoint's socket.
    pub const fn socket(&self) -> u32 {
        self.peering.own().socket
    }

    /// The peer's socket, once it is known.
    pub const fn peer_socket(&self) -> u32 {
        self.peering.peer_socket()
    }

    /// Bytes of payload in a full packet; settled once connected.
    pub const fn payload(&self) -> u16 {
        self.sender.payload()
    }

    /// The largest packet, IP and UDP headers included; settled once connected.
    pub const fn packet_size(&self) -> u32 {
        self.config.packet_size
    }

    /// Whether the application takes data as they come.
    pub const fn reads_at_once(&self) -> bool {
        self.config.reads_at_once
    }

    /// Counters.
    pub const fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(super) const fn stats_mut(&mut self) -> &mut Stats {
        &mut self.stats
    }

    /// The controller's state.
    pub fn control_state(&self) -> ControlState {
        self.control.algorithm.state()
    }

    /// The smoothed round-trip time.
    pub const fn smoothed_rtt(&self) -> Span {
        self.rtt.smoothed()
    }

    /// The rate at which packets arrive at the peer, by its reports, as payload.
    pub fn receiving_rate(&self) -> Option<Rate> {
        self.sender.estimates.receiving_rate(self.payload())
    }

    /// The path's capacity for UDT's control: the peer's measurement, as payload, at most the
    /// interface's rate; without a measurement that rate.
    pub fn path_capacity(&self) -> Option<Rate> {
        self.sender.estimates.path_capacity(self.payload())
    }

    /// Whether there is a peer.
    pub const fn is_established(&self) -> bool {
        self.peering.is_established()
    }

    /// DCUDP or accurate ACKs on a path that carries ECT, as far as is known.
    pub const fn carries_ect(&self) -> bool {
        self.control.ecn
    }

    /// OBS of this endpoint's packets as a sender: whether it is in congestion mode.
    pub const fn in_congestion_mode(&self) -> bool {
        self.control.mode.congested
    }

    /// OBS of the ACKs that this endpoint sends.
    pub fn observes_congestion(&self) -> bool {
        self.watch.observes()
    }

    /// Whether the connection failed, or is closed.
    pub const fn is_over(&self) -> bool {
        self.shutdown.has_ended() || self.peering.has_failed()
    }

    fn fail(&mut self, failure: Failure) {
        self.peering.fail();
        self.events.raise(Event::Failed(failure));
    }

    /// The peer gave the connection up: nothing will be acknowledged any more.
    fn lose_peer(&mut self) {
        match self.sender.unacknowledged() {
            0 => self.end(),
            left => self.fail(Failure::Gone(left)),
        }
    }

    fn end(&mut self) {
        if self.shutdown.end() {
            self.events.raise(Event::Closed);
        }
    }

    /// After an acknowledgement or a close: whether all is delivered.
    fn check_done(&mut self) {
        if self.sender.is_done() {
            self.events.finish();
            self.shutdown.on_delivered();
        }
    }

    fn dcudp(&self) -> Option<&Dcudp> {
        match &self.config.protocol {
            Protocol::Dcudp(dcudp) if self.peering.speaks_dcudp() => Some(dcudp),
            _ => None,
        }
    }

    fn accurate(&self) -> Option<&Accurate> {
        let accurate = self.config.accurate.as_ref();
        accurate.filter(|_| self.peering.is_accurate())
    }

    /// C, where it is configured. UDT's control uses the path's, which is measured.
    fn capacity(&self) -> Option<Rate> {
        self.dcudp()
            .filter(|_| self.control.ecn)
            .map(|dcudp| dcudp.capacity)
    }

    /// The controller has reacted to something: follow its mode.
    fn follow_mode(&mut self, now: Time) {
        if self.peering.speaks_dcudp() {
            self.stats.congestion_modes += u64::from(self.control.follow(now));
        }
    }

    /// The fallback's controller takes over.
    fn fall_back(&mut self, event: Event) {
        self.control.fall_back();
        self.adapt();
        // From these the peer measures the capacity that UDT's control works with.
        self.sender.send_pairs();
        self.events.raise(event);
    }

    fn report(&mut self, now: Time, event: CongestionEvent, rng: &mut dyn Rng) -> Reaction {
        let (rtt, capacity) = (self.rtt.smoothed(), self.capacity());
        let mut cx = self.sender.context(now, rtt, capacity, rng);
        let reaction = self.control.algorithm.on_congestion(&mut cx, event);
        self.sender.cwr_due |= reaction == Reaction::Reduced && self.control.ecn;
        self.follow_mode(now);
        reaction
    }
}
