//! A connection whose peer is written by hand, packet by packet.

use std::ops::RangeInclusive;

use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Context, ControlState, Controller, Reaction, Window,
};
use incastle_transport::udt::wire::{
    AckReport, Content, Control, ControlBody, ControlHeader, DataHeader, Dialect, Extension,
    Handshake, HandshakeKind, Losses, NumberRange, Packet, Place, SocketKind,
};
use incastle_transport::udt::{
    Config, Connection, Event, Identity, Number, Protocol, Received, Transmit,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::net::{law, udt_law};

/// The client's socket and first number, and the peer's socket. Both directions begin at 100.
pub(crate) const SOCKET: u32 = 7;
pub(crate) const PEER: u32 = 9;
pub(crate) const FIRST: u32 = 100;

/// A controller with a fixed rate and window.
pub(crate) struct Fixed {
    pub(crate) rate: Option<Rate>,
    pub(crate) packets: u64,
    pub(crate) payload: u64,
}

impl Controller for Fixed {
    fn on_ack(&mut self, _cx: &mut Context<'_>, ack: &AckSample<'_>) {
        assert_eq!(
            (ack.hops, ack.hop_count, ack.remote_delay),
            (&[][..], None, None),
            "UDT has no telemetry"
        );
    }

    fn on_congestion(&mut self, _cx: &mut Context<'_>, _event: CongestionEvent) -> Reaction {
        Reaction::Ignored
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new(self.packets * self.payload))
    }

    fn pacing(&self) -> Option<Rate> {
        self.rate
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

/// A packet that left: content, ECN field, and the losses of a NAK.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) transmit: Transmit,
    pub(crate) losses: Vec<RangeInclusive<u32>>,
}

pub(crate) struct Hand {
    pub(crate) connection: Connection,
    pub(crate) now: Time,
    pub(crate) start: Time,
    rng: Xoshiro256PlusPlus,
    controls: u64,
}

pub(crate) fn number(word: u32) -> Number {
    Number::from_word(word)
}

/// The peer's response to a request of ours.
pub(crate) fn response(config: &Config, kind: HandshakeKind) -> Handshake {
    let dcudp = matches!(config.protocol, Protocol::Dcudp(_));
    Handshake {
        version: 4,
        socket_kind: config.socket_kind,
        first: number(FIRST),
        packet_size: config.packet_size,
        flow_window: 10_000,
        kind,
        socket: PEER,
        cookie: 77,
        peer: [0; 4],
        extension: match config.accurate {
            Some(accurate) if !dcudp => Some(Extension::AccurateAnswer {
                socket: PEER,
                rate: accurate.rate,
            }),
            _ => dcudp.then_some(Extension::Answer { socket: PEER }),
        },
    }
}

pub(crate) fn handshake_packet(destination: u32) -> Packet {
    Packet {
        timestamp: 0,
        destination,
        content: Content::Control(ControlHeader {
            observe: false,
            number: number(0),
            control: Control::Handshake,
        }),
    }
}

/// An expired timer waits for nothing, not for a poll either. Otherwise a caller that cannot send
/// now, and so does not poll, would be called again and again.
pub(crate) fn assert_ahead(timeout: Option<Time>, now: Time) {
    assert!(timeout.is_none_or(|at| at > now), "{timeout:?} at {now:?}");
}

/// The header of a packet that is a message alone.
pub(crate) fn data(sequence: u32, length: u16) -> DataHeader {
    DataHeader {
        sequence: number(sequence),
        message: 1,
        place: Place::Only,
        in_order: true,
        observe: false,
        cwr: false,
        length,
    }
}

impl Hand {
    /// A client that has not sent anything.
    pub(crate) fn asking(config: &Config, algorithm: Algorithm) -> Self {
        let identity = Identity {
            socket: SOCKET,
            first: number(FIRST),
        };
        let connection = Connection::client(config, algorithm, identity, Time::ZERO);
        Self {
            connection: connection.with_fallback(udt_law(config)),
            now: Time::ZERO,
            start: Time::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            controls: 0,
        }
    }

    /// A client whose handshake took 100 us in each direction. Its clock begins when it is connected.
    pub(crate) fn with(config: &Config, algorithm: Algorithm) -> Self {
        let mut hand = Self::asking(config, algorithm);
        for kind in [HandshakeKind::Request, HandshakeKind::Response] {
            assert_eq!(hand.poll().len(), 1);
            hand.now += Span::from_us(100);
            hand.handshake(&response(config, kind));
        }
        assert_eq!(hand.connection.poll_event(), Some(Event::Connected));
        hand.start = hand.now;
        // The keep-alive of a DCUDP client.
        hand.poll();
        hand
    }

    pub(crate) fn new(config: &Config) -> Self {
        Self::with(config, law(config))
    }

    /// With a controller of fixed rate and window.
    pub(crate) fn fixed(config: &Config, rate: Option<Rate>, packets: u64) -> Self {
        let payload = u64::from(Config::payload_of(config.packet_size));
        let fixed = Fixed {
            rate,
            packets,
            payload,
        };
        Self::with(config, Algorithm::Custom(Box::new(fixed)))
    }

    pub(crate) fn handshake(&mut self, handshake: &Handshake) {
        let packet = handshake_packet(SOCKET);
        let body = ControlBody::Handshake(handshake);
        self.handle(&packet, body, Ecn::NotEct);
    }

    pub(crate) fn handle(
        &mut self,
        packet: &Packet,
        body: ControlBody<'_>,
        received: impl Into<Received>,
    ) {
        self.connection
            .handle(self.now, packet, body, received, &mut self.rng);
    }

    /// Moves on to `us` microseconds after the connection was made, firing timers until then.
    pub(crate) fn go(&mut self, us: u64) -> &mut Self {
        self.go_to(self.start + Span::from_us(us));
        self
    }

    pub(crate) fn go_to(&mut self, until: Time) {
        self.now = until;
        if self.connection.poll_timeout().is_some_and(|at| at <= until) {
            self.connection.handle_timeout(until, &mut self.rng);
            assert_ahead(self.connection.poll_timeout(), until);
        }
    }

    /// The next timer, in microseconds after the connection was made.
    pub(crate) fn timer_us(&self) -> u64 {
        let at = self.connection.poll_timeout().expect("a timer");
        at.saturating_since(self.start).as_ps() / 1_000_000
    }

    /// All that leaves now.
    pub(crate) fn poll(&mut self) -> Vec<Sent> {
        std::iter::from_fn(|| self.poll_one()).collect()
    }

    /// All packets that leave now; checks `is_quiet` before each poll.
    pub(crate) fn poll_unless_quiet(&mut self) -> Vec<Sent> {
        let one = || {
            let quiet = self.connection.is_quiet(self.now);
            if quiet { None } else { self.poll_one() }
        };
        std::iter::from_fn(one).collect()
    }

    fn poll_one(&mut self) -> Option<Sent> {
        let transmit = self.connection.poll_transmit(self.now, &mut self.rng)?;
        let losses = match self.connection.body() {
            ControlBody::Losses(losses) => losses
                .ranges()
                .map(|range| range.first.word()..=range.last.word())
                .collect(),
            _ => Vec::new(),
        };
        Some(Sent { transmit, losses })
    }

    /// The control packets that leave now; there must be no data.
    pub(crate) fn controls(&mut self) -> Vec<Control> {
        let header = |sent: Sent| match sent.transmit.packet.content {
            Content::Control(header) => header.control,
            Content::Data(header) => panic!("data {header:?}"),
        };
        self.poll().into_iter().map(header).collect()
    }

    /// The headers of what leaves now.
    pub(crate) fn headers(&mut self) -> (Vec<ControlHeader>, Vec<DataHeader>) {
        let (mut controls, mut data) = (Vec::new(), Vec::new());
        for sent in self.poll() {
            match sent.transmit.packet.content {
                Content::Control(header) => controls.push(header),
                Content::Data(header) => data.push(header),
            }
        }
        (controls, data)
    }

    /// The numbers of the data packets that leave now; control packets are dropped.
    pub(crate) fn data(&mut self) -> Vec<u32> {
        let (_, data) = self.headers();
        data.iter().map(|header| header.sequence.word()).collect()
    }

    /// The peer sends a control packet.
    pub(crate) fn control(&mut self, control: Control) {
        self.observing(control, false);
    }

    /// The same, with OBS.
    pub(crate) fn observing(&mut self, control: Control, observe: bool) {
        let packet = self.control_packet(control, observe);
        self.handle(&packet, ControlBody::Empty, Ecn::NotEct);
    }

    /// A control packet of the peer's, numbered in the order of making.
    pub(crate) fn control_packet(&mut self, control: Control, observe: bool) -> Packet {
        let number = match self.connection.dialect() {
            Dialect::Udt | Dialect::Accurate => number(0),
            Dialect::Dcudp => number(FIRST).plus(self.controls),
        };
        self.controls += 1;
        Packet {
            timestamp: 0,
            destination: SOCKET,
            content: Content::Control(ControlHeader {
                observe,
                number,
                control,
            }),
        }
    }

    /// The peer reports losses.
    pub(crate) fn nak(&mut self, ranges: &[RangeInclusive<u32>]) {
        let range = |range: &RangeInclusive<u32>| NumberRange {
            first: number(*range.start()),
            last: number(*range.end()),
        };
        let ranges: Vec<NumberRange> = ranges.iter().map(range).collect();
        let packet = self.control_packet(Control::Nak, false);
        self.handle(
            &packet,
            ControlBody::Losses(Losses::typed(&ranges)),
            Ecn::NotEct,
        );
    }

    /// The peer sends a full packet with that number.
    pub(crate) fn arrive(&mut self, sequence: u32, received: impl Into<Received>) {
        self.arrive_with(data(sequence, 1000), received);
    }

    pub(crate) fn arrive_with(&mut self, header: DataHeader, received: impl Into<Received>) {
        let packet = Packet {
            timestamp: 0,
            destination: SOCKET,
            content: Content::Data(header),
        };
        self.handle(&packet, ControlBody::Empty, received);
    }

    pub(crate) fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.connection.poll_event()).collect()
    }
}

/// The shutdown of an endpoint that was given up.
pub(crate) const GONE: Control = Control::Shutdown {
    answers: false,
    gone: true,
};

/// The shutdown of an endpoint that closes.
pub(crate) fn shutdown(answers: bool) -> Control {
    let gone = false;
    Control::Shutdown { answers, gone }
}

/// A full ACK of the peer's.
pub(crate) fn ack(own: u32, next: u32) -> Control {
    ack_with(own, next, 10_000, false)
}

pub(crate) fn ack_with(own: u32, next: u32, free_packets: u32, ece: bool) -> Control {
    Control::Ack {
        number: number(own),
        next: number(next),
        ece,
        not_ect: false,
        report: AckReport {
            rtt_us: 100,
            variance_us: 10,
            free_packets,
            receiving_packets_per_s: 0,
            capacity_packets_per_s: 0,
        },
    }
}

/// A simulated endpoint's configuration: the application reads immediately.
pub(crate) fn udt() -> Config {
    Config::default()
}

pub(crate) fn dcudp() -> Config {
    Config::dcudp(crate::udt::net::mbit(1_000))
}

pub(crate) fn messages(config: Config) -> Config {
    Config {
        socket_kind: SocketKind::Message,
        ..config
    }
}

/// The content of a full ACK: its number, the next packet expected, free packets.
pub(crate) fn ack_content(control: &Control) -> (u32, u32, u32) {
    match control {
        Control::Ack {
            number,
            next,
            report,
            ..
        } => (number.word(), next.word(), report.free_packets),
        other => panic!("an ACK, not {other:?}"),
    }
}
