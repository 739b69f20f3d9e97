//! One end of a UDT or DCUDP connection: joins handshake, sender, receiver, modes and timers.
//!
//! Works with typed packets and lengths; the bytes are a layer around it ([`ByteConnection`]).
//! Call order: [`Connection::handle`], [`Connection::handle_timeout`] or an application call, then
//! [`Connection::poll_transmit`] until it gives `None` (what a packet needs beside it is in
//! [`Connection::beside`] until the next call), [`Connection::poll_event`] likewise, and
//! [`Connection::poll_timeout`] last.
//!
//! Leaves out: changing the peer's address, several paths, probing for the packet size.
//!
//! [`ByteConnection`]: super::ByteConnection

mod established;
mod handshake;
mod incoming;
mod outgoing;
mod timers;

use std::collections::VecDeque;

use incastle_congestion::{Algorithm, ControlState, Controller, Reaction, TransmissionMode};
use incastle_units::{Ecn, Rate, Span, Time};
use rand_core::Rng;

use super::config::{Config, Dcudp, Protocol};
use super::control_window::ControlWindow;
use super::exit_rule::ExitRuleConfig;
use super::listener::Incoming;
use super::modes::{SenderMode, Watch};
use super::reassembly::MessageRange;
use super::receiver::{Receiver, ReceiverSetup};
use super::rtt::Rtt;
use super::sender::{Sender, SenderSetup};
use super::sequence::{Number, Numbering};
use super::stats::Stats;
use super::wire::{Beside, Dialect, Handshake, Losses, NumberRange, Packet, SocketKind};
use crate::pacer::Lags;
use handshake::State;
use timers::Exp;

/// Who an endpoint is. Both numbers must be random where peers are not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Its socket, from 1 to 2^31 - 1: the library delivers to no other.
    pub socket: u32,
    /// The number of its first data packet. A server uses its client's instead.
    pub first: Number,
}

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// Nobody answered the handshake.
    NoAnswer,
    /// The peer refused: another version or kind of socket, or an impossible packet size.
    Refused,
    /// The peer said nothing for too long; so many bytes were not acknowledged.
    Silent(u64),
    /// The linger time of a closed connection ran out; so many bytes were not acknowledged.
    Linger(u64),
    /// The application gave it up; so many bytes were not acknowledged.
    Aborted(u64),
    /// The peer gave it up; so many bytes were not acknowledged.
    Gone(u64),
}

/// What the application may want to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Data can flow.
    Connected,
    /// DCUDP was wanted, but the peer speaks UDT alone: that is spoken, under the fallback's control.
    Fallback,
    /// The path does not carry ECT: the fallback controls from here on.
    NoEcn,
    /// Data, or a complete message, can be taken. Comes again with what arrives later.
    Readable,
    /// Everything written is acknowledged. Comes again after each further write.
    Finished,
    /// The peer closed.
    PeerClosed,
    /// This end is closed, and everything was delivered: the connection may be forgotten.
    Closed,
    /// The connection is over.
    Failed(Failure),
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Its header.
    pub packet: Packet,
    /// The ECN field of its IP packet.
    pub ecn: Ecn,
    /// Whether it repeats data that were sent before.
    pub retransmission: bool,
    /// Of data: where the payload begins in what the application wrote, in bytes.
    pub offset: u64,
}

/// The end of a connection, once the application has asked for it.
#[derive(Debug, Clone, Copy)]
struct Closing {
    /// Until when data are delivered, or NEVER.
    until: Time,
    shutdown_sent: bool,
}

/// One end of a connection.
pub struct Connection {
    config: Config,
    dialect: Dialect,
    socket: u32,
    peer_socket: u32,
    state: State,
    algorithm: Algorithm,
    fallback: Option<Box<Algorithm>>,
    sender: Sender,
    receiver: Receiver,
    rtt: Rtt,
    /// Whether a round trip was measured.
    rtt_known: bool,
    mode: SenderMode,
    watch: Watch,
    /// DCUDP on a path that carries ECT, as far as is known.
    ecn: bool,
    begun: Time,
    now: Time,
    /// Numbers of our control packets, and how many there were.
    control_out: Numbering,
    controls_sent: u64,
    control_in: ControlWindow,
    /// The newest full ACK.
    newest_ack: Option<Number>,
    exp: Exp,
    ack2s: VecDeque<Number>,
    keep_alive_due: bool,
    shutdown_due: bool,
    closing: Option<Closing>,
    peer_closed: bool,
    ended: bool,
    /// Something was written that Finished has not answered.
    unfinished: bool,
    events: VecDeque<Event>,
    stats: Stats,
    /// What lies beside the packet polled last.
    nak: Vec<NumberRange>,
    handshake_out: Option<Handshake>,
}

impl Connection {
    /// The end that opens a connection. Panics where [`Config::check`] finds a mistake.
    pub fn client(config: &Config, algorithm: Algorithm, identity: Identity, now: Time) -> Self {
        let state = State::asking(now, config, identity);
        Self::new(config, algorithm, identity, (state, now))
    }

    /// One of two ends that open a connection to each other at about the same time.
    pub fn rendezvous(
        config: &Config,
        algorithm: Algorithm,
        identity: Identity,
        now: Time,
    ) -> Self {
        let state = State::meeting(now, config, identity);
        Self::new(config, algorithm, identity, (state, now))
    }

    /// The end that a listener accepted, as `socket`.
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
        let mut connection = Self::new(config, algorithm, identity, (State::Answering, now));
        connection.accept(incoming, now);
        connection
    }

    fn new(
        config: &Config,
        algorithm: Algorithm,
        identity: Identity,
        (state, now): (State, Time),
    ) -> Self {
        assert_eq!(config.check(), Ok(()), "a checked configuration");
        let sockets = 1..1 << 31;
        assert!(
            sockets.contains(&identity.socket),
            "a socket is a positive number of 31 bits"
        );
        let payload = Config::payload_of(config.packet_size);
        let stream = config.socket_kind == SocketKind::Stream;
        let rule = match &config.protocol {
            Protocol::Udt => ExitRuleConfig::default(),
            Protocol::Dcudp(dcudp) => dcudp.exit_rule,
        };
        Self {
            dialect: Dialect::Udt,
            socket: identity.socket,
            peer_socket: 0,
            state,
            algorithm,
            fallback: None,
            sender: Sender::new(SenderSetup {
                first: identity.first,
                dialect: Dialect::Udt,
                stream,
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
                first: identity.first,
                stream,
                payload,
                buffer: config.receive_buffer,
                reads_at_once: config.reads_at_once,
                max_loss_ranges: config.max_loss_ranges,
            }),
            rtt: Rtt::new(config.first_rtt),
            rtt_known: false,
            mode: SenderMode::default(),
            watch: Watch::new(rule),
            ecn: false,
            begun: now,
            now,
            control_out: Numbering::new(identity.first),
            controls_sent: 0,
            control_in: ControlWindow::new(identity.first),
            newest_ack: None,
            exp: Exp::new(now, &Rtt::new(config.first_rtt), config),
            ack2s: VecDeque::new(),
            keep_alive_due: false,
            shutdown_due: false,
            closing: None,
            peer_closed: false,
            ended: false,
            unfinished: false,
            events: VecDeque::new(),
            stats: Stats::default(),
            nak: Vec::new(),
            handshake_out: None,
            config: *config,
        }
    }

    /// The controller for peers that speak UDT alone, and for paths that do not carry ECT. Without one
    /// a DCUDP end keeps the controller that it has.
    #[must_use]
    pub fn with_fallback(mut self, algorithm: Algorithm) -> Self {
        self.fallback = Some(Box::new(algorithm));
        self.begin_fallback_if_needed();
        self
    }

    /// Adds `bytes` to the stream; `u64::MAX / 2` and more is unlimited. Panics on a message socket and
    /// after [`Self::close`].
    pub fn write(&mut self, bytes: u64) {
        assert!(
            self.closing.is_none(),
            "an application writes before it closes"
        );
        self.sender.write(bytes);
        self.unfinished |= bytes > 0;
    }

    /// The application has stopped: forgets all data that were never sent; a message that was begun
    /// goes on. Only for applications without bytes.
    pub fn forget_unsent(&mut self) {
        self.sender.forget_unsent();
        self.check_done();
    }

    /// Adds a message of `bytes`, at least 1 and at most [`Self::max_message`]. It is given up once
    /// `ttl` has passed. One that is not `in_order` may be taken before earlier ones. Panics on a stream
    /// socket, for such a length and after [`Self::close`].
    pub fn write_message(&mut self, now: Time, bytes: u64, ttl: Option<Span>, in_order: bool) {
        assert!(
            self.closing.is_none(),
            "an application writes before it closes"
        );
        let possible = 1..=self.sender.max_message();
        assert!(
            possible.contains(&bytes),
            "a message fits the peer's buffer"
        );
        let expires = ttl.map_or(Time::NEVER, |ttl| now.saturating_add(ttl));
        self.sender.write_message(bytes, expires, in_order);
        self.unfinished = true;
    }

    /// The longest message: what was agreed as flow window holds it whole. Settled once connected.
    pub const fn max_message(&self) -> u64 {
        self.sender.max_message()
    }

    /// Whether the application has closed.
    pub const fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// The application has nothing more to say: what it wrote is delivered, as long as the linger time
    /// allows, then the peer is told.
    pub fn close(&mut self, now: Time) {
        if self.closing.is_some() || self.is_over() {
            return;
        }
        let until = self
            .config
            .linger
            .map_or(Time::NEVER, |linger| now.saturating_add(linger));
        self.closing = Some(Closing {
            until,
            shutdown_sent: false,
        });
        if self.state.is_connecting() {
            self.end();
        } else {
            self.check_done();
        }
    }

    /// The application gives the connection up: nothing more is delivered, the peer is told once.
    pub fn abort(&mut self) {
        if self.is_over() {
            return;
        }
        self.shutdown_due = matches!(self.state, State::Established(_));
        self.fail(Failure::Aborted(self.sender.unacknowledged()));
    }

    /// Packets of a stream that the application could take, where it does not read at once.
    pub fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    /// The application takes packets of a stream; at most [`Self::readable`].
    pub fn consume(&mut self, now: Time, packets: u64) {
        self.receiver.consume(now, packets, &mut self.stats);
    }

    /// The next complete message, where the application does not read at once.
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

    /// The first received packet that may still be asked for: what lies before was taken, or given up.
    pub fn received_base(&self) -> u64 {
        self.receiver.base()
    }

    /// Everything below this offset of what the application wrote will never be sent again.
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

    /// What lies beside the packet that was polled last.
    pub fn beside(&self) -> Beside<'_> {
        match &self.handshake_out {
            Some(handshake) => Beside::Handshake(handshake),
            None if self.nak.is_empty() => Beside::Nothing,
            None => Beside::Losses(Losses::typed(&self.nak)),
        }
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// How headers are laid out; settled once connected.
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// This end's socket.
    pub const fn socket(&self) -> u32 {
        self.socket
    }

    /// The peer's socket, once it is known.
    pub const fn peer_socket(&self) -> u32 {
        self.peer_socket
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
        self.algorithm.state()
    }

    /// The smoothed round-trip time.
    pub const fn smoothed_rtt(&self) -> Span {
        self.rtt.smoothed()
    }

    /// At which rate packets arrive at the peer, by what it reports, as payload.
    pub fn receiving_rate(&self) -> Option<Rate> {
        self.sender.estimates.receiving_rate(self.payload())
    }

    /// The path's capacity as UDT's control takes it: what the peer measured, as payload, at most the
    /// interface's rate; else that.
    pub fn path_capacity(&self) -> Option<Rate> {
        self.sender.estimates.path_capacity(self.payload())
    }

    /// Whether there is a peer.
    pub const fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    /// DCUDP on a path that carries ECT, as far as is known.
    pub const fn carries_ect(&self) -> bool {
        self.ecn
    }

    /// OBS of what this end sends as a sender: whether it is in congestion mode.
    pub const fn in_congestion_mode(&self) -> bool {
        self.mode.congested
    }

    /// OBS of the ACKs that this end sends.
    pub fn observes_congestion(&self) -> bool {
        self.watch.observes()
    }

    /// Whether the connection failed, or is closed.
    pub const fn is_over(&self) -> bool {
        self.ended || matches!(self.state, State::Failed)
    }

    fn raise(&mut self, event: Event) {
        // Events about data tell no more the second time.
        if !self.events.contains(&event) {
            self.events.push_back(event);
        }
    }

    fn fail(&mut self, failure: Failure) {
        self.state = State::Failed;
        self.raise(Event::Failed(failure));
    }

    /// The peer gave the connection up: nothing will be acknowledged any more.
    fn lose_peer(&mut self) {
        match self.sender.unacknowledged() {
            0 => self.end(),
            left => self.fail(Failure::Gone(left)),
        }
    }

    fn end(&mut self) {
        if !self.ended {
            self.ended = true;
            self.raise(Event::Closed);
        }
    }

    /// After an acknowledgement or a close: whether all is delivered.
    fn check_done(&mut self) {
        if !self.sender.is_done() {
            return;
        }
        if std::mem::take(&mut self.unfinished) {
            self.raise(Event::Finished);
        }
        if let Some(closing) = &self.closing
            && !closing.shutdown_sent
        {
            self.shutdown_due = true;
        }
    }

    fn dcudp(&self) -> Option<&Dcudp> {
        match &self.config.protocol {
            Protocol::Dcudp(dcudp) if self.dialect == Dialect::Dcudp => Some(dcudp),
            _ => None,
        }
    }

    /// C, where it is configured. UDT's control wants the path's, which is measured.
    fn capacity(&self) -> Option<Rate> {
        self.dcudp()
            .filter(|_| self.ecn)
            .map(|dcudp| dcudp.capacity)
    }

    /// Time never runs back, whatever the caller's clock does.
    fn advance(&mut self, now: Time) -> Time {
        self.now = self.now.max(now);
        self.now
    }

    /// The controller was told of something: follow its mode.
    fn follow_mode(&mut self, now: Time) {
        if self.dialect != Dialect::Dcudp {
            return;
        }
        let congested = self.algorithm.state().mode == Some(TransmissionMode::Congestion);
        if self.mode.set(now, congested) {
            self.stats.congestion_modes += u64::from(congested);
        }
    }

    fn heed(&mut self, now: Time, reaction: Reaction) {
        self.sender.cwr_due |= reaction == Reaction::Reduced && self.ecn;
        self.follow_mode(now);
    }

    /// The fallback's controller takes over.
    fn fall_back(&mut self, event: Event) {
        if let Some(fallback) = self.fallback.take() {
            self.algorithm = *fallback;
        }
        // From these the peer measures the capacity that UDT's control works with.
        self.sender.send_pairs();
        self.raise(event);
    }

    fn begin_fallback_if_needed(&mut self) {
        let plain = matches!(self.state, State::Established(_)) && self.dialect == Dialect::Udt;
        if plain
            && matches!(self.config.protocol, Protocol::Dcudp(_))
            && let Some(fallback) = self.fallback.take()
        {
            self.algorithm = *fallback;
        }
    }

    fn report(
        &mut self,
        now: Time,
        event: incastle_congestion::CongestionEvent,
        rng: &mut dyn Rng,
    ) -> Reaction {
        let (rtt, capacity) = (self.rtt.smoothed(), self.capacity());
        let mut cx = self.sender.context(now, rtt, capacity, rng);
        let reaction = self.algorithm.on_congestion(&mut cx, event);
        self.heed(now, reaction);
        reaction
    }
}
