//! Two endpoints and the network between them: a bottleneck with a queue and a marking threshold, and a
//! wire. The wire loses, repeats, delays, injects garbage and falls silent. Everything follows from one
//! seed.

use std::collections::BTreeMap;

use incastle_congestion::{
    Algorithm, Dcudp as DcudpLaw, DcudpConfig, LossInUdpMode, NamedController, Udt as UdtLaw,
    UdtConfig,
};
use incastle_transport::udt::wire::{Dialect, View, parse};
use incastle_transport::udt::{
    Accurate, ByteConnection, Config, Connection, Event, Identity, Listener, Number, PeerAddress,
    Response,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::hand::assert_ahead;

pub(crate) const CLIENT: PeerAddress = PeerAddress {
    ip: [1; 16],
    port: 4000,
};
pub(crate) const KEY: [u8; 16] = *b"a secret of ours";

/// A rate of whole megabits per second.
pub(crate) fn mbit(count: u64) -> Rate {
    Rate::from_bits_per_second(count * 1_000_000)
}

/// UDT, for sockets.
pub(crate) fn udt_config() -> Config {
    Config {
        reads_at_once: false,
        ..Config::default()
    }
}

/// DCUDP at 1 Gbit/s, for sockets.
pub(crate) fn dcudp_config() -> Config {
    Config {
        reads_at_once: false,
        ..Config::dcudp(mbit(1_000))
    }
}

/// The native control of UDT.
pub(crate) fn udt_law(config: &Config) -> Algorithm {
    let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
    Algorithm::Udt(UdtLaw::new(UdtConfig { packet }))
}

/// DCUDP's law; a NAK begins congestion mode too.
pub(crate) fn dcudp_law(config: &Config) -> Algorithm {
    let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
    let law = DcudpConfig {
        loss_in_udp_mode: LossInUdpMode::CongestionMode,
        ..DcudpConfig::new(packet, mbit(1_000))
    };
    Algorithm::from(DcudpLaw::new(law))
}

/// DCTCP's sender, where data are ECN-capable, else BBR.
fn window_law(config: &Config) -> Algorithm {
    let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
    let capable = config.accurate.is_some_and(|it| it.ecn != Ecn::NotEct);
    let named = if capable {
        NamedController::Dctcp
    } else {
        NamedController::Bbr
    };
    named.algorithm(packet)
}

/// Accurate ACKs at the default rate, with DCTCP, for sockets.
pub(crate) fn accurate_config() -> Config {
    Config {
        accurate: Some(Accurate::default()),
        exp_floor: Span::from_ms(10),
        ..udt_config()
    }
}

/// The controller that belongs to a configuration, with UDT's to fall back to.
pub(crate) fn law(config: &Config) -> Algorithm {
    match config.protocol {
        incastle_transport::udt::Protocol::Udt if config.accurate.is_some() => window_law(config),
        incastle_transport::udt::Protocol::Udt => udt_law(config),
        incastle_transport::udt::Protocol::Dcudp(_) => dcudp_law(config),
    }
}

/// The network's treatment of each packet, in parts of a thousand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) loss: u64,
    pub(crate) duplication: u64,
    pub(crate) garbage: u64,
    /// The minimum one-way delay.
    pub(crate) delay: Span,
    /// Up to this much more, at random: packets overtake each other.
    pub(crate) jitter: Span,
    /// The bottleneck's rate.
    pub(crate) rate: Rate,
    /// Packets of 1500 bytes that its queue holds.
    pub(crate) queue: u64,
    /// Packets above which it marks.
    pub(crate) threshold: u64,
    /// Packets that are marked at random, in parts of a thousand.
    pub(crate) marking: u64,
    /// Whether it clears ECT instead.
    pub(crate) bleaches: bool,
}

impl Default for Path {
    fn default() -> Self {
        Self {
            loss: 0,
            duplication: 0,
            garbage: 0,
            delay: Span::from_us(50),
            jitter: Span::ZERO,
            rate: mbit(1_000),
            queue: 100,
            threshold: 15,
            marking: 0,
            bleaches: false,
        }
    }
}

/// One of the two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// One endpoint: its connection, its clock's lead, what it has seen.
pub(crate) struct Endpoint {
    pub(crate) connection: Option<ByteConnection>,
    listener: Option<Listener>,
    config: Config,
    /// Its controller, where that is not `law`'s.
    named: Option<NamedController>,
    /// The lead of its clock.
    pub(crate) lead: Span,
    pub(crate) events: Vec<Event>,
    accepted: Option<u32>,
    busy_until: Time,
    identity: u32,
}

/// The world.
pub(crate) struct Net {
    pub(crate) now: Time,
    pub(crate) path: Path,
    pub(crate) a: Endpoint,
    pub(crate) b: Endpoint,
    /// By instant and order of sending.
    wire: BTreeMap<(Time, u64), (Side, Vec<u8>, Ecn)>,
    sent: u64,
    rng: Xoshiro256PlusPlus,
    /// Nothing passes.
    pub(crate) dark: bool,
    /// A digest of every datagram: the same seed gives the same.
    pub(crate) digest: u64,
}

impl Endpoint {
    fn new(config: &Config, identity: u32) -> Self {
        Self {
            connection: None,
            listener: None,
            config: *config,
            named: None,
            lead: Span::ZERO,
            events: Vec::new(),
            accepted: None,
            busy_until: Time::ZERO,
            identity,
        }
    }

    pub(crate) fn core(&self) -> &Connection {
        self.connection.as_ref().expect("a connection").core()
    }

    pub(crate) fn has(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    /// Its process ends, and another one listens.
    pub(crate) fn die_and_listen(&mut self) {
        self.connection = None;
        self.accepted = None;
        self.identity += 1000;
        self.listener = Some(Listener::new(&self.config, KEY));
    }
}

impl Net {
    fn empty(seed: u64, path: Path, a: &Config, b: &Config) -> Self {
        Self {
            now: Time::ZERO,
            path,
            a: Endpoint::new(a, 11),
            b: Endpoint::new(b, 22),
            wire: BTreeMap::new(),
            sent: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            dark: false,
            digest: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// A client (A) and a server (B) that has a listener.
    pub(crate) fn client_server(seed: u64, path: Path, a: &Config, b: &Config) -> Self {
        let mut net = Self::empty(seed, path, a, b);
        net.b.listener = Some(Listener::new(b, KEY));
        net.connect();
        net
    }

    /// The same; A sends under that control.
    pub(crate) fn under(named: NamedController, seed: u64, path: Path, config: &Config) -> Self {
        let mut net = Self::empty(seed, path, config, config);
        net.a.named = Some(named);
        net.b.listener = Some(Listener::new(config, KEY));
        net.connect();
        net
    }

    /// A opens a (new) connection.
    pub(crate) fn connect(&mut self) {
        let now = self.now + self.a.lead;
        let config = self.a.config;
        self.a.identity += 1;
        let identity = self.identity(self.a.identity);
        let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
        let named = self.a.named.map(|named| named.algorithm(packet));
        let law = named.unwrap_or_else(|| law(&config));
        let core = Connection::client(&config, law, identity, now);
        self.a.connection = Some(bytes(core.with_fallback(udt_law(&config))));
        self.a.events.clear();
    }

    /// Two endpoints of a rendezvous.
    pub(crate) fn rendezvous(seed: u64, path: Path, a: &Config, b: &Config) -> Self {
        let mut net = Self::empty(seed, path, a, b);
        for side in [Side::A, Side::B] {
            let config = net.end(side).config;
            let identity = net.identity(net.end(side).identity);
            let core = Connection::rendezvous(&config, law(&config), identity, Time::ZERO);
            let core = core.with_fallback(udt_law(&config));
            net.endpoint_mut(side).connection = Some(bytes(core));
        }
        net
    }

    fn identity(&mut self, socket: u32) -> Identity {
        Identity {
            socket,
            // Near the wrap every other time.
            first: Number::from_word(if self.rng.next_u64() & 1 == 0 {
                (1 << 31) - 1 - random::below(&mut self.rng, 200) as u32
            } else {
                self.rng.next_u64() as u32
            }),
        }
    }

    pub(crate) fn end(&self, side: Side) -> &Endpoint {
        match side {
            Side::A => &self.a,
            Side::B => &self.b,
        }
    }

    pub(crate) fn endpoint_mut(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::A => &mut self.a,
            Side::B => &mut self.b,
        }
    }

    /// The instant on an endpoint's clock.
    pub(crate) fn local(&self, side: Side) -> Time {
        self.now + self.end(side).lead
    }

    fn chance(&mut self, per_mille: u64) -> bool {
        per_mille > 0 && random::below(&mut self.rng, 1000) < per_mille
    }

    /// Everything that leaves an endpoint now, and its events.
    pub(crate) fn flush(&mut self, side: Side) {
        let now = self.local(side);
        let mut out = Vec::new();
        loop {
            let mut rng = self.rng.clone();
            let Some(connection) = &mut self.endpoint_mut(side).connection else {
                break;
            };
            let Some(ecn) = connection.poll_transmit(now, &mut out, &mut rng) else {
                break;
            };
            self.rng = rng;
            self.send(side, out.clone(), ecn);
        }
        let end = self.endpoint_mut(side);
        while let Some(event) = end.connection.as_mut().and_then(ByteConnection::poll_event) {
            end.events.push(event);
        }
    }

    /// A datagram meets the network.
    pub(crate) fn send(&mut self, from: Side, datagram: Vec<u8>, ecn: Ecn) {
        for byte in &datagram {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        if self.dark || self.chance(self.path.loss) {
            return;
        }
        let bytes = Bytes::new(datagram.len() as u64 + 28);
        let begins = self.end(from).busy_until.max(self.now);
        let wait = begins.saturating_since(self.now);
        let full = self.path.rate.span_of(Bytes::new(1500));
        let queued = wait.as_ps() / full.as_ps();
        if queued >= self.path.queue {
            return;
        }
        let ecn = match ecn {
            _ if self.path.bleaches => Ecn::NotEct,
            Ecn::Ect0 if queued >= self.path.threshold || self.chance(self.path.marking) => Ecn::Ce,
            ecn => ecn,
        };
        let leaves = begins + self.path.rate.span_of(bytes);
        self.endpoint_mut(from).busy_until = leaves;
        if self.chance(self.path.garbage) {
            let garbage = self.garbage(&datagram);
            self.carry(from, leaves, garbage, Ecn::NotEct);
        }
        if self.chance(self.path.duplication) {
            self.carry(from, leaves, datagram.clone(), ecn);
        }
        self.carry(from, leaves, datagram, ecn);
    }

    /// A damaged packet: of any length, for an unknown socket, or of no kind. A changed payload,
    /// which a UDP checksum lets pass and nothing else can detect, is not made here.
    fn garbage(&mut self, datagram: &[u8]) -> Vec<u8> {
        match random::below(&mut self.rng, 4) {
            0 => datagram[..datagram.len().min(15)].to_vec(),
            1 => {
                let mut other = datagram.to_vec();
                other[12] ^= 0x40;
                other
            }
            2 => {
                let mut other = datagram[..16].to_vec();
                other[..4].copy_from_slice(&[0x80, 0x55, 1, 2]);
                other
            }
            _ => (0..40).map(|_| self.rng.next_u64() as u8).collect(),
        }
    }

    fn carry(&mut self, from: Side, leaves: Time, datagram: Vec<u8>, ecn: Ecn) {
        let more = random::below(&mut self.rng, self.path.jitter.as_ps() + 1);
        let at = leaves + self.path.delay + Span::from_ps(more);
        self.sent += 1;
        self.wire
            .insert((at, self.sent), (from.other(), datagram, ecn));
    }

    fn deliver(&mut self, side: Side, datagram: &[u8], ecn: Ecn) {
        let now = self.local(side);
        let mut rng = self.rng.clone();
        if self.end(side).listener.is_some() {
            self.listen(side, datagram);
        }
        if let Some(connection) = &mut self.endpoint_mut(side).connection {
            // The error is counted, and not needed here.
            let _ = connection.handle_datagram(now, datagram, ecn, &mut rng);
        }
        self.rng = rng;
    }

    /// The part of the listener's owner.
    fn listen(&mut self, side: Side, datagram: &[u8]) {
        let now = self.local(side);
        let Ok(View {
            packet,
            handshake: Some(handshake),
            ..
        }) = parse(datagram, Dialect::Udt)
        else {
            return;
        };
        let end = self.endpoint_mut(side);
        if end.accepted == Some(handshake.socket) {
            return;
        }
        let listener = end.listener.as_ref().expect("a listener");
        match listener.handle(now, CLIENT, &packet, &handshake) {
            Response::Reply(packet, handshake) => {
                let mut out = Vec::new();
                let body = incastle_transport::udt::wire::ControlBody::Handshake(&handshake);
                incastle_transport::udt::wire::write(&packet, body, &[], Dialect::Udt, &mut out);
                assert!(out.len() <= datagram.len(), "no amplification");
                self.send(side, out, Ecn::NotEct);
            }
            Response::Accept(incoming) => {
                let config = end.config;
                end.accepted = Some(incoming.socket());
                let core = Connection::server(&config, law(&config), end.identity, &incoming, now);
                end.connection = Some(bytes(core.with_fallback(udt_law(&config))));
                end.events.clear();
            }
            Response::Ignore => {}
        }
    }

    /// The next instant at which something happens.
    fn next(&self) -> Option<Time> {
        let timer = |side| {
            let end: &Endpoint = self.end(side);
            let at = end.connection.as_ref()?.poll_timeout()?;
            let ahead = at.saturating_since(Time::ZERO + end.lead);
            Some((Time::ZERO + ahead).max(self.now))
        };
        let wire = self.wire.first_key_value().map(|((at, _), _)| *at);
        [timer(Side::A), timer(Side::B), wire]
            .into_iter()
            .flatten()
            .min()
    }

    /// Runs to the next instant, at most to `until`; gives false where that came first.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        for side in [Side::A, Side::B] {
            self.flush(side);
        }
        let Some(next) = self.next().filter(|next| *next <= until) else {
            self.now = until;
            return false;
        };
        self.now = next;
        while let Some(entry) = self.wire.first_entry()
            && entry.key().0 <= next
        {
            let (side, datagram, ecn) = entry.remove();
            self.deliver(side, &datagram, ecn);
            self.flush(side);
        }
        for side in [Side::A, Side::B] {
            let now = self.local(side);
            let mut rng = self.rng.clone();
            if let Some(connection) = &mut self.endpoint_mut(side).connection
                && connection.poll_timeout().is_some_and(|at| at <= now)
            {
                connection.handle_timeout(now, &mut rng);
                assert_ahead(connection.poll_timeout(), now);
                self.rng = rng;
            }
            self.flush(side);
        }
        true
    }

    /// Runs for some time.
    pub(crate) fn run(&mut self, span: Span) {
        let until = self.now + span;
        while self.step(until) {}
    }
}

fn bytes(core: Connection) -> ByteConnection {
    ByteConnection::new(core, 1 << 20)
}

/// The bytes that everybody sends: byte i of a stream with that salt.
pub(crate) fn pattern(salt: u64, at: u64) -> u8 {
    ((at ^ salt).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

/// Writes as much of a stream as fits, from `at` to `end`.
pub(crate) fn write_some(end: &mut Endpoint, salt: u64, at: &mut u64, to: u64) {
    let Some(connection) = &mut end.connection else {
        return;
    };
    while *at < to {
        let count = (to - *at).min(4096);
        let chunk: Vec<u8> = (*at..*at + count).map(|i| pattern(salt, i)).collect();
        let written = connection.write(&chunk) as u64;
        *at += written;
        if written < count {
            break;
        }
    }
}

/// Reads all that there is and checks it.
pub(crate) fn read_some(end: &mut Endpoint, now: Time, salt: u64, at: &mut u64) {
    let Some(connection) = &mut end.connection else {
        return;
    };
    let mut buffer = [0; 4096];
    loop {
        let count = connection.read(now, &mut buffer);
        if count == 0 {
            return;
        }
        for byte in &buffer[..count] {
            assert_eq!(*byte, pattern(salt, *at), "byte {at} of the stream");
            *at += 1;
        }
    }
}

/// Moves `bytes` from A to B within `limit`; gives the time that it took.
pub(crate) fn transfer(net: &mut Net, bytes: u64, limit: Span) -> Span {
    let start = net.now;
    let (mut written, mut read) = (0, 0);
    while read < bytes {
        write_some(&mut net.a, 1, &mut written, bytes);
        assert!(
            net.step(start + limit),
            "only {read} of {bytes} bytes in time"
        );
        let now = net.local(Side::B);
        read_some(&mut net.b, now, 1, &mut read);
    }
    net.now - start
}
