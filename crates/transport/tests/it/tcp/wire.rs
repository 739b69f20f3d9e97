//! A wire between two connections, for tests: fixed one-way delay; programmable loss, marks and
//! extra delay. It records every packet in the order of sending.

use std::collections::BTreeMap;

use incastle_congestion::{Algorithm, NewReno, NewRenoConfig};
use incastle_transport::tcp::{
    Arrival, Batch, Config, Connection, Event, Flags, Recovery, Role, SackBlock, Segment,
    TimeoutReport, Transmit,
};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_core::TryRng;

use super::script::{assert_lines, expand};

/// A small generator (SplitMix64), so that the tests draw from a seed.
pub(crate) struct SplitMix(pub(crate) u64);

impl TryRng for SplitMix {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok((self.try_next_u64()? >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Ok(z ^ (z >> 31))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        for byte in out {
            *byte = self.try_next_u64()? as u8;
        }
        Ok(())
    }
}

/// The wire's number of the first data byte of every connection.
pub(crate) const FIRST: u32 = 0xFFFF_0000;

/// Payload bytes of a segment in the written-out tests.
pub(crate) const MSS: u16 = 1000;

/// The one-way delay of the wire.
pub(crate) const DELAY: Span = Span::from_ms(10);

/// An instant in milliseconds.
pub(crate) fn ms(at: u64) -> Time {
    Time::ZERO + Span::from_ms(at)
}

/// The configuration of the written-out tests: established, one ACK per segment.
pub(crate) fn config() -> Config {
    Config {
        mss: MSS,
        handshake: false,
        delayed_ack_count: 1,
        initial_window: Bytes::new(4 * u64::from(MSS)),
        ..Config::default()
    }
}

/// The same with a window of `segments` at the start and no limited transmit.
pub(crate) fn window(segments: u64, recovery: Recovery) -> Config {
    Config {
        recovery,
        limited_transmit: false,
        initial_window: Bytes::new(1000 * segments),
        ..config()
    }
}

/// Loses the segments that begin at these offsets, when they are sent first.
pub(crate) fn lose(seqs: &'static [u64]) -> impl FnMut(&Packet) -> Fate {
    |packet| {
        if seqs.iter().any(|seq| packet.is_first(*seq)) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    }
}

/// Loses the first transmissions of the data at these offsets, so many of each.
pub(crate) fn lose_times(mut losses: Vec<(u64, u32)>) -> impl FnMut(&Packet) -> Fate {
    move |packet| {
        let data = packet.from == 0 && packet.sent.segment.payload > 0;
        let mut left = losses.iter_mut();
        match left.find(|(seq, times)| data && *seq == packet.seq() && *times > 0) {
            Some((_, times)) => {
                *times -= 1;
                Fate::Drop
            }
            None => Fate::Pass,
        }
    }
}

/// Loses everything that A sends in this span of milliseconds.
pub(crate) fn outage(from: u64, to: u64) -> impl FnMut(&Packet) -> Fate {
    move |packet| {
        if packet.from == 0 && packet.at >= ms(from) && packet.at < ms(to) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    }
}

/// NewReno's window rule with the initial window of `config`.
pub(crate) fn new_reno(config: &Config) -> Algorithm {
    let mut window = NewRenoConfig::new(Bytes::new(u64::from(config.mss)));
    window.initial_window = config.initial_window;
    Algorithm::NewReno(NewReno::new(window))
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

/// A packet on the wire.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    pub(crate) at: Time,
    /// 0 for A, 1 for B.
    pub(crate) from: usize,
    pub(crate) sent: Transmit,
    pub(crate) sacks: Vec<SackBlock>,
}

impl Packet {
    pub(crate) fn seq(&self) -> u64 {
        u64::from(self.sent.segment.seq.wrapping_sub(FIRST))
    }

    pub(crate) fn has(&self, flags: Flags) -> bool {
        self.sent.segment.flags.contains(flags)
    }

    /// Whether it is data at this offset, sent for the first time.
    pub(crate) fn is_first(&self, seq: u64) -> bool {
        self.sent.segment.payload > 0 && self.seq() == seq && !self.sent.retransmission
    }

    /// One line: milliseconds, sender, content.
    pub(crate) fn line(&self, fate: Fate) -> String {
        let s = &self.sent.segment;
        let at = self.at.as_ps() / 1_000_000_000;
        let mut words = vec![at.to_string(), ["A", "B"][self.from].to_string()];
        if s.payload > 0 || self.has(Flags::FIN) {
            words.push(format!("{}+{}", self.seq(), s.payload));
        }
        let names = [
            (Flags::SYN, "SYN"),
            (Flags::FIN, "FIN"),
            (Flags::ECE, "ECE"),
            (Flags::CWR, "CWR"),
        ];
        let set = names.into_iter().filter(|(flag, _)| self.has(*flag));
        words.extend(set.map(|(_, name)| name.to_string()));
        let ack = s.ack.wrapping_sub(FIRST);
        if self.has(Flags::ACK) && (s.payload == 0 || ack > 0) {
            words.push(format!("ack {ack}"));
        }
        for block in &self.sacks {
            let start = block.start.wrapping_sub(FIRST);
            let end = block.end.wrapping_sub(FIRST);
            words.push(format!("sack {start}-{end}"));
        }
        let again = self.sent.retransmission.then_some("again");
        words.extend(again.map(str::to_string));
        match fate {
            Fate::Drop => words.push("lost".to_string()),
            Fate::Mark => words.push("CE".to_string()),
            Fate::Delay(by) => words.push(format!("late {}", by.as_ps() / 1_000_000_000)),
            Fate::Twice(by) => words.push(format!("twice {}", by.as_ps() / 1_000_000_000)),
            Fate::Pass => {}
        }
        words.join(" ")
    }
}

/// A timeout at one endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeout {
    pub(crate) at: Time,
    pub(crate) from: usize,
    pub(crate) report: TimeoutReport,
    /// The number of packets that both endpoints had sent by then.
    pub(crate) before: usize,
}

/// Whether packets leave between arrivals of one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gathering {
    /// Packets leave after each.
    Off,
    /// Nothing: they are one batch.
    Batch,
    /// Nothing leaves, because the NIC is busy; each is a batch.
    BusyNic,
}

pub(crate) type Judge = Box<dyn FnMut(&Packet) -> Fate>;

/// Two endpoints and the wire between them.
pub(crate) struct Wire {
    pub(crate) now: Time,
    pub(crate) endpoints: [Connection; 2],
    pub(crate) record: Vec<Packet>,
    pub(crate) trace: Vec<String>,
    pub(crate) events: Vec<(Time, usize, Event)>,
    pub(crate) timeouts: Vec<Timeout>,
    /// Every packet that arrived, and when.
    pub(crate) heard: Vec<(Time, Packet)>,
    pub(crate) gathering: Gathering,
    /// Packets arrive at multiples of this, where it is not zero.
    pub(crate) interrupts: Span,
    pub(crate) judge: Judge,
    flying: BTreeMap<(Time, u64), (Packet, Ecn)>,
    counter: u64,
    pub(crate) rng: SplitMix,
}

impl Wire {
    pub(crate) fn new(
        endpoints: [Connection; 2],
        judge: impl FnMut(&Packet) -> Fate + 'static,
    ) -> Self {
        Self {
            now: Time::ZERO,
            endpoints,
            record: Vec::new(),
            trace: Vec::new(),
            events: Vec::new(),
            timeouts: Vec::new(),
            heard: Vec::new(),
            gathering: Gathering::Off,
            interrupts: Span::ZERO,
            judge: Box::new(judge),
            flying: BTreeMap::new(),
            counter: 0,
            rng: SplitMix(1),
        }
    }

    /// Two endpoints of one configuration under NewReno.
    pub(crate) fn symmetric(config: &Config, judge: impl FnMut(&Packet) -> Fate + 'static) -> Self {
        let a = Connection::new(config, new_reno(config), Role::Active);
        let b = Connection::new(config, new_reno(config), Role::Passive);
        Self::new([a, b], judge)
    }

    /// Sends the endpoints' packets and records their events.
    pub(crate) fn pump(&mut self) {
        for from in 0..2 {
            while let Some(sent) = self.endpoints[from].poll_transmit(self.now, &mut self.rng) {
                let sacks = self.endpoints[from].sacks().to_vec();
                assert_eq!(sacks.len(), usize::from(sent.segment.sacks));
                self.put(Packet {
                    at: self.now,
                    from,
                    sent,
                    sacks,
                });
            }
            while let Some(event) = self.endpoints[from].poll_event() {
                self.events.push((self.now, from, event));
            }
        }
    }

    fn put(&mut self, packet: Packet) {
        let fate = (self.judge)(&packet);
        let line = packet.line(fate);
        let segment = &packet.sent.segment;
        let pure = segment.payload == 0 && !packet.has(Flags::SYN) && !packet.has(Flags::FIN);
        let nxt = self.endpoints[packet.from].snd_max() as u32;
        self.trace
            .push(if pure && segment.seq != FIRST.wrapping_add(nxt) {
                // A window probe.
                format!("{line} seq {}", packet.seq())
            } else {
                line
            });
        let at = self.now + DELAY;
        let ecn = packet.sent.ecn;
        match fate {
            Fate::Pass => self.fly(at, &packet, ecn),
            Fate::Drop => {}
            Fate::Mark => {
                let marked = if ecn.is_capable() { Ecn::Ce } else { ecn };
                self.fly(at, &packet, marked);
            }
            Fate::Delay(extra) => self.fly(at + extra, &packet, ecn),
            Fate::Twice(extra) => {
                self.fly(at, &packet, ecn);
                self.fly(at + extra, &packet, ecn);
            }
        }
        self.record.push(packet);
    }

    fn fly(&mut self, at: Time, packet: &Packet, ecn: Ecn) {
        self.counter += 1;
        let at = if self.interrupts > Span::ZERO {
            let interval = self.interrupts.as_ps();
            Time::from_ps(at.as_ps().div_ceil(interval) * interval)
        } else {
            at
        };
        self.flying
            .insert((at, self.counter), (packet.clone(), ecn));
    }

    /// The next instant at which something happens.
    fn next(&self) -> Option<Time> {
        let arrival = self.flying.keys().next().map(|(at, _)| *at);
        let timers = self.endpoints.iter().filter_map(Connection::poll_timeout);
        timers.chain(arrival).min()
    }

    /// Moves on to the next instant, if it comes before `limit`; false if nothing happens until
    /// then.
    pub(crate) fn step(&mut self, limit: Time) -> bool {
        self.pump();
        let Some(at) = self.next().filter(|at| *at <= limit) else {
            return false;
        };
        assert!(at >= self.now, "time never runs back");
        self.now = at;
        while let Some(entry) = self.flying.first_entry() {
            if entry.key().0 > at {
                break;
            }
            let (packet, ecn) = entry.remove();
            self.hand_over(&packet, ecn);
        }
        for (name, end) in self.endpoints.iter_mut().enumerate() {
            if end.poll_timeout().is_some_and(|timer| timer <= at) {
                end.handle_timeout(at, &mut self.rng);
            }
            let timeout = end.poll_timeout_report().map(|report| Timeout {
                at,
                from: name,
                report,
                before: self.record.len(),
            });
            self.timeouts.extend(timeout);
        }
        self.pump();
        true
    }

    fn hand_over(&mut self, packet: &Packet, ecn: Ecn) {
        let to = 1 - packet.from;
        let follows = self
            .flying
            .first_key_value()
            .is_some_and(|(key, next)| key.0 == self.now && next.0.from == packet.from);
        let batch = if follows && self.gathering == Gathering::Batch {
            Batch::More
        } else {
            Batch::Last
        };
        self.heard.push((self.now, packet.clone()));
        let arrival = Arrival {
            segment: &packet.sent.segment,
            ecn,
            sacks: &packet.sacks,
            batch,
        };
        self.endpoints[to].handle(self.now, &arrival, &mut self.rng);
        if !follows || self.gathering == Gathering::Off {
            self.pump();
        }
    }

    /// Runs until nothing happens before `limit` any more.
    pub(crate) fn run(&mut self, limit: Time) {
        while self.step(limit) {}
        self.now = self.now.max(limit);
    }

    /// The lines of data and pure ACKs sent by one endpoint.
    pub(crate) fn lines(&self, name: &str) -> Vec<&str> {
        let sent_by = |line: &&String| line.split(' ').nth(1) == Some(name);
        self.trace
            .iter()
            .filter(sent_by)
            .map(String::as_str)
            .collect()
    }
}

/// Compares a record of packets with the expected one, which is written as a script.
#[track_caller]
pub(crate) fn assert_trace(trace: &[String], expected: &str) {
    assert_lines(trace, &expand(expected));
}

/// A data segment made by hand, for tests of a receiver alone.
pub(crate) fn data(at: Time, seq: u64, len: u16) -> Segment {
    Segment {
        timestamp: at,
        echo: Time::NEVER,
        seq: FIRST.wrapping_add(seq as u32),
        ack: FIRST,
        window: 1 << 20,
        payload: len,
        flags: Flags::ACK,
        sacks: 0,
    }
}

/// A segment that arrives alone, without ECN and SACK.
pub(crate) fn clear(segment: &Segment) -> Arrival<'_> {
    Arrival {
        segment,
        ecn: Ecn::NotEct,
        sacks: &[],
        batch: Batch::Last,
    }
}

/// A pure ACK made by hand, for tests of a sender alone.
pub(crate) fn ack(at: Time, next: u64, flags: Flags) -> Segment {
    Segment {
        ack: FIRST.wrapping_add(next as u32),
        flags: Flags::ACK.with(flags),
        ..data(at, 0, 0)
    }
}

/// A receiver alone: its response to segments made by hand.
pub(crate) struct Receiver {
    pub(crate) connection: Connection,
    rng: SplitMix,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            connection: Connection::new(config, new_reno(config), Role::Passive),
            rng: SplitMix(1),
        }
    }

    /// Delivers a segment; returns the lines of the response.
    pub(crate) fn take(&mut self, segment: &Segment, ecn: Ecn, batch: Batch) -> Vec<String> {
        let now = segment.timestamp;
        let arrival = Arrival {
            ecn,
            batch,
            ..clear(segment)
        };
        self.connection.handle(now, &arrival, &mut self.rng);
        if batch == Batch::More {
            return Vec::new();
        }
        self.answers(now)
    }

    /// The packets that it sends now.
    pub(crate) fn answers(&mut self, now: Time) -> Vec<String> {
        self.connection.handle_timeout(now, &mut self.rng);
        let mut lines = Vec::new();
        while let Some(sent) = self.connection.poll_transmit(now, &mut self.rng) {
            let packet = Packet {
                at: now,
                from: 1,
                sent,
                sacks: self.connection.sacks().to_vec(),
            };
            lines.push(packet.line(Fate::Pass));
        }
        lines
    }
}
