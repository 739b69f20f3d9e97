//! The fuzz target `secure`: two endpoints with one key, and a network that loses, repeats, reorders,
//! damages, cuts, forges, reflects and sends from other addresses. The same function runs under libFuzzer
//! and in the ordinary tests of `incastle-secure`.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;

use incastle_secure::{Batch, HEADER_BYTES, Key, OVERHEAD, Opened, Path, Sealed, Sessions};
use incastle_units::{Ecn, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};

/// Maximum of datagrams in flight; an input cannot fill memory.
const MAX_FLYING: usize = 2_000;

/// Random bytes from a seed: they only make keys distinct.
pub(crate) struct Seeded(Xoshiro256PlusPlus);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }
}

impl TryRng for Seeded {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.0.next_u32())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_u64())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.0.fill_bytes(bytes);
        Ok(())
    }
}

impl TryCryptoRng for Seeded {}

/// One endpoint.
pub(crate) struct Endpoint {
    pub(crate) sessions: Sessions,
    pub(crate) address: SocketAddr,
    pub(crate) rng: Seeded,
}

/// A datagram in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flying {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) const fn path(peer: SocketAddr) -> Path {
    Path { peer, source: None }
}

impl Endpoint {
    pub(crate) fn new(key: u8, host: u8, seed: u64) -> Self {
        Self {
            sessions: Sessions::new(&Key::new([key; 32]), 1_000),
            address: SocketAddr::from(([10, 0, 0, host], 9000)),
            rng: Seeded::new(seed),
        }
    }

    /// Seals a plaintext; returns the datagrams that leave now, handshakes included.
    pub(crate) fn send(&mut self, now: Time, to: SocketAddr, plaintext: &[u8]) -> Vec<Flying> {
        let mut bytes = vec![0; OVERHEAD + plaintext.len()];
        bytes[HEADER_BYTES..HEADER_BYTES + plaintext.len()].copy_from_slice(plaintext);
        let mut batch = Batch {
            segment: bytes.len(),
            bytes: &mut bytes,
            ecn: Ecn::Ect0,
        };
        let sealed = self.sessions.seal(now, path(to), &mut batch, &mut self.rng);
        let mut leaving = self.leaving();
        if sealed == Sealed::Ready {
            let from = self.address;
            leaving.insert(0, Flying { from, to, bytes });
        }
        leaving
    }

    /// Opens an arriving datagram; returns its plaintext, if it is authentic.
    pub(crate) fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = bytes.to_vec();
        match self
            .sessions
            .open(now, path(from), &mut bytes, &mut self.rng)
        {
            Opened::Plaintext(plaintext) => Some(plaintext.to_vec()),
            Opened::Handshake | Opened::Ignored(_) => None,
        }
    }

    pub(crate) fn leaving(&mut self) -> Vec<Flying> {
        let from = self.address;
        let polled = std::iter::from_fn(|| self.sessions.poll_transmit());
        polled
            .map(|transmit| Flying {
                from,
                to: transmit.path.peer,
                bytes: transmit.bytes,
            })
            .collect()
    }
}

struct World {
    endpoints: [Endpoint; 2],
    now: Time,
    flying: Vec<Flying>,
    /// The plaintexts, which are numbers, that were sealed and have not arrived.
    pending: BTreeSet<u64>,
    next: u64,
    received: [u64; 2],
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn pick(&mut self, count: usize) -> Option<usize> {
        let number = u16::from_be_bytes([self.byte()?, self.byte()?]);
        (count > 0).then(|| usize::from(number) % count)
    }
}

impl World {
    fn new() -> Self {
        Self {
            endpoints: [Endpoint::new(7, 1, 1), Endpoint::new(7, 2, 2)],
            now: Time::ZERO,
            flying: Vec::new(),
            pending: BTreeSet::new(),
            next: 0,
            received: [0; 2],
        }
    }

    fn send(&mut self, end: usize) {
        let to = self.endpoints[1 - end].address;
        let leaving = self.endpoints[end].send(self.now, to, &self.next.to_be_bytes());
        self.pending.insert(self.next);
        self.next += 1;
        self.fly(leaving);
    }

    fn fly(&mut self, leaving: Vec<Flying>) {
        self.flying.extend(leaving);
        self.flying.truncate(MAX_FLYING);
    }

    /// A datagram arrives unchanged: each sealed plaintext arrives once.
    fn arrive(&mut self, datagram: &Flying) {
        let end = usize::from(self.endpoints[1].address == datagram.to);
        let plaintext = self.endpoints[end].receive(self.now, datagram.from, &datagram.bytes);
        if let Some(plaintext) = plaintext {
            let number = u64::from_be_bytes(plaintext.try_into().expect("a plaintext of ours"));
            assert!(self.pending.remove(&number), "sealed once, opened once");
            self.received[end] += 1;
        }
        let leaving = self.endpoints[end].leaving();
        self.fly(leaving);
    }

    /// A datagram arrives that no endpoint sent in this form: it is not authentic.
    fn forge(&mut self, to: SocketAddr, from: SocketAddr, bytes: &[u8]) {
        let end = usize::from(self.endpoints[1].address == to);
        let plaintext = self.endpoints[end].receive(self.now, from, bytes);
        assert_eq!(plaintext, None, "nothing but what the peer sealed");
        let replies = self.endpoints[end].leaving();
        let replied: usize = replies.iter().map(|reply| reply.bytes.len()).sum();
        assert!(replied <= bytes.len(), "no more bytes than arrived");
        self.fly(replies);
    }

    fn tick(&mut self) {
        for end in 0..2 {
            let due = self.endpoints[end].sessions.poll_timeout();
            if due.is_some_and(|due| due <= self.now) {
                self.endpoints[end].sessions.handle_timeout(self.now);
                let leaving = self.endpoints[end].leaving();
                self.fly(leaving);
            }
            self.check(end);
        }
    }

    fn check(&self, end: usize) {
        let statistics = self.endpoints[end].sessions.statistics();
        assert!(statistics.sessions <= 3 * 2, "two for each address");
        assert!(statistics.initiations <= 1);
    }

    /// One operation; nothing where the input ends.
    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let op = input.byte()?;
        match op % 14 {
            0 | 1 => self.send(usize::from(op % 14)),
            2..=4 => {
                if let Some(index) = input.pick(self.flying.len()) {
                    let datagram = self.flying.remove(index);
                    self.arrive(&datagram);
                }
            }
            5..=10 => {
                if let Some(index) = input.pick(self.flying.len()) {
                    let datagram = self.flying[index].clone();
                    self.disturb(op % 14, index, datagram, input)?;
                }
            }
            11 => self.now += Span::from_ms(u64::from(input.byte()?) << (op >> 5)),
            12 => {
                let due = self
                    .endpoints
                    .iter()
                    .filter_map(|end| end.sessions.poll_timeout());
                self.now = due.min().map_or(self.now, |due| due.max(self.now));
            }
            _ => self.strike(op, input)?,
        }
        self.tick();
        Some(())
    }

    fn disturb(
        &mut self,
        op: u8,
        index: usize,
        datagram: Flying,
        input: &mut Input<'_>,
    ) -> Option<()> {
        let Flying {
            from,
            to,
            mut bytes,
        } = datagram;
        match op {
            5 => {
                self.flying.remove(index);
            }
            6 => self.fly(vec![Flying { from, to, bytes }]),
            7 => {
                let at = input.pick(bytes.len())?;
                bytes[at] ^= 1 << (input.byte()? % 8);
                self.forge(to, from, &bytes);
            }
            8 => {
                let length = input.pick(bytes.len())?;
                self.forge(to, from, &bytes[..length]);
            }
            // From another address: a handshake may get a response, to that address.
            9 => {
                let other = SocketAddr::from(([10, 0, 0, 9], u16::from(input.byte()?)));
                self.forge(to, other, &bytes);
                self.flying.retain(|datagram| datagram.to != other);
            }
            // Back to its sender.
            _ => self.forge(from, to, &bytes),
        }
        Some(())
    }

    /// An endpoint restarts, or receives arbitrary bytes.
    fn strike(&mut self, op: u8, input: &mut Input<'_>) -> Option<()> {
        let end = usize::from(op >> 7);
        let count = usize::from(input.byte()?);
        if count == 255 {
            self.next += 1;
            self.endpoints[end] = Endpoint::new(7, end as u8 + 1, 1_000 + self.next);
            return Some(());
        }
        let (bytes, rest) = input.0.split_at(count.min(input.0.len()));
        input.0 = rest;
        let (to, from) = (self.endpoints[end].address, self.endpoints[1 - end].address);
        self.forge(to, from, bytes);
        Some(())
    }

    /// On a network without disturbance, both endpoints receive each other's data within some seconds.
    fn recover(&mut self) {
        self.flying.clear();
        let before = self.received;
        for round in 0..100 {
            // One after the other: a handshake is nearly all of the time that an input takes.
            self.send(round % 2);
            while !self.flying.is_empty() {
                let datagram = self.flying.remove(0);
                self.arrive(&datagram);
            }
            self.now += Span::from_ms(100);
            self.tick();
            if self.received[0] > before[0] && self.received[1] > before[1] {
                return;
            }
        }
        panic!("no data of one endpoint arrives");
    }
}

/// Two endpoints recover from any disturbance.
pub(crate) fn secure(input: &[u8]) {
    let mut world = World::new();
    let mut input = Input(input);
    while world.step(&mut input).is_some() {}
    world.recover();
}
