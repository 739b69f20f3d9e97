//! Packet sequences as scripts, in the style of packetdrill. Each line is a packet that leaves: millisecond, sender,
//! content, and its fate on the wire: `lost`, `CE`, `late 5` or `twice 5` (milliseconds). The wire takes the fates from
//! the script; in the end its record must be the script.
//!
//! `1000..=4000` stands for a line each with 1000, 2000, 3000 and 4000; the runs of one line go on together. `3 x`
//! before a line repeats it.

use incastle_transport::tcp::{Config, Recovery};
use incastle_units::{Bytes, Span};

use super::wire::{Fate, MSS, Packet, Wire, config, ms};

/// The packets of a wire, and their fates.
pub(crate) struct Script {
    lines: Vec<String>,
    /// Whether further packets may follow.
    open: bool,
}

/// A script of all packets.
pub(crate) fn script(text: &str) -> Script {
    Script {
        lines: expand(text),
        open: false,
    }
}

/// A script of the first packets; those after them arrive.
pub(crate) fn beginning(text: &str) -> Script {
    Script {
        open: true,
        ..script(text)
    }
}

/// A writes `bytes` now, and time passes until that millisecond.
pub(crate) fn write(bytes: u64, until: u64) -> impl FnOnce(&mut Wire) {
    move |wire| {
        wire.endpoints[0].write(bytes);
        wire.run(ms(until));
    }
}

/// A wire at 100 ms, whose round trip of 20 ms A has measured with a segment.
pub(crate) fn measured(config: &Config) -> Wire {
    let mut wire = Wire::symmetric(config, |_| Fate::Pass);
    write(1000, 100)(&mut wire);
    wire
}

/// A transfer of `bytes` from 100 ms on over a measured wire, whose fates this decides.
pub(crate) fn judged(
    config: &Config,
    bytes: u64,
    judge: impl FnMut(&Packet) -> Fate + 'static,
) -> Wire {
    let mut wire = measured(config);
    wire.trace.clear();
    wire.judge = Box::new(judge);
    write(bytes, 10_000)(&mut wire);
    assert_eq!(wire.endpoints[1].delivered(), 1000 + bytes);
    wire
}

/// RACK-TLP with duplicate reports, and a window of `segments` at the start.
pub(crate) fn rack(segments: u64) -> Config {
    Config {
        recovery: Recovery::RackTlp,
        tail_loss_probe: true,
        dsack: true,
        initial_window: Bytes::new(1000 * segments),
        ..config()
    }
}

/// The same without probes.
pub(crate) fn rack_alone(segments: u64) -> Config {
    Config {
        tail_loss_probe: false,
        ..rack(segments)
    }
}

/// The timeouts of A.
pub(crate) fn timeouts(wire: &Wire) -> u64 {
    wire.endpoints[0].stats().timeouts
}

/// The window and the threshold of A, in octets.
pub(crate) fn control(wire: &Wire) -> (u64, Option<u64>) {
    let state = wire.endpoints[0].control_state();
    let cwnd = state.cwnd.expect("NewReno has a window");
    (cwnd.count(), state.ssthresh.map(Bytes::count))
}

impl Script {
    /// Plays it between two endpoints of one configuration under NewReno.
    #[track_caller]
    pub(crate) fn play(self, config: &Config, act: impl FnOnce(&mut Wire)) -> Wire {
        self.go_on(Wire::symmetric(config, |_| Fate::Pass), act)
    }

    /// A transfer of `bytes` from 100 ms on, over a measured wire.
    #[track_caller]
    pub(crate) fn transfer(self, config: &Config, bytes: u64) -> Wire {
        let wire = self.go_on(measured(config), write(bytes, 10_000));
        assert_eq!(wire.endpoints[1].delivered(), 1000 + bytes);
        wire
    }

    /// Plays it on a wire, perhaps with a past.
    #[track_caller]
    pub(crate) fn go_on(self, mut wire: Wire, act: impl FnOnce(&mut Wire)) -> Wire {
        wire.trace.clear();
        let mut lines = self.lines.clone().into_iter();
        wire.judge = Box::new(move |packet| {
            let line = lines.next();
            line.map_or(Fate::Pass, |line| fate(&line, packet))
        });
        act(&mut wire);
        let compared = if self.open {
            self.lines.len().min(wire.trace.len())
        } else {
            wire.trace.len()
        };
        assert_lines(&wire.trace[..compared], &self.lines);
        wire
    }
}

/// The fate of a packet whose line this is; another packet arrives, and the record shows it.
fn fate(line: &str, packet: &Packet) -> Fate {
    let Some(words) = line.strip_prefix(packet.line(Fate::Pass).as_str()) else {
        return Fate::Pass;
    };
    let later = |number: &str| Span::from_ms(number.parse().expect("milliseconds"));
    match *words.split_whitespace().collect::<Vec<_>>() {
        [.., "lost"] => Fate::Drop,
        [.., "CE"] => Fate::Mark,
        [.., "late", by] => Fate::Delay(later(by)),
        [.., "twice", by] => Fate::Twice(later(by)),
        _ => Fate::Pass,
    }
}

/// The lines of a text, with its runs and repetitions written out.
pub(crate) fn expand(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(expand_line).collect()
}

fn expand_line(line: &str) -> Vec<String> {
    if let Some((times, rest)) = line.split_once(" x ") {
        let times = times.parse().expect("a number of lines");
        return vec![rest.to_string(); times];
    }
    let words: Vec<Run<'_>> = line.split(' ').map(Run::of).collect();
    let lengths = || words.iter().filter_map(Run::length);
    let length = lengths().next().unwrap_or(1);
    assert!(
        lengths().all(|other| other == length),
        "runs differ: {line}"
    );
    let nth = |at| words.iter().map(|word| word.nth(at)).collect::<Vec<_>>();
    (0..length).map(|at| nth(at).join(" ")).collect()
}

/// A word, which may hold a run of numbers: `before`, the first and the last number, `after`.
struct Run<'a> {
    before: &'a str,
    numbers: Option<(u64, u64)>,
    after: &'a str,
}

impl<'a> Run<'a> {
    fn of(word: &'a str) -> Self {
        let Some((left, right)) = word.split_once("..=") else {
            return Self {
                before: word,
                numbers: None,
                after: "",
            };
        };
        let no_digit = |c: char| !c.is_ascii_digit();
        let (before, first) = left.split_at(left.rfind(no_digit).map_or(0, |at| at + 1));
        let (last, after) = right.split_at(right.find(no_digit).unwrap_or(right.len()));
        let number = |digits: &str| digits.parse().expect("a run of numbers");
        Self {
            before,
            numbers: Some((number(first), number(last))),
            after,
        }
    }

    /// The number of lines, where it is a run.
    fn length(&self) -> Option<u64> {
        let (first, last) = self.numbers?;
        Some((last - first) / u64::from(MSS) + 1)
    }

    fn nth(&self, at: u64) -> String {
        let number = self.numbers.map(|(first, _)| first + at * u64::from(MSS));
        let number = number.map_or(String::new(), |number| number.to_string());
        format!("{}{number}{}", self.before, self.after)
    }
}

/// Compares a record with the expected lines.
#[track_caller]
pub(crate) fn assert_lines(got: &[String], expected: &[String]) {
    let same = got.iter().zip(expected).take_while(|(a, b)| a == b).count();
    assert!(
        got == expected,
        "got:\n{}\nexpected:\n{}\nThe first {same} lines are the same, then {:?} instead of {:?}.",
        got.join("\n"),
        expected.join("\n"),
        got.get(same),
        expected.get(same)
    );
}

#[test]
fn runs_and_repetitions_are_written_out() {
    assert_eq!(
        expand(
            "0 A 1000..=3000+1000 lost\n 2 x 10 B ack 0\n 20 B ack 1000 sack 2000-3000..=4000 sack 7-8"
        ),
        [
            "0 A 1000+1000 lost",
            "0 A 2000+1000 lost",
            "0 A 3000+1000 lost",
            "10 B ack 0",
            "10 B ack 0",
            "20 B ack 1000 sack 2000-3000 sack 7-8",
            "20 B ack 1000 sack 2000-4000 sack 7-8",
        ]
    );
}

#[test]
#[should_panic(expected = "got:\n0 A 0+1000")]
fn a_script_that_does_not_come_true_fails() {
    script("0 A 0+500").play(&config(), write(1000, 5));
}
