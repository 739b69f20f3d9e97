//! Transfers from a list: their starts, paths and ends.

use incastle_experiment::Output;

use crate::common::{STAR, parse, real, result, run, scenario, text, whole};

const LIST: &str = r#"
[flows.trace]
workload = "flow-list"
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
            ("measure.ideal", "own-transport"),
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
    let file = [("flows.trace.transfers", "tests/data/arrivals.csv")];
    let from_file = scenario(&star(LIST), &file);
    let resolved = from_file.resolved();
    assert!(!resolved.contains("arrivals.csv"), "{resolved}");
    let (again, _) = parse(&resolved, "elsewhere/test.toml", &[]).expect("a resolved scenario");
    let run = |scenario| digest(run(scenario).expect("a network"));
    assert_eq!(run(&from_file), run(&again));
    assert_eq!(run(&from_file), digest(result(&star(LIST), &[])));
}

/// One, then two at once after it, then one after both with a delay; another one each time that the count
/// is advanced.
const DEPENDENT: &str = r#"
[flows.trace]
workload = "flow-list"
from = "all"
to = "all"
transfers = { list = [
    ["0 s", "sender:3", "receiver", 20000, "both:2", "", ""],
    ["1 ms", "sender:0", "sender:1", 30000, "", "acknowledged", "first"],
    ["0 s", "sender:1", "sender:2", 40000, "first", "", "both"],
    ["0 s", "sender:1", "sender:3", 5000, "first", "", "both"],
    ["70 us", "sender:2", "sender:0", 1000, "both:2 acknowledged", "", ""],
    ["0 s", "receiver", "sender:0", 1000, "both:1", "", ""],
    ["3 ms", "receiver", "sender:0", 1000, "", "", ""],
] }
"#;

#[test]
fn transfers_begin_when_what_they_wait_for_is_over() {
    for (kind, handshake) in [
        ("tcp", "true"),
        ("tcp", "false"),
        ("udt", "true"),
        ("udt", "false"),
    ] {
        let one_ack = if kind == "tcp" {
            "\ndelayed_ack_count = 1"
        } else {
            ""
        };
        let transport = format!("[transport]\nkind = \"{kind}\"{one_ack}");
        let text_of = star(DEPENDENT).replace("[transport]", &transport);
        let sets = [
            ("transport.handshake", handshake),
            ("flows.trace.start", "1 ms"),
            ("run.duration", "100 ms"),
        ];
        let output = result(&text_of, &sets);
        let index = whole(&output, "transfers", "index");
        let (from, until) = (
            real(&output, "transfers", "started_s"),
            real(&output, "transfers", "completed_s"),
        );
        let row = |number: u64| {
            index
                .iter()
                .position(|one| *one == number)
                .expect("it has begun")
        };
        let (started, ended) = (|number| from[row(number)], |number| until[row(number)]);
        assert_eq!(index.len(), 7, "{kind}, {handshake}: {index:?}");
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{kind}: {a} and {b}");
        near(started(1), 0.002);
        near(started(2), ended(1));
        near(started(3), ended(1));
        let (early, late) = (ended(3).min(ended(2)), ended(3).max(ended(2)));
        near(started(5), early);
        near(started(0), late);
        // UDT may acknowledge as late as after 10 ms.
        match kind {
            "udt" => assert!(started(4) > late + 69.999e-6),
            _ => near(started(4), late + 70e-6),
        }
        near(started(6), 0.004);
        assert_eq!(output.totals.transfers, 7);
    }
}

/// A transfer that waits for an acknowledgement begins later than one that waits for the arrival, by the time of
/// an ACK.
#[test]
fn an_acknowledgement_comes_later_than_the_arrival() {
    let flows = r#"
[flows.trace]
workload = "flow-list"
from = "all"
to = "all"
transfers = { list = [
    ["0 s", "sender:0", "sender:1", 1460, "", "sent", "arrived"],
    ["0 s", "sender:2", "sender:3", 1000, "sent", "", ""],
    ["0 s", "sender:3", "sender:2", 1000, "arrived", "", ""],
] }
"#;
    let output = result(&star(flows), &[("transport.delayed_ack_count", "1")]);
    let index = whole(&output, "transfers", "index");
    assert_eq!(index, [0, 2, 1]);
    let started = real(&output, "transfers", "started_s");
    // An ACK of 40 B over two links of 25 us at 1 Gbit/s.
    let ack = 2.0 * (25e-6 + 0.32e-6);
    assert!((started[2] - started[1] - ack).abs() < 1e-12, "{started:?}");
}

#[test]
fn nothing_waits_beyond_the_stop_of_its_group() {
    let sets = [
        ("flows.trace.start", "1 ms"),
        ("flows.trace.stop", "2.1 ms"),
    ];
    let output = result(&star(DEPENDENT), &sets);
    assert_eq!(whole(&output, "transfers", "index"), [1]);
}

#[test]
fn dependences_are_the_same_from_the_resolved_scenario() {
    let from_list = scenario(&star(DEPENDENT), &[]);
    let (again, _) = parse(&from_list.resolved(), "again.toml", &[]).expect("a resolved scenario");
    let run = |scenario| run(scenario).expect("a network").digest;
    assert_eq!(run(&from_list), run(&again));
    let file = [("flows.trace.transfers", "tests/data/dependent.csv")];
    assert_eq!(run(&from_list), run(&scenario(&star(LIST), &file)));
}
