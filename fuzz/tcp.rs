//! The fuzz target `tcp_connection`: a TCP endpoint, with segments that no peer would send, at any times.
//! The same function runs under libFuzzer and in the ordinary tests of `incastle-transport`.

use incastle_congestion::{
    Algorithm, Cubic, CubicConfig, Dctcp, DctcpConfig, NewReno, NewRenoConfig,
};
use incastle_transport::tcp::{
    Arrival, Batch, CeChange, Config, Connection, EcnMode, Flags, LossDetection, Recovery, Role,
    SackBlock, Segment,
};
use incastle_units::{Bytes, Ecn, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

#[path = "input.rs"]
mod input;

use input::Input;

/// Maximum of segments at one instant: more would be an infinite loop.
const MAX_AT_ONCE: usize = 1_000_000;
/// Maximum of bytes that an application writes.
const MAX_WRITTEN: u64 = 1 << 20;

/// A connection keeps its invariants over any sequence of segments, timers and application calls.
pub(crate) fn connection(input: &[u8]) {
    let mut input = Input(input);
    let (Some(kind), Some(variant)) = (input.byte(), input.byte()) else {
        return;
    };
    let mut subject = Subject::new(kind, variant);
    while subject.step(&mut input).is_some() {
        subject.check();
    }
    subject.flush();
}

struct Subject {
    connection: Connection,
    config: Config,
    now: Time,
    rng: Xoshiro256PlusPlus,
    closed: bool,
    written: u64,
}

fn config(kind: u8, variant: u8) -> Config {
    let recoveries = [
        Recovery::Reno,
        Recovery::NewReno,
        Recovery::Sack,
        Recovery::RackTlp,
    ];
    let ecns = [
        EcnMode::Off,
        EcnMode::Classic,
        EcnMode::Dctcp(CeChange::Linux),
        EcnMode::Dctcp(CeChange::Figure10),
    ];
    let flag = |bit: u8| variant & (1 << bit) != 0;
    let recovery = recoveries[usize::from(kind) % 4];
    let by_time = recovery == Recovery::RackTlp;
    Config {
        recovery,
        tail_loss_probe: by_time,
        dsack: by_time,
        prr: by_time && flag(4),
        f_rto: by_time && flag(5),
        loss_detection: if by_time && flag(6) {
            LossDetection::Linux
        } else {
            LossDetection::Rfc
        },
        ecn: ecns[usize::from(kind >> 2) % 4],
        handshake: kind & 16 != 0,
        mss: if flag(0) { 100 } else { 1460 },
        delayed_ack_count: if flag(1) { 1 } else { 2 },
        burst: if flag(2) { 4 } else { 1 },
        timestamps: flag(3),
        limited_transmit: flag(4),
        slow_start_after_idle: flag(5),
        receive_window: Bytes::new(if flag(6) { 20_000 } else { 1 << 30 }),
        max_cwnd: flag(7).then_some(Bytes::new(100_000)),
        ..Config::default()
    }
}

fn algorithm(kind: u8, config: &Config) -> Algorithm {
    let mss = Bytes::new(u64::from(config.mss));
    match kind >> 6 {
        0 => Algorithm::NewReno(NewReno::new(NewRenoConfig::new(mss))),
        1 => Algorithm::from(Cubic::new(CubicConfig::new(mss))),
        _ => Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(mss))),
    }
}

impl Subject {
    fn new(kind: u8, variant: u8) -> Self {
        let config = config(kind, variant);
        let role = if kind & 32 == 0 {
            Role::Active
        } else {
            Role::Passive
        };
        let mut connection = Connection::new(&config, algorithm(kind, &config), role);
        if role == Role::Active {
            connection.open(Time::ZERO);
        }
        Self {
            connection,
            config,
            now: Time::ZERO,
            rng: Xoshiro256PlusPlus::seed_from_u64(1),
            closed: false,
            written: 0,
        }
    }

    /// One operation; nothing where the input ends.
    fn step(&mut self, input: &mut Input<'_>) -> Option<()> {
        let op = input.byte()?;
        match op % 8 {
            0..=2 => self.arrive(op, input)?,
            3 => self.now += Span::from_us(u64::from(input.word()?) << (op >> 4)),
            4 => self.write(u64::from(input.word()?) << (op >> 5)),
            5 => self.expire(),
            6 => self.flush(),
            _ => self.decide(op, u64::from(input.word()?)),
        }
        Some(())
    }

    /// A segment whose numbers are near the connection's, or anywhere.
    fn arrive(&mut self, op: u8, input: &mut Input<'_>) -> Option<()> {
        let bits = input.byte()?;
        let own = [
            self.connection.snd_una(),
            self.connection.snd_nxt(),
            self.connection.snd_max(),
        ];
        let base = own[usize::from(op >> 3) % 3] as u32;
        let numbers = [input.word()?, input.word()?, input.word()?];
        let [seq, ack, length] = numbers;
        let wide = if op & 128 == 0 { 1 } else { 65_521 };
        let flags = [Flags::FIN, Flags::SYN, Flags::ACK, Flags::ECE, Flags::CWR];
        let segment = Segment {
            timestamp: self.now,
            echo: if bits & 32 == 0 {
                Time::NEVER
            } else {
                Time::from_ps(u64::from(seq))
            },
            seq: near(self.connection.delivered() as u32 + 1, seq, wide),
            ack: near(base + 1, ack, wide),
            window: u32::from(length) << (bits >> 6) << 4,
            payload: if bits & 64 == 0 {
                0
            } else {
                length % (self.config.mss + 1)
            },
            flags: flags
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| bits & (1 << bit) != 0)
                .fold(Flags::NONE, |all, (_, flag)| all.with(flag)),
            sacks: 0,
        };
        let blocks = Self::blocks(op, base, numbers);
        let count = if op & 64 == 0 {
            0
        } else {
            usize::from(bits % 4)
        };
        let ecn = [Ecn::Ect0, Ecn::Ce, Ecn::NotEct][usize::from(op >> 4) % 3];
        let arrival = Arrival {
            segment: &segment,
            ecn,
            sacks: &blocks[..count],
            batch: Batch::Last,
        };
        self.connection.handle(self.now, &arrival, &mut self.rng);
        Some(())
    }

    fn blocks(op: u8, base: u32, numbers: [u16; 3]) -> [SackBlock; 3] {
        let wide = if op & 32 == 0 { 1 } else { 4_099 };
        numbers.map(|number| {
            let start = near(base, number, wide);
            let end = near(start, number.rotate_left(8), wide);
            SackBlock { start, end }
        })
    }

    fn write(&mut self, bytes: u64) {
        if !self.closed && self.written < MAX_WRITTEN {
            self.written += bytes;
            self.connection.write(bytes);
        }
    }

    fn expire(&mut self) {
        if let Some(at) = self.connection.poll_timeout() {
            self.now = self.now.max(at);
            self.connection.handle_timeout(self.now, &mut self.rng);
            let _ = self.connection.poll_timeout_report();
        }
    }

    /// An application's calls other than write.
    fn decide(&mut self, op: u8, word: u64) {
        match (op >> 3) % 6 {
            0 => {
                self.closed = true;
                self.connection.close();
            }
            1 => self.connection.stop(),
            2 => self.connection.set_reading(word.is_multiple_of(2)),
            3 => {
                self.connection.read(word);
            }
            4 => self.connection.hold_back(),
            _ => {
                let deadline = self.now + Span::from_us(word);
                self.connection.set_deadline(Some(deadline));
            }
        }
    }

    /// All segments that leave now are at most a full segment long.
    fn flush(&mut self) {
        let mut count = 0;
        while let Some(transmit) = self.connection.poll_transmit(self.now, &mut self.rng) {
            count += 1;
            assert!(count < MAX_AT_ONCE, "segments without end");
            assert!(transmit.segment.payload <= self.config.mss);
            assert!(self.connection.sacks().len() <= 3);
        }
        while self.connection.poll_event().is_some() {}
    }

    fn check(&self) {
        let connection = &self.connection;
        assert!(connection.snd_una() <= connection.snd_nxt());
        assert!(connection.snd_nxt() <= connection.snd_max());
        assert!(connection.snd_max() <= connection.written() + 1);
        assert!(connection.acknowledged() <= connection.written());
    }
}

/// A number at a signed distance from `base`.
fn near(base: u32, by: u16, wide: i32) -> u32 {
    let distance = i32::from(by.cast_signed()).wrapping_mul(wide);
    base.wrapping_add_signed(distance)
}
