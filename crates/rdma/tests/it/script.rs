//! Packet sequences as scripts. Each line is a packet that leaves: microsecond, sender, content, and its fate on the
//! wire: `lost`, `CE`, `late 5` or `twice 5` (microseconds). The wire takes the fates from the script; in the end its
//! record must be the script.
//!
//! `3..=5` stands for a line each with 3, 4 and 5; all runs of a line go on together.

use incastle_rdma::{Config, Verb};
use incastle_units::{Span, Time};

use super::net::{Fate, Net, Sent};

/// Plays a script: the endpoints run until nothing more happens.
#[track_caller]
pub(crate) fn play(config: &Config, posts: &[(usize, Verb, u64)], text: &str) -> Net {
    play_on(Net::new(config), posts, text)
}

/// The same on a net with another control.
#[track_caller]
pub(crate) fn play_on(mut net: Net, posts: &[(usize, Verb, u64)], text: &str) -> Net {
    let lines = expand(text);
    let mut fates = lines.clone().into_iter();
    net.judge = Box::new(move |sent| {
        let line = fates.next();
        line.map_or(Fate::Pass, |line| fate(&line, sent))
    });
    net.trace.clear();
    for (from, verb, bytes) in posts {
        net.post(*from, *verb, *bytes);
    }
    net.run(Time::ZERO + Span::from_ms(100));
    assert_lines(&net.trace, &lines);
    net
}

/// The fate of a packet whose line this is; another packet arrives, and the record shows it.
fn fate(line: &str, sent: &Sent) -> Fate {
    let Some(words) = line.strip_prefix(sent.line(Fate::Pass).as_str()) else {
        return Fate::Pass;
    };
    let later = |number: &str| Span::from_us(number.parse().expect("microseconds"));
    match *words.split_whitespace().collect::<Vec<_>>() {
        [.., "lost"] => Fate::Drop,
        [.., "CE"] => Fate::Mark,
        [.., "late", by] => Fate::Delay(later(by)),
        [.., "twice", by] => Fate::Twice(later(by)),
        _ => Fate::Pass,
    }
}

/// The lines of a text, with its runs written out.
fn expand(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.flat_map(expand_line).collect()
}

fn expand_line(line: &str) -> Vec<String> {
    let run = |word: &str| {
        let (first, last) = word.split_once("..=")?;
        Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?))
    };
    let runs: Vec<_> = line.split(' ').map(|word| (word, run(word))).collect();
    let mut lengths = runs
        .iter()
        .filter_map(|(_, run)| run.map(|(first, last)| last - first + 1));
    let length = lengths.next().unwrap_or(1);
    assert!(lengths.all(|other| other == length), "runs differ: {line}");
    let nth = |at: u64| {
        let word = |(word, run): &(&str, Option<(u64, u64)>)| match run {
            Some((first, _)) => (first + at).to_string(),
            None => (*word).to_string(),
        };
        runs.iter().map(word).collect::<Vec<_>>().join(" ")
    };
    (0..length).map(nth).collect()
}

/// Compares a record with the expected lines.
#[track_caller]
pub(crate) fn assert_lines(got: &[String], expected: &[String]) {
    let same = got.iter().zip(expected).take_while(|(a, b)| a == b).count();
    assert!(
        got == expected,
        "got:\n{}\nThe first {same} lines are the same, then {:?} instead of {:?}.",
        got.join("\n"),
        got.get(same),
        expected.get(same)
    );
}

#[test]
fn runs_are_written_out() {
    assert_eq!(
        expand("0..=1 A write 5..=6 middle\n 7 B nak 3"),
        ["0 A write 5 middle", "1 A write 6 middle", "7 B nak 3"]
    );
}

#[test]
#[should_panic(expected = "got:\n0 A write 0 only req")]
fn a_script_that_does_not_come_true_fails() {
    play(
        &super::net::config(),
        &[(0, Verb::Write, 1)],
        "0 A write 1 only req",
    );
}
