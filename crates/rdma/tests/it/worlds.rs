//! Seeded worlds: messages of all kinds in both directions over wires that lose, repeat, delay, overtake and mark
//! packets (a damaged packet is a lost one), with every option. Every byte of every message arrives once, in
//! order; messages complete in order; nothing hangs. A world follows from its seed: `RDMA_WORLD=123` replays one.

use incastle_cases::{cases, seed_to_replay};
use incastle_congestion::{Algorithm, Window};
use incastle_rdma::{Config, DataAt, Event, MAX_PSN, MessageId, Notification, Recovery, Verb};
use incastle_units::{Bytes, Rate, Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::control::Fixed;
use super::net::{Fate, Net, config};

/// Worlds of the full test.
const WORLDS: u32 = 4_000;
/// Everything is over by then.
const LIMIT: Span = Span::from_secs(20);

/// Chances in 1,000.
#[derive(Debug, Clone, Copy)]
struct Wires {
    loss: u64,
    marks: u64,
    copies: u64,
    late: u64,
    lateness: Span,
}

#[derive(Debug, Clone, Copy)]
struct Post {
    at: Time,
    from: usize,
    verb: Verb,
    bytes: u64,
}

struct World {
    seed: u64,
    net: Net,
    posts: Vec<Post>,
    wires: Wires,
    config: Config,
}

struct Draws(Xoshiro256PlusPlus);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn wires(draws: &mut Draws) -> Wires {
    Wires {
        loss: draws.pick(&[0, 0, 5, 20, 100, 300]),
        marks: draws.pick(&[0, 100, 1000]),
        copies: draws.pick(&[0, 0, 20, 200]),
        late: draws.pick(&[0, 0, 20, 300]),
        lateness: Span::from_us(draws.pick(&[1, 5, 50, 500])),
    }
}

fn options(draws: &mut Draws) -> Config {
    let recovery = draws.pick(&[
        Recovery::GoBackN,
        Recovery::GoBackN,
        Recovery::GoBackToZero,
        Recovery::Chunks(4),
    ]);
    // Part of a chunk is no progress: its time on the wire has to be shorter than the timeout.
    let timeout = match recovery {
        Recovery::Chunks(_) => 2_000,
        _ => draws.pick(&[60, 200, 2_000]),
    };
    Config {
        mtu: draws.pick(&[1000, 1024, 4096, 7]),
        initial_psn: draws.pick(&[0, 1, MAX_PSN, MAX_PSN - 20, 1 << 23, (1 << 23) - 3]),
        ack_every: draws.pick(&[1, 1, 2, 16, 1000]),
        recovery,
        nak_interval: draws.pick(&[None, Some(Span::from_us(30))]),
        notification: draws.pick(&[Notification::Cnp(Span::from_us(50)), Notification::Echo]),
        max_reads: draws.pick(&[1, 2, 16]),
        ack_timeout: Some(Span::from_us(timeout)),
        retry_limit: None,
        ..config()
    }
}

/// No window is smaller than a chunk, which would never be acknowledged.
fn control(draws: &mut Draws, config: &Config) -> Fixed {
    let packet = u64::from(config.mtu);
    let window = draws.pick(&[1, 2, 5, 50, u64::MAX]);
    let floor = match config.recovery {
        Recovery::Chunks(packets) => u64::from(packets),
        _ => 1,
    };
    Fixed {
        window: match window {
            u64::MAX => Window::Unlimited,
            packets => Window::Limited(Bytes::new(packets.max(floor) * packet)),
        },
        rate: draws
            .pick(&[None, Some(1_000), Some(8_000), Some(40_000)])
            .map(|mbit| Rate::from_bits_per_second(mbit * 1_000_000)),
        ..Fixed::default()
    }
}

fn posts(draws: &mut Draws, config: &Config) -> Vec<Post> {
    // A message that restarts as a whole must have a chance.
    let most = match config.recovery {
        Recovery::GoBackToZero => 6,
        _ => 60,
    };
    let verbs = draws.pick(&[
        &[Verb::Write][..],
        &[Verb::Write, Verb::Send],
        &[Verb::Write, Verb::Send, Verb::Read],
        &[Verb::Read],
    ]);
    let count = 1 + draws.below(20);
    let ends = 1 + draws.below(2);
    let mut posts: Vec<_> = (0..count)
        .map(|_| Post {
            at: Time::ZERO + Span::from_ns(draws.below(400_000)),
            from: draws.below(ends) as usize,
            verb: draws.pick(verbs),
            bytes: 1 + draws.below(u64::from(config.mtu) * most),
        })
        .collect();
    posts.sort_by_key(|post| post.at);
    posts
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draws = Draws(Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x0_DEA1));
        let config = options(&mut draws);
        let wires = wires(&mut draws);
        let posts = posts(&mut draws, &config);
        let kept = std::cell::RefCell::new(draws);
        let make = || Algorithm::from(control(&mut kept.borrow_mut(), &config));
        let mut net = Net::controlled(&config, make);
        let mut draws = kept.into_inner();
        net.judge = Box::new(move |_| {
            let mut hits = |chance| draws.below(1000) < chance;
            let (lost, twice, late) = (hits(wires.loss), hits(wires.copies), hits(wires.late));
            let marked = hits(wires.marks);
            let span = wires.lateness.scale_lossy(random::uniform(&mut draws.0));
            match (lost, twice, late, marked) {
                (true, ..) => Fate::Drop,
                (_, true, ..) => Fate::Twice(span),
                (_, _, true, _) => Fate::Delay(span),
                (.., true) => Fate::Mark,
                _ => Fate::Pass,
            }
        });
        Self {
            seed,
            net,
            posts,
            wires,
            config,
        }
    }

    /// Runs to the end; gives a digest of the record.
    fn run(mut self) -> u64 {
        let until = Time::ZERO + LIMIT;
        for post in self.posts.clone() {
            self.net.run(post.at);
            self.net.post(post.from, post.verb, post.bytes);
        }
        while !self.net.ends.iter().all(|end| end.pair.is_finished()) {
            assert!(self.net.step(until), "{}", self.report());
        }
        // What still flies changes nothing.
        self.net.run(until);
        for i in 0..2 {
            self.check(i);
        }
        let lines = self.net.trace.iter().flat_map(|line| line.bytes());
        lines.fold(7, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        })
    }

    fn check(&self, i: usize) {
        let end = &self.net.ends[i];
        let own: Vec<_> = self.posts.iter().filter(|post| post.from == i).collect();
        let peers = self
            .posts
            .iter()
            .filter(|post| post.from != i && post.verb != Verb::Read);
        let expected: Vec<_> = peers
            .map(|Post { verb, bytes, .. }| Event::Received {
                verb: *verb,
                bytes: *bytes,
            })
            .collect();
        let is_completion = |event: &Event| matches!(event, Event::Completed(_));
        let (completions, received): (Vec<_>, Vec<_>) =
            end.events.iter().copied().partition(is_completion);
        assert_eq!(received, expected, "{}", self.report());
        let ids = 0..own.len() as u64;
        let in_order: Vec<_> = ids.map(|id| Event::Completed(MessageId(id))).collect();
        assert_eq!(completions, in_order, "{}", self.report());
        let read = own
            .iter()
            .filter(|post| post.verb == Verb::Read)
            .map(|post| post.bytes);
        let written = expected.iter().map(|event| match event {
            Event::Received { bytes, .. } => *bytes,
            _ => 0,
        });
        let bytes: u64 = read.chain(written).sum();
        assert_eq!(end.pair.delivered(), bytes, "{}", self.report());
        assert_eq!((end.pair.unsent(), end.pair.in_flight()), (0, 0));
        assert_eq!(end.pair.data_at(self.net.now), DataAt::Never);
        assert_eq!(end.pair.poll_timeout(), None, "{}", self.report());
    }

    fn report(&self) -> String {
        let Self {
            seed,
            wires,
            config,
            posts,
            ..
        } = self;
        let ends = &self.net.ends;
        let last = self.net.trace.len().saturating_sub(40);
        let stats = [0, 1].map(|i| *ends[i].pair.stats());
        let trace = self.net.trace[last..].join("\n");
        format!("world {seed}: {wires:?} {config:?} {posts:?} {stats:?}\n{trace}")
    }
}

#[test]
fn every_byte_of_every_message_arrives_once_and_in_order() {
    if let Some(seed) = seed_to_replay("RDMA_WORLD") {
        World::new(seed).run();
        return;
    }
    for seed in 0..u64::from(cases(WORLDS)) {
        World::new(seed).run();
    }
}

#[test]
fn a_world_replays_exactly() {
    for seed in [1, 7, 42] {
        assert_eq!(
            World::new(seed).run(),
            World::new(seed).run(),
            "world {seed}"
        );
    }
}
