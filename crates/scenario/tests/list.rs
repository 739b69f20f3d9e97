//! Transfers from a list: they begin, go and end as it says.

mod common;

use common::{STAR, real, result, scenario, text, whole};
use incastle_scenario::{Control, Output, parse, run};

const LIST: &str = r#"
[flows.trace]
workload = "list"
from = "all"
to = "all"
transfers = { list = [
    ["0 s", "sender:3", "receiver", 20000],
    ["1.000001 ms", "receiver", "sender:0", 1],
    ["1.000001 ms", "sender:0", "sender:1", 3000],
    ["5 ms", "sender:0", "sender:2", 50000],
] }
"#;

fn star(flows: &str) -> String {
    format!("{STAR}{flows}")
}

#[test]
fn transfers_are_those_of_the_list() {
    let output = result(&star(LIST), &[("flows.trace.start", "1 ms")]);
    assert_eq!(
        real(&output, "transfers", "started_s"),
        [0.001, 0.002_000_001, 0.002_000_001, 0.006]
    );
    assert_eq!(
        whole(&output, "transfers", "bytes"),
        [20_000, 1, 3_000, 50_000]
    );
    assert_eq!(
        text(&output, "flows", "from"),
        ["sender:3", "receiver", "sender:0", "sender:0"]
    );
    assert_eq!(
        text(&output, "flows", "to"),
        ["receiver", "sender:0", "sender:1", "sender:2"]
    );
    assert_eq!(
        whole(&output, "flows", "delivered_bytes"),
        [20_000, 1, 3_000, 50_000]
    );
}

/// None of them meets another, so that each takes exactly the time that it takes alone.
#[test]
fn lone_transfers_take_their_ideal_time() {
    for handshake in ["true", "false"] {
        let sets = [
            ("measure.slowdown", "true"),
            ("transport.handshake", handshake),
        ];
        let output = result(&star(LIST), &sets);
        assert_eq!(real(&output, "transfers", "slowdown"), [1.0; 4]);
    }
}

#[test]
fn no_transfer_begins_when_the_group_has_stopped_or_the_run_is_over() {
    let started = |sets: &[(&str, &str)]| whole(&result(&star(LIST), sets), "transfers", "bytes");
    assert_eq!(started(&[("flows.trace.stop", "5 ms")]).len(), 3);
    assert_eq!(started(&[("run.duration", "1 ms")]).len(), 1);
}

#[test]
fn windows_are_recorded_by_the_place_in_the_list() {
    let sets = [("measure.window", "{ flows = 'trace:3', every = '100 us' }")];
    let output = result(&star(LIST), &sets);
    let flows = whole(&output, "windows", "flow");
    assert!(!flows.is_empty());
    assert!(flows.iter().all(|&flow| flow == 3), "{flows:?}");
}

/// The resolved scenario holds the list itself, and gives the same result without the file.
#[test]
fn a_file_and_its_resolved_scenario_give_the_same_result() {
    let digest = |output: Output| output.digest;
    let file = [("flows.trace.transfers", "tests/arrivals.csv")];
    let from_file = scenario(&star(LIST), &file);
    let resolved = from_file.resolved();
    assert!(!resolved.contains("arrivals.csv"), "{resolved}");
    let (again, _) = parse(&resolved, "elsewhere/test.toml", &[]).expect("a resolved scenario");
    let run = |scenario| digest(run(scenario, &Control::default()).expect("a network"));
    assert_eq!(run(&from_file), run(&again));
    assert_eq!(run(&from_file), digest(result(&star(LIST), &[])));
}
