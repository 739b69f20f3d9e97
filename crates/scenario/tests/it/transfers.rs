//! Lists of transfers: what is read of a file, what is written back, and what is wrong with it.

use incastle_scenario::language::arrivals::{Arrival, Arrivals};
use incastle_scenario::language::flows::Workload;
use incastle_scenario::{Diagnostic, Files, Scenario, parse_with};
use incastle_units::{Bytes, Span};

use crate::common::STAR;

const HEADER: &str = "start_s,source,destination,bytes";
const DEPENDENT: &str = "start_s,source,destination,bytes,after,acknowledged,arrived";

/// Every file has this text.
struct Everywhere(String);

impl Files for Everywhere {
    fn read(&self, _path: &str) -> Result<String, String> {
        Ok(self.0.clone())
    }
}

fn read(text: &str) -> Result<Scenario, String> {
    let scenario = format!(
        "{STAR}[flows.list]\nworkload = \"flow-list\"\ntransfers = \"a.csv\"\nfrom = \"all\"\nto = \"all\"\n"
    );
    let scenario = scenario.replace("10 ms", "10 s");
    let read = parse_with(&scenario, "a.toml", &[], &Everywhere(text.to_owned()));
    let words = |found: Vec<Diagnostic>| found.iter().map(Diagnostic::to_string).collect();
    read.map(|(scenario, _)| scenario).map_err(words)
}

fn arrivals(scenario: &Scenario) -> &Arrivals {
    match &scenario.tables().flows[0].1.workload {
        Workload::FlowList(list) => &list.transfers,
        other => panic!("{}", other.word()),
    }
}

#[test]
fn a_file_is_read_exactly() {
    let lines = "0.000001000001,sender:3,receiver,2000\n\n1,receiver,sender:0,1\n";
    let scenario = read(&format!("{HEADER}\n{lines}")).expect("a good list");
    let [first, second] = arrivals(&scenario).list() else {
        panic!("two transfers");
    };
    assert_eq!(first.start, Span::from_ps(1_000_001));
    assert_eq!(first.source.to_string(), "sender:3");
    assert_eq!(first.destination.to_string(), "receiver");
    assert_eq!(first.dependence, None);
    assert_eq!(second.bytes, Bytes::new(1));
}

#[test]
fn dependences_are_read_and_written_with_their_names() {
    let lines = "5,sender:0,receiver,1,,,first\n0,sender:1,receiver,1,first:1 b.2:2,,\n\
                 6,sender:2,receiver,1,,b.2,b.2\n";
    let scenario = read(&format!("{DEPENDENT}\n{lines}"));
    let scenario = scenario.expect("a list that ascends where nobody is waited for");
    let arrivals = arrivals(&scenario);
    assert_eq!(arrivals.counts(), ["first", "b.2"]);
    let [first, second, third] = arrivals.list() else {
        panic!("three transfers");
    };
    assert!(!first.waits() && second.waits() && !third.waits());
    let of = |arrival: &Arrival| *arrival.dependence.clone().expect("a dependence");
    assert_eq!(of(second).after, [(0, 1), (1, 2)]);
    assert_eq!((of(first).acknowledged, of(first).arrived), (None, Some(0)));
    assert_eq!(
        (of(third).acknowledged, of(third).arrived),
        (Some(1), Some(1))
    );
    let written = scenario.resolved();
    let row = "[\"0 s\", \"sender:1\", \"receiver\", 1, \"first b.2:2\", \"\", \"\"]";
    assert!(written.contains(row), "{written}");
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (lines, expected) in [
        ("", "a.csv: no transfers"),
        ("0,sender:0,receiver", "line 2: expected start_s,source"),
        (
            "0,sender:0,receiver,1\n-1,sender:0,receiver,1",
            "line 3: \"-1 s\" is negative",
        ),
        (
            "x,sender:0,receiver,1",
            "line 2: \"x s\" does not begin with a plain number",
        ),
        (
            "0.0000000000001,sender:0,receiver,1",
            "not a whole number of picoseconds",
        ),
        (
            "0,sender:0..4,receiver,1",
            "line 2: \"sender:0..4\" is no host",
        ),
        ("0,sender:0,,1", "line 2: \"\" is no host"),
        (
            "0,sender:0,receiver,0",
            "line 2: bytes must be a whole number from 1",
        ),
        (
            "0,sender:0,receiver,1.5",
            "line 2: bytes must be a whole number from 1",
        ),
        (
            "2,sender:0,receiver,1\n\n1,sender:0,receiver,1",
            "a.csv: line 4: starts must ascend: 1 s after 2 s",
        ),
    ] {
        let found = read(&format!("{HEADER}\n{lines}")).expect_err("a broken list");
        assert!(found.contains(expected), "{lines}: {found}");
    }
    let found = read("0,sender:0,receiver,1").expect_err("no header");
    assert!(found.contains("line 1: expected the columns"), "{found}");
}

#[test]
fn what_is_wrong_with_a_dependence_is_told_with_its_line() {
    for (lines, expected) in [
        ("0,sender:0,receiver,1", "line 2: expected start_s,"),
        (
            "0,sender:0,receiver,1,a:0,,",
            "line 2: \"a:0\" is no count to wait for",
        ),
        (
            "0,sender:0,receiver,1,a:-1,,",
            "\"a:-1\" is no count to wait for",
        ),
        (
            "0,sender:0,receiver,1,a:x,,",
            "\"a:x\" is no count to wait for",
        ),
        (
            "0,sender:0,receiver,1,:2,,",
            "\"\" is no name of an event count",
        ),
        (
            "0,sender:0,receiver,1,,a b,",
            "line 2: \"a b\" is no name of an event count",
        ),
        (
            "0,sender:0,receiver,1,,,a;b",
            "\"a;b\" is no name of an event count",
        ),
        (
            "2,sender:0,receiver,1,,,\n0,sender:0,receiver,1,a,,\n1,sender:0,receiver,1,,,a",
            "a.csv: line 4: starts must ascend: 1 s after 2 s",
        ),
    ] {
        let found = read(&format!("{DEPENDENT}\n{lines}")).expect_err("a broken list");
        assert!(found.contains(expected), "{lines}: {found}");
    }
}
