//! Two queue pairs, their NICs and the wires between them, for tests: a port of one rate in each direction, a
//! fixed delay, and a judge that loses, marks, delays or repeats packets. It records every packet in the order of
//! departure.
//!
//! A NIC sends control packets first, and asks for data when its port is free. By default headers have no
//! bytes, payloads 1000, and the ports 8 Gbit/s: a full packet takes 1 us, everything else no time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use incastle_congestion::Algorithm;
use incastle_rdma::{
    Arrival, Config, DataAt, Event, Headers, Opcode, Packet, Place, QueuePair, Verb,
};
use incastle_units::{Bytes, Ecn, Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::control::Fixed;

/// The one-way delay of the wire.
pub(crate) const DELAY: Span = Span::from_us(10);

/// An instant in microseconds.
pub(crate) fn us(at: u64) -> Time {
    Time::ZERO + Span::from_us(at)
}

/// The configuration of the written-out tests: no headers, 1000 bytes of payload, a timeout of 100 us.
pub(crate) fn config() -> Config {
    Config {
        mtu: 1000,
        any_mtu: true,
        headers: Headers {
            data: 0,
            reth: 0,
            aeth: 0,
            ack: 0,
            cnp: 0,
        },
        framing: 0,
        ack_timeout: Some(Span::from_us(100)),
        ..Config::default()
    }
}

/// The treatment of a packet on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Pass,
    Drop,
    Mark,
    /// Arrives this much later, perhaps after packets that were sent after it.
    Delay(Span),
    /// Arrives twice, the second time this much later.
    Twice(Span),
}

/// A packet that leaves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    /// 0 for A, 1 for B.
    pub(crate) from: usize,
    pub(crate) packet: Packet,
}

impl Sent {
    /// One line: microseconds, sender, content, fate.
    pub(crate) fn line(&self, fate: Fate) -> String {
        let Packet { psn, opcode, .. } = self.packet;
        let placed = |name: &str, place: Place| {
            let place = format!("{place:?}").to_lowercase();
            format!("{name} {psn} {place}")
        };
        let content = match opcode {
            Opcode::Write(place) => placed("write", place),
            Opcode::Send(place) => placed("send", place),
            Opcode::ReadResponse(place) => placed("response", place),
            Opcode::ReadRequest => format!("read {psn}+{}", self.packet.length),
            Opcode::Ack => format!("ack {psn}"),
            Opcode::Nak => format!("nak {psn}"),
            Opcode::Cnp => "cnp".to_string(),
        };
        let mut words = vec![
            (self.at.as_ps() / 1_000_000).to_string(),
            ["A", "B"][self.from].to_string(),
            content,
        ];
        let set = [
            (self.packet.ack_req, "req"),
            (self.packet.echo, "echo"),
            (self.packet.retransmission, "again"),
        ];
        words.extend(
            set.into_iter()
                .filter(|(set, _)| *set)
                .map(|(_, name)| name.to_string()),
        );
        let micros = |span: Span| span.as_ps() / 1_000_000;
        match fate {
            Fate::Drop => words.push("lost".to_string()),
            Fate::Mark => words.push("CE".to_string()),
            Fate::Delay(by) => words.push(format!("late {}", micros(by))),
            Fate::Twice(by) => words.push(format!("twice {}", micros(by))),
            Fate::Pass => {}
        }
        words.join(" ")
    }
}

/// One endpoint and its NIC.
pub(crate) struct Endpoint {
    pub(crate) pair: QueuePair,
    pub(crate) events: Vec<Event>,
    control: VecDeque<Packet>,
    /// When the port is free.
    free: Time,
    /// When the NIC looks for a packet again, or NEVER.
    look: Time,
}

/// Two endpoints and the wires.
pub(crate) struct Net {
    pub(crate) now: Time,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) rate: Rate,
    /// The delays of the packets of A and of B.
    pub(crate) delays: [Span; 2],
    pub(crate) judge: Box<dyn FnMut(&Sent) -> Fate>,
    pub(crate) trace: Vec<String>,
    config: Config,
    flying: BTreeMap<(Time, u64), (usize, Packet, Ecn)>,
    sent: u64,
    rng: Xoshiro256PlusPlus,
}

impl Net {
    /// Two endpoints of one configuration without windows, at the rate of the ports.
    pub(crate) fn new(config: &Config) -> Self {
        Self::controlled(config, || {
            Fixed::rate(Rate::from_bits_per_second(8_000_000_000))
        })
    }

    /// The same under other controls.
    pub(crate) fn controlled(config: &Config, control: impl Fn() -> Algorithm) -> Self {
        let shared = Arc::new(*config);
        let endpoint = || Endpoint {
            pair: QueuePair::new(Arc::clone(&shared), control()),
            events: Vec::new(),
            control: VecDeque::new(),
            free: Time::ZERO,
            look: Time::NEVER,
        };
        Self {
            now: Time::ZERO,
            ends: [endpoint(), endpoint()],
            rate: Rate::from_bits_per_second(8_000_000_000),
            delays: [DELAY; 2],
            judge: Box::new(|_| Fate::Pass),
            trace: Vec::new(),
            config: *config,
            flying: BTreeMap::new(),
            sent: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
        }
    }

    pub(crate) fn post(&mut self, from: usize, verb: Verb, bytes: u64) {
        self.ends[from].pair.post(verb, bytes);
        self.transmit(from);
    }

    /// Runs until this instant, or until nothing more happens.
    pub(crate) fn run(&mut self, until: Time) {
        while self.step(until) {}
        if self.now < until && until != Time::NEVER {
            self.now = until;
        }
    }

    /// Handles the next thing that happens up to this instant.
    pub(crate) fn step(&mut self, until: Time) -> bool {
        let arrival = self.flying.keys().next().map_or(Time::NEVER, |key| key.0);
        let wake = |end: &Endpoint| {
            let timeout = end.pair.poll_timeout().unwrap_or(Time::NEVER);
            (timeout, end.look)
        };
        let [(timer_a, look_a), (timer_b, look_b)] = [0, 1].map(|i| wake(&self.ends[i]));
        let next = arrival.min(timer_a).min(timer_b).min(look_a).min(look_b);
        if next == Time::NEVER || next > until {
            return false;
        }
        assert!(next >= self.now, "time never runs back");
        self.now = next;
        if arrival == next {
            self.arrive();
        } else if let Some(i) = [timer_a, timer_b].iter().position(|timer| *timer == next) {
            self.ends[i].pair.handle_timeout(next, &mut self.rng);
            self.serve(i);
        } else {
            let i = usize::from(look_a != next);
            self.transmit(i);
        }
        true
    }

    fn arrive(&mut self) {
        let (_, (to, packet, ecn)) = self.flying.pop_first().expect("a packet flies");
        let arrival = Arrival {
            packet: &packet,
            ecn,
            hops: &[],
            hop_count: None,
        };
        let end = &mut self.ends[to];
        let before = end.pair.delivered();
        end.pair.handle(self.now, &arrival, &mut self.rng);
        let delivered = end.pair.delivered() - before;
        assert!(delivered == 0 || delivered == u64::from(packet.payload));
        self.serve(to);
    }

    /// Takes control packets and events, and fills the port.
    fn serve(&mut self, i: usize) {
        let end = &mut self.ends[i];
        end.control
            .extend(std::iter::from_fn(|| end.pair.poll_control()));
        end.events
            .extend(std::iter::from_fn(|| end.pair.poll_event()));
        self.transmit(i);
    }

    /// Sends while the port is free.
    fn transmit(&mut self, i: usize) {
        loop {
            let end = &mut self.ends[i];
            end.look = Time::NEVER;
            if end.free > self.now {
                end.look = end.free;
                return;
            }
            let packet = match end.control.pop_front() {
                Some(packet) => packet,
                None => match end.pair.data_at(self.now) {
                    DataAt::Now => {
                        let packet = end.pair.poll_data(self.now, &mut self.rng);
                        packet.expect("a packet may leave now")
                    }
                    DataAt::At(at) => {
                        assert!(at > self.now, "later is not now");
                        end.look = at;
                        return;
                    }
                    DataAt::Never => return,
                },
            };
            // The responses of a READ may release an ACK.
            end.control
                .extend(std::iter::from_fn(|| end.pair.poll_control()));
            self.depart(i, packet);
        }
    }

    fn depart(&mut self, from: usize, packet: Packet) {
        let sent = Sent {
            at: self.now,
            from,
            packet,
        };
        let fate = (self.judge)(&sent);
        self.trace.push(sent.line(fate));
        let headers = &self.config.headers;
        let wire = packet.ip_bytes(headers).count() + u64::from(self.config.framing);
        self.ends[from].free =
            self.now + self.config.transmission.span(self.rate, Bytes::new(wire));
        let at = self.ends[from].free + self.delays[from];
        let ecn = if fate == Fate::Mark {
            Ecn::Ce
        } else {
            Ecn::Ect0
        };
        let copies = match fate {
            Fate::Drop => vec![],
            Fate::Pass | Fate::Mark => vec![at],
            Fate::Delay(by) => vec![at + by],
            Fate::Twice(by) => vec![at, at + by],
        };
        for at in copies {
            self.sent += 1;
            self.flying.insert((at, self.sent), (1 - from, packet, ecn));
        }
    }
}
