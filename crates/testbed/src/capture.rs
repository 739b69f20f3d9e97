//! A capture of DCUDP packets, and their fields by Incastle's parser. It has a session of two DCUDP endpoints
//! in virtual time, over a path with losses and marks, and one handmade packet of each kind.
//!
//! Each endpoint is a host of [`incastle_capture`], its link to its peer an interface of the file.

use std::collections::VecDeque;

use incastle_capture::{Envelope, Host, Pcapng};
use incastle_congestion::{Algorithm, Dcudp, DcudpConfig};
use incastle_transport::udt::wire::{
    AccurateAck, AckReport, Content, Control, ControlBody, ControlHeader, DataHeader, Dialect,
    Extension, Handshake, Losses, NumberRange, Packet, Place, SocketKind, View, parse, write,
};
use incastle_transport::udt::{
    ByteConnection, Config, Connection, Identity, Listener, MessageOptions, Number, PeerAddress,
    Response,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use serde_json::{Map, Value, json};

use crate::peer::handshake_datagram;

/// One direction of the path.
const DELAY: Span = Span::from_us(100);
/// The client and the server.
const HOSTS: [Host; 2] = [Host(0), Host(1)];
const PORTS: [u16; 2] = [40_000, 9_000];
const RATE: Rate = Rate::from_bits_per_second(1_000_000_000);
/// Frames are kept whole.
const WHOLE: u32 = 0xFFFF;

/// A packet on the wire.
#[derive(Debug, Clone)]
pub struct Captured {
    at: Time,
    /// Whether the server sent it.
    from_server: bool,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// One end, as far as the session needs it.
struct Endpoint {
    connection: Option<ByteConnection>,
    inbox: VecDeque<(Time, Vec<u8>, Ecn)>,
}

/// Two endpoints, and what crossed the wire.
struct Session {
    now: Time,
    rng: Xoshiro256PlusPlus,
    listener: Listener,
    config: Config,
    endpoints: [Endpoint; 2],
    captured: Vec<Captured>,
}

fn law(config: &Config) -> Algorithm {
    let packet = Bytes::new(u64::from(Config::payload_of(config.packet_size)));
    Algorithm::from(Dcudp::new(DcudpConfig::new(packet, RATE)))
}

/// A session of messages: some are lost, some grow too old; the path marks for a while, then no longer.
pub fn session(seed: u64) -> Vec<Captured> {
    let config = Config {
        socket_kind: SocketKind::Message,
        reads_at_once: false,
        ..Config::dcudp(RATE)
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let identity = Identity {
        socket: 4_242,
        first: Number::from_word(1 << 31 | 0x7FFF_FFF0),
    };
    let client = Connection::client(&config, law(&config), identity, Time::ZERO);
    let mut key = [0; 16];
    rand_core::Rng::fill_bytes(&mut rng, &mut key);
    let end = |core| Endpoint {
        connection: Option::map(core, |core| ByteConnection::new(core, 1 << 20)),
        inbox: VecDeque::new(),
    };
    let mut session = Session {
        now: Time::ZERO,
        rng,
        listener: Listener::new(&config, key),
        config,
        endpoints: [end(Some(client)), end(None)],
        captured: Vec::new(),
    };
    session.run();
    session.captured
}

impl Session {
    fn run(&mut self) {
        let step = Span::from_us(20);
        for round in 0..5_000_u32 {
            self.now = self.now.saturating_add(step);
            if round > 100 && round < 3_500 && round.is_multiple_of(10) {
                self.send_message(round);
            }
            if round == 4_000 {
                self.close();
            }
            for side in 0..2 {
                self.deliver(side);
                self.send(side, round);
            }
        }
    }

    /// A message of one to four packets, every fifth with a short life.
    fn send_message(&mut self, round: u32) {
        let length = 1_000 * (1 + round as usize / 10 % 4);
        let options = MessageOptions {
            ttl: (round.is_multiple_of(50)).then_some(Span::from_us(150)),
            in_order: round.is_multiple_of(20),
        };
        let now = self.now;
        if let Some(client) = &mut self.endpoints[0].connection {
            // Full: then there is one less.
            let _ = client.send_message(now, &vec![round as u8; length], options);
        }
    }

    fn close(&mut self) {
        let now = self.now;
        for end in &mut self.endpoints {
            if let Some(connection) = &mut end.connection {
                connection.close(now);
            }
        }
    }

    fn deliver(&mut self, side: usize) {
        let now = self.now;
        while let Some((at, bytes, ecn)) = self.endpoints[side].inbox.pop_front() {
            if at > now {
                self.endpoints[side].inbox.push_front((at, bytes, ecn));
                return;
            }
            match &mut self.endpoints[side].connection {
                Some(connection) => {
                    connection
                        .handle_datagram(now, &bytes, ecn, &mut self.rng)
                        .expect("a packet of ours");
                    while connection.receive_message(now).is_some() {}
                }
                None => self.accept(&bytes),
            }
        }
    }

    fn accept(&mut self, request: &[u8]) {
        let view = parse(request, Dialect::Udt).expect("a handshake of ours");
        let handshake = view.handshake.expect("a handshake");
        let peer = PeerAddress {
            ip: [1; 16],
            port: PORTS[0],
        };
        match self
            .listener
            .handle(self.now, peer, &view.packet, &handshake)
        {
            Response::Reply(packet, body) => {
                self.put(1, handshake_datagram(&packet, &body), Ecn::NotEct);
            }
            Response::Accept(incoming) => {
                let law = law(&self.config);
                let core = Connection::server(&self.config, law, 77, &incoming, self.now);
                self.endpoints[1].connection = Some(ByteConnection::new(core, 1 << 20));
            }
            Response::Ignore => {}
        }
    }

    fn send(&mut self, side: usize, round: u32) {
        let now = self.now;
        let mut out = Vec::new();
        loop {
            let Some(connection) = &mut self.endpoints[side].connection else {
                return;
            };
            if connection.poll_timeout().is_some_and(|at| at <= now) {
                connection.handle_timeout(now, &mut self.rng);
            }
            let Some(ecn) = connection.poll_transmit(now, &mut out, &mut self.rng) else {
                return;
            };
            let marks = (1_000..2_000).contains(&round) && ecn.is_capable();
            let ecn = if marks { Ecn::Ce } else { ecn };
            self.put(side, out.clone(), ecn);
        }
    }

    fn put(&mut self, side: usize, bytes: Vec<u8>, ecn: Ecn) {
        self.captured.push(Captured {
            at: self.now,
            from_server: side == 1,
            ecn,
            bytes: bytes.clone(),
        });
        // Losses after the handshake only: a lost answer would be a long silence.
        let handshakes = self.endpoints[1].connection.is_none();
        if handshakes || random::uniform(&mut self.rng) >= 0.02 {
            let at = self.now.saturating_add(DELAY);
            self.endpoints[1 - side].inbox.push_back((at, bytes, ecn));
        }
    }
}

/// One packet of each kind, with every field at its limits.
pub fn examples() -> Vec<Captured> {
    let number = Number::from_word;
    let most = number(u32::MAX);
    let ack = |flag| Control::Ack {
        number: most,
        next: number(1),
        ece: flag,
        not_ect: !flag,
        report: AckReport {
            rtt_us: 1,
            variance_us: u32::MAX,
            free_packets: 3,
            receiving_packets_per_s: 4,
            capacity_packets_per_s: 5,
        },
    };
    let drop = Control::Drop {
        message: 3,
        first: most,
        last: number(4),
    };
    let shutdown = |answers, gone| Control::Shutdown { answers, gone };
    let controls = [
        Control::KeepAlive,
        ack(true),
        ack(false),
        Control::LightAck { next: most },
        Control::Warning,
        shutdown(false, false),
        shutdown(true, false),
        shutdown(false, true),
        Control::Ack2 { number: most },
        drop,
        Control::ObserveChange { change: u32::MAX },
        Control::ObserveChanged { change: 1 },
    ];
    let mut all = Vec::new();
    for observe in [false, true] {
        for control in controls {
            all.push(example(observe, control, ControlBody::Empty));
        }
    }
    let ranges = [(2, 2), (6, 11), (0x7FFF_FFFF, 3)].map(|(first, last)| NumberRange {
        first: number(first),
        last: number(last),
    });
    all.push(example(
        true,
        Control::Nak,
        ControlBody::Losses(Losses::typed(&ranges)),
    ));
    for (place, flag) in [
        (Place::Middle, true),
        (Place::Last, false),
        (Place::First, true),
        (Place::Only, false),
    ] {
        all.push(data(place, flag));
    }
    all
}

fn example(observe: bool, control: Control, body: ControlBody<'_>) -> Captured {
    let header = ControlHeader {
        observe,
        number: Number::from_word(0x1234_5678),
        control,
    };
    captured(Content::Control(header), body, &[])
}

fn data(place: Place, flag: bool) -> Captured {
    let header = DataHeader {
        sequence: Number::from_word(u32::MAX),
        message: (1 << 27) - 1,
        place,
        in_order: flag,
        observe: !flag,
        cwr: flag,
        length: 3,
    };
    captured(Content::Data(header), ControlBody::Empty, b"abc")
}

fn captured(content: Content, body: ControlBody<'_>, payload: &[u8]) -> Captured {
    let packet = Packet {
        timestamp: 0x0102_0304,
        destination: 0x0506_0708,
        content,
    };
    let mut bytes = Vec::new();
    write(&packet, body, payload, Dialect::Dcudp, &mut bytes);
    Captured {
        at: Time::ZERO.saturating_add(Span::from_secs(1)),
        from_server: false,
        ecn: Ecn::NotEct,
        bytes,
    }
}

/// The capture as a file in pcapng.
pub fn pcapng(packets: &[Captured]) -> Vec<u8> {
    let mut file = Pcapng::new("dcudp-capture", WHOLE);
    let links = ["client", "server"].map(|name| file.interface(name, RATE));
    for packet in packets {
        let from = usize::from(packet.from_server);
        let envelope = Envelope {
            from: HOSTS[from],
            to: HOSTS[1 - from],
            ports: [PORTS[from], PORTS[1 - from]],
            ecn: packet.ecn,
            class: 0,
        };
        let frame = envelope.udp(&packet.bytes, 0);
        file.frame(links[from], packet.at, &frame);
    }
    file.into_bytes()
}

/// The fields of a packet by this parser, under the dissector's names. A field that occurs more than once is
/// a list.
pub fn fields(packet: &Captured) -> Value {
    let mut read = Map::new();
    let mut put = |name: &str, value: Value| {
        read.insert(format!("dcudp.{name}"), value);
    };
    let view = parse(&packet.bytes, Dialect::Dcudp).expect("a packet of ours");
    put("timestamp", json!(view.packet.timestamp));
    put("destination", json!(view.packet.destination));
    match &view.packet.content {
        Content::Data(header) => data_fields(header, &mut put),
        Content::Control(header) => control_fields(header, &view, &mut put),
    }
    Value::Object(read)
}

fn data_fields(header: &DataHeader, put: &mut impl FnMut(&str, Value)) {
    put("control", json!(false));
    put("sequence", json!(header.sequence.word()));
    put("place", json!(header.place as u32));
    put("in_order", json!(header.in_order));
    put("obs", json!(header.observe));
    put("cwr", json!(header.cwr));
    put("message", json!(header.message));
}

fn control_fields(header: &ControlHeader, view: &View<'_>, put: &mut impl FnMut(&str, Value)) {
    put("control", json!(true));
    if let Some(handshake) = &view.handshake {
        return handshake_fields(handshake, put);
    }
    put("obs", json!(header.observe));
    put("number", json!(header.number.word()));
    match header.control {
        Control::Ack {
            number,
            next,
            ece,
            not_ect,
            report,
        } => {
            put("ack_number", json!(number.word()));
            put("next", json!(next.word()));
            put("ece", json!(ece));
            put("nect", json!(not_ect));
            put("rtt", json!(report.rtt_us));
            put("variance", json!(report.variance_us));
            put("free", json!(report.free_packets));
            put("receiving_rate", json!(report.receiving_packets_per_s));
            put("capacity", json!(report.capacity_packets_per_s));
        }
        Control::LightAck { next } => put("next", json!(next.word())),
        Control::Ack2 { number } => put("ack_number", json!(number.word())),
        Control::Shutdown { answers, gone } => {
            put("answers", json!(answers));
            put("gone", json!(gone));
        }
        Control::Drop {
            message,
            first,
            last,
        } => {
            put("drop_message", json!(message));
            put("drop_first", json!(first.word()));
            put("drop_last", json!(last.word()));
        }
        Control::ObserveChange { change } | Control::ObserveChanged { change } => {
            let changed = matches!(header.control, Control::ObserveChanged { .. });
            put("subtype", json!(if changed { 2 } else { 1 }));
            put("change", json!(change));
        }
        Control::Nak => {
            let losses = view.losses.expect("a NAK has losses");
            let ends = |end: fn(&NumberRange) -> Number| -> Value {
                losses.ranges().map(|range| end(&range).word()).collect()
            };
            put("lost_first", ends(|range| range.first));
            put("lost_last", ends(|range| range.last));
        }
        Control::AccurateAck(AccurateAck {
            next,
            newest,
            delay_us,
            counts,
        }) => {
            put("subtype", json!(3));
            put("next", json!(next.word()));
            put("newest", json!(newest.word()));
            put("delay", json!(delay_us));
            put("arrived", json!(counts.arrived));
            put("ce", json!(counts.ce));
            put("ect", json!(counts.ect));
            put("lost", json!(counts.lost));
        }
        Control::Handshake | Control::KeepAlive | Control::Warning => {}
    }
}

fn handshake_fields(handshake: &Handshake, put: &mut impl FnMut(&str, Value)) {
    let stream = handshake.socket_kind == SocketKind::Stream;
    put("hs.version", json!(handshake.version));
    put("hs.socket_type", json!(if stream { 1 } else { 2 }));
    put("hs.first", json!(handshake.first.word()));
    put("hs.packet_size", json!(handshake.packet_size));
    put("hs.window", json!(handshake.flow_window));
    put("hs.socket", json!(handshake.socket));
    put("hs.cookie", json!(handshake.cookie));
    let (role, socket) = match handshake.extension {
        Some(Extension::Offer { socket }) => (1, socket),
        Some(Extension::Answer { socket }) => (2, socket),
        // The session of this capture is DCUDP's.
        Some(Extension::AccurateOffer { .. } | Extension::AccurateAnswer { .. }) | None => return,
    };
    put("hs.role", json!(role));
    put("hs.extension_socket", json!(socket));
}
