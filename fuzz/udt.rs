//! The fuzz targets `udt_parser` and `udt_connection`: any datagram, and any operations of a connection.
//! The same functions run under libFuzzer and in the ordinary tests of `incastle-transport`.

use incastle_congestion::{
    Algorithm, Dctcp, DctcpConfig, Dcudp as DcudpLaw, DcudpConfig, Udt as UdtLaw, UdtConfig,
};
use incastle_transport::udt::wire::{
    AckRate, Content, Control, ControlBody, ControlHeader, Dialect, Extension, Handshake,
    HandshakeKind, Packet, SocketKind, destination, parse, write,
};
use incastle_transport::udt::{
    Accurate, ByteConnection, Config, Connection, Identity, MessageOptions, Number, Protocol,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

#[path = "input.rs"]
mod input;

use input::Input;

const SOCKET: u32 = 7;
const PEER: u32 = 9;
const FIRST: u32 = 0x7FFF_FFF0;
/// Maximum of packets at one instant: more would be an infinite loop.
const MAX_AT_ONCE: usize = 200_000;

/// Any bytes are a packet or an error, in every dialect; a packet that is written again is the same.
pub(crate) fn parser(input: &[u8]) {
    let _ = destination(input);
    for dialect in [Dialect::Udt, Dialect::Dcudp, Dialect::Accurate] {
        let Ok(view) = parse(input, dialect) else {
            continue;
        };
        assert!(view.payload.len() <= input.len());
        let mut out = Vec::new();
        write(&view.packet, view.body(), view.payload, dialect, &mut out);
        assert_eq!(out.len(), view.packet.wire_bytes(view.body(), dialect));
        let again = parse(&out, dialect).expect("a written packet");
        assert_eq!(again.packet, view.packet);
        assert_eq!(again.handshake, view.handshake);
        assert_eq!(again.payload, view.payload);
        let ranges = |losses: Option<incastle_transport::udt::wire::Losses<'_>>| {
            losses.map(|losses| losses.ranges().collect::<Vec<_>>())
        };
        assert_eq!(ranges(again.losses), ranges(view.losses));
    }
}

/// An input is the kind of connection (1 byte), then operations of one byte with their operands.
struct Subject {
    connection: ByteConnection,
    now: Time,
    rng: Xoshiro256PlusPlus,
    out: Vec<u8>,
    config: Config,
}

fn config(kind: u8) -> Config {
    let base = if kind & 1 == 0 {
        Config::default()
    } else {
        Config::dcudp(Rate::from_bits_per_second(1_000_000_000))
    };
    Config {
        reads_at_once: false,
        socket_kind: if kind & 2 == 0 {
            SocketKind::Stream
        } else {
            SocketKind::Message
        },
        receive_buffer: if kind & 4 == 0 { 64 } else { 4096 },
        max_loss_ranges: if kind & 8 == 0 { 4 } else { 1024 },
        // Of UDT's open connections one half has accurate ACKs.
        accurate: (kind & 0x81 == 0x80).then(Accurate::default),
        linger: (kind & 16 != 0).then_some(Span::from_ms(100)),
        ..base
    }
}

fn law(config: &Config) -> Algorithm {
    let packet = Bytes::new(1456);
    match config.protocol {
        Protocol::Udt if config.accurate.is_some() => {
            Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(packet)))
        }
        Protocol::Udt => Algorithm::Udt(UdtLaw::new(UdtConfig { packet })),
        Protocol::Dcudp(dcudp) => {
            let law = DcudpConfig::new(packet, dcudp.capacity);
            Algorithm::from(DcudpLaw::new(law))
        }
    }
}

impl Subject {
    fn new(kind: u8) -> Self {
        let config = config(kind);
        let identity = Identity {
            socket: SOCKET,
            first: Number::from_word(FIRST),
        };
        let core = if kind & 32 == 0 {
            Connection::client(&config, law(&config), identity, Time::ZERO)
        } else {
            Connection::rendezvous(&config, law(&config), identity, Time::ZERO)
        };
        let packet = Bytes::new(1456);
        let fallback = Algorithm::Udt(UdtLaw::new(UdtConfig { packet }));
        let mut subject = Self {
            connection: ByteConnection::new(core.with_fallback(fallback), 100_000),
            now: Time::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            out: Vec::new(),
            config,
        };
        // Most inputs begin with an open connection; one in four has to open it.
        if kind & 0xC0 != 0 {
            subject.open(kind & 32 != 0);
        }
        subject
    }

    fn open(&mut self, rendezvous: bool) {
        for kind in [HandshakeKind::Request, HandshakeKind::Response] {
            self.flush();
            self.now += Span::from_us(100);
            let dcudp = matches!(self.config.protocol, Protocol::Dcudp(_));
            let (socket, rate) = (PEER, AckRate::default());
            let accurate = self.config.accurate.is_some();
            let extension = match (dcudp, rendezvous) {
                (false, true) => accurate.then_some(Extension::AccurateOffer { socket, rate }),
                (false, false) => accurate.then_some(Extension::AccurateAnswer { socket, rate }),
                (true, true) => Some(Extension::Offer { socket }),
                (true, false) => Some(Extension::Answer { socket }),
            };
            let handshake = Handshake {
                version: 4,
                socket_kind: self.config.socket_kind,
                first: Number::from_word(FIRST),
                packet_size: 1500,
                flow_window: 5_000,
                kind: match (rendezvous, kind) {
                    (true, HandshakeKind::Request) => HandshakeKind::Rendezvous,
                    (_, kind) => kind,
                },
                socket: PEER,
                cookie: 5,
                peer: [0; 4],
                extension,
            };
            let packet = Packet {
                timestamp: 0,
                destination: SOCKET,
                content: Content::Control(ControlHeader {
                    observe: false,
                    number: Number::default(),
                    control: Control::Handshake,
                }),
            };
            let mut datagram = Vec::new();
            let body = ControlBody::Handshake(&handshake);
            write(&packet, body, &[], Dialect::Udt, &mut datagram);
            self.arrive(&datagram, Ecn::NotEct);
        }
    }

    fn arrive(&mut self, datagram: &[u8], ecn: Ecn) {
        let (now, rng) = (self.now, &mut self.rng);
        // Malformed datagrams are counted.
        let _ = self.connection.handle_datagram(now, datagram, ecn, rng);
    }

    /// All packets that leave now parse.
    fn flush(&mut self) {
        let mut count = 0;
        while let Some(_ecn) = self
            .connection
            .poll_transmit(self.now, &mut self.out, &mut self.rng)
        {
            count += 1;
            assert!(count < MAX_AT_ONCE, "packets without end");
            let dialect = self.connection.core().dialect();
            assert!(parse(&self.out, dialect).is_ok());
            assert!(self.out.len() + 28 <= self.connection.core().packet_size() as usize);
        }
        while self.connection.poll_event().is_some() {}
    }

    /// One operation; nothing where the input ends.
    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let op = input.byte()?;
        match op % 8 {
            // A datagram for this socket, or for any.
            0 | 1 => {
                let count = usize::from(input.byte()?);
                let mut datagram = input.take(count).to_vec();
                if let (1, Some(to)) = (op % 8, datagram.get_mut(12..16)) {
                    to.copy_from_slice(&SOCKET.to_be_bytes());
                }
                let ecn = [Ecn::Ect0, Ecn::Ce, Ecn::NotEct][usize::from(op >> 4) % 3];
                self.arrive(&datagram, ecn);
            }
            2 => self.now += Span::from_us(u64::from(input.word()?) << (op >> 5)),
            3 => {
                if let Some(at) = self.connection.poll_timeout() {
                    self.now = self.now.max(at);
                }
            }
            4 => self.write(usize::from(input.word()?)),
            5 => self.read(usize::from(input.word()?)),
            6 => self.flush(),
            _ if op == 0xFF => self.connection.close(self.now),
            _ => {}
        }
        if self
            .connection
            .poll_timeout()
            .is_some_and(|at| at <= self.now)
        {
            self.connection.handle_timeout(self.now, &mut self.rng);
        }
        Some(())
    }

    fn write(&mut self, bytes: usize) {
        let data = vec![0xAB; bytes];
        match self.config.socket_kind {
            SocketKind::Stream => {
                self.connection.write(&data);
            }
            SocketKind::Message => {
                let ttl = bytes.is_multiple_of(3);
                let options = MessageOptions {
                    ttl: ttl.then_some(Span::from_us(bytes as u64)),
                    in_order: bytes.is_multiple_of(2),
                };
                // A message that does not fit is refused.
                let _ = self.connection.send_message(self.now, &data, options);
            }
        }
        assert!(self.connection.buffered() <= self.connection.send_buffer());
    }

    fn read(&mut self, bytes: usize) {
        let mut data = vec![0; bytes];
        self.connection.read(self.now, &mut data);
        let _ = self.connection.receive_message(self.now);
    }
}

/// A connection keeps its invariants over any sequence of datagrams, timers and application calls.
pub(crate) fn connection(input: &[u8]) {
    let mut input = Input(input);
    let Some(kind) = input.byte() else { return };
    let mut subject = Subject::new(kind);
    while subject.step(&mut input).is_some() {}
    subject.flush();
    // It ends, or only timers remain.
    for _ in 0..50 {
        let Some(at) = subject.connection.poll_timeout() else {
            break;
        };
        subject.now = subject.now.max(at);
        subject
            .connection
            .handle_timeout(subject.now, &mut subject.rng);
        subject.flush();
    }
}
