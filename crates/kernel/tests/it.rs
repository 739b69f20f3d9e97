//! The fixed-point DCTCP of bpf/dctcp.h and `congestion::Dctcp` on the same events.
//!
//! Tolerances. alpha: a window's update drops less than 3 units of 2^-30, and later ones keep 15/16 of the difference:
//! 48 units in all. The window: growth and cuts drop less than 2^-19 of a segment each; `Dctcp` drops less than a byte per
//! cut, which is less than 2^-14 of the segments here. Thousands of them stay below a hundredth of a segment, because
//! each cut and each growth by 1 / cwnd lessens the difference. A loss or timeout halves a flight in whole segments, and
//! the kernel's threshold counts whole segments: a segment and a half more.
#![allow(
    clippy::unwrap_used,
    clippy::format_push_string,
    reason = "helpers of tests"
)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use incastle_congestion::{
    AckSample, CongestionEvent, Context, Controller, Dctcp, DctcpConfig, Echo, LimitedBy,
    NewRenoConfig, Phase, Reaction, Window,
};
use incastle_units::{Bytes, Time};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const MSS: u64 = 60_000;
/// The first sequence number of the replay: it wraps soon.
const BASE: u32 = 0xFFFC_0000;
const ALPHA_TOLERANCE: f64 = 48.0 / (1_u64 << 30) as f64;
const MARKS_TOLERANCE: f64 = 0.01;
const LOSS_TOLERANCE: f64 = 1.51;

/// The state of a connection after an event.
#[derive(Debug, Clone, Copy)]
struct State {
    alpha: f64,
    cwnd: f64,
    ssthresh: Option<f64>,
}

/// A connection under `congestion::Dctcp`, whose events are recorded for the replay.
struct Connection {
    control: Dctcp,
    rng: Xoshiro256PlusPlus,
    snd_una: u64,
    snd_nxt: u64,
    /// SND.NXT at the last cut on a mark, while the kernel's state is CWR.
    cwr: Option<u64>,
    phase: Phase,
    /// SND.NXT at the last loss or timeout.
    high: u64,
    events: String,
    states: Vec<State>,
}

impl Connection {
    fn new(seed: u64) -> Self {
        let mut config = DctcpConfig::new(Bytes::new(MSS));
        config.window = NewRenoConfig {
            abc_limit: u32::MAX,
            ..config.window
        };
        let mut new = Self {
            control: Dctcp::new(config),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            snd_una: 0,
            snd_nxt: 0,
            cwr: None,
            phase: Phase::Open,
            high: 0,
            events: String::new(),
            states: Vec::new(),
        };
        new.record('b', [BASE, BASE, 10, 0]);
        new
    }

    fn record(&mut self, event: char, [a, b, c, d]: [u32; 4]) {
        self.events.push_str(&format!("{event} {a} {b} {c} {d}\n"));
        let state = self.control.state();
        let segments = |bytes: Bytes| bytes.count() as f64 / MSS as f64;
        self.states.push(State {
            alpha: state.alpha.unwrap(),
            cwnd: segments(state.cwnd.unwrap()),
            ssthresh: state.ssthresh.map(segments),
        });
    }

    fn report(&mut self, event: CongestionEvent) -> Reaction {
        let mut rng = self.rng.clone();
        let mut cx = context(self.snd_una, self.snd_nxt, &mut rng);
        self.control.on_congestion(&mut cx, event)
    }

    /// Sends what the window permits.
    fn send(&mut self) {
        let Window::Limited(window) = self.control.window() else {
            panic!("DCTCP has a window");
        };
        self.snd_nxt = self.snd_nxt.max(self.snd_una + window.count());
    }

    fn ack(&mut self, echoed: bool) {
        let most = self.snd_nxt - self.snd_una;
        let acked = (1 + self.rng.next_u64() % 4) * MSS / 2;
        let acked = acked.min(most);
        self.snd_una += acked;
        let was = self.phase;
        if self.phase != Phase::Open && self.snd_una >= self.high {
            self.phase = Phase::Open;
        }
        let sample = AckSample {
            acked: Bytes::new(acked),
            segments: 1,
            echo: if echoed {
                Echo::Congestion
            } else {
                Echo::Clear
            },
            rtt: None,
            limited_by: LimitedBy::Window,
            phase: self.phase,
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        let mut rng = self.rng.clone();
        let mut cx = context(self.snd_una, self.snd_nxt, &mut rng);
        self.control.on_ack(&mut cx, &sample);
        // As the program does: the estimate, a cut, then growth by ACKs without ECE.
        let [una, nxt] = [self.snd_una, self.snd_nxt].map(wrapped);
        let mut event = ('a', [una, nxt, u32::from(echoed), 0]);
        if !echoed && self.phase != Phase::Recovery && was != Phase::Recovery {
            let before = *self.states.last().unwrap();
            self.record(event.0, event.1);
            // The replay has not grown yet: nothing to compare.
            *self.states.last_mut().unwrap() = State {
                alpha: f64::NAN,
                ..before
            };
            let after_timeout = u32::from(self.phase == Phase::AfterTimeout);
            event = ('g', [MSS as u32, after_timeout, 0, 0]);
        }
        self.record(event.0, event.1);
        if self.cwr.is_some_and(|high| self.snd_una > high) {
            self.cwr = None;
        }
        if echoed && self.phase == Phase::Open {
            self.mark();
        }
    }

    /// The kernel reports one mark per window of data.
    fn mark(&mut self) {
        let reaction = self.report(CongestionEvent::Ecn);
        if self.cwr.is_none() {
            assert_eq!(reaction, Reaction::Reduced, "once per window of data");
            self.cwr = Some(self.snd_nxt);
            self.record('m', [wrapped(self.snd_nxt), MSS as u32, 0, 0]);
        } else {
            assert_eq!(reaction, Reaction::Ignored, "once per window of data");
        }
    }

    fn lose(&mut self, is_timeout: bool) {
        let event = if is_timeout {
            CongestionEvent::Timeout { backoff: 0 }
        } else {
            CongestionEvent::Loss {
                count: 1,
                largest: self.snd_una,
            }
        };
        self.report(event);
        self.phase = if is_timeout {
            Phase::AfterTimeout
        } else {
            Phase::Recovery
        };
        // A loss is a reaction to marks of the same window, too.
        self.cwr = Some(self.snd_nxt);
        self.high = self.snd_nxt;
        let name = if is_timeout { 't' } else { 'l' };
        self.record(name, [wrapped(self.snd_nxt), MSS as u32, 0, 0]);
    }
}

fn wrapped(sequence: u64) -> u32 {
    BASE.wrapping_add(sequence as u32)
}

fn context(snd_una: u64, snd_nxt: u64, rng: &mut dyn Rng) -> Context<'_> {
    Context {
        now: Time::ZERO,
        snd_una,
        snd_nxt,
        in_flight: Bytes::new(snd_nxt - snd_una),
        smoothed_rtt: None,
        remaining: None,
        deadline: None,
        receiving_rate: None,
        capacity: None,
        rng,
    }
}

/// The program of the C code.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/replay.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let built = Command::new(compiler)
        .args([
            "-O2",
            "-Wall",
            "-Werror",
            "-Wno-unused-function",
            source,
            "-o",
        ])
        .arg(&program)
        .status();
    assert!(built.unwrap().success(), "a C compiler");
    program
});

/// The states of the C code after each event.
fn replay(events: &str) -> Vec<State> {
    let mut child = Command::new(&*PROGRAM)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = events.to_owned();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let done = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let lines = String::from_utf8(done.stdout).unwrap();
    let state = |line: &str| {
        let words: Vec<f64> = line.split(' ').map(|word| word.parse().unwrap()).collect();
        State {
            alpha: words[0],
            cwnd: words[1],
            ssthresh: (words[2] < f64::from(0x7FFF_FFFF)).then_some(words[2]),
        }
    };
    lines.lines().map(state).collect()
}

/// Runs `rounds` windows of data; `losses` of a thousand ACKs show one.
fn connection(seed: u64, rounds: u32, losses: u64) -> Connection {
    let mut one = Connection::new(seed);
    for _ in 0..rounds {
        // From windows without a mark to windows of marks alone.
        let marked = one.rng.next_u64() % 120;
        one.send();
        let end = one.snd_nxt;
        while one.snd_una < end {
            let draw = one.rng.next_u64();
            one.ack(draw % 100 < marked);
            if draw >> 32 & 1023 < losses && one.phase == Phase::Open && one.snd_nxt > one.snd_una {
                one.lose(draw >> 62 == 0);
            }
            one.send();
        }
    }
    one
}

fn compare(one: &Connection, tolerance: f64) -> f64 {
    let replayed = replay(&one.events);
    assert_eq!(replayed.len(), one.states.len());
    let mut worst: f64 = 0.0;
    let events = one.events.lines().enumerate();
    for ((number, event), (ours, theirs)) in events.zip(replayed.iter().zip(&one.states)) {
        if theirs.alpha.is_nan() {
            continue;
        }
        let off = (ours.alpha - theirs.alpha).abs();
        assert!(
            off <= ALPHA_TOLERANCE,
            "{number} {event}: {ours:?} {theirs:?}"
        );
        worst = worst.max((ours.cwnd - theirs.cwnd).abs());
        assert!(worst <= tolerance, "{number} {event}: {ours:?} {theirs:?}");
        if let (Some(ours), Some(theirs)) = (ours.ssthresh, theirs.ssthresh) {
            assert!((ours - theirs).abs() <= tolerance + 1.0, "{number} {event}");
        }
    }
    worst
}

#[test]
fn under_marks_window_and_alpha_are_those_of_the_simulator() {
    for seed in 0..8 {
        let one = connection(seed, 400, 0);
        assert!(one.events.contains("\nm "), "marks");
        compare(&one, MARKS_TOLERANCE);
    }
}

#[test]
fn under_losses_and_timeouts_they_stay_near() {
    for seed in 0..8 {
        let one = connection(seed, 400, 12);
        for event in ["\nl ", "\nt "] {
            assert!(one.events.contains(event), "{event:?}");
        }
        compare(&one, LOSS_TOLERANCE);
    }
}
