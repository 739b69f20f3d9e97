//! `[run] stop = "when-done"`: a run ends at the instant at which its finite work is done.

mod common;

use common::{STAR, assert_near, real, result, scenario};
use incastle_scenario::{Output, parse};

const DONE: (&str, &str) = ("run.stop", "when-done");

/// The last completion of all transfers.
fn last(output: &Output) -> f64 {
    let completed = real(output, "transfers", "completed_s");
    completed.into_iter().fold(0.0, f64::max)
}

const ONE: &str = r#"
[flows.one]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "100 KB"
"#;

#[test]
fn a_run_ends_with_its_last_byte() {
    let output = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "1 s")]);
    assert_near(output.totals.simulated_s, last(&output), 0.0);
    assert!(output.totals.simulated_s < 0.01, "{:?}", output.totals);
    assert_near(output.totals.measured_to_s, output.totals.simulated_s, 0.0);
    assert!(output.notes.is_empty(), "{:?}", output.notes);
    // Up to there it took the same course as one that goes on.
    let whole = result(&format!("{STAR}{ONE}"), &[("run.duration", "1 s")]);
    assert_near(whole.totals.simulated_s, 1.0, 0.0);
    assert_near(last(&whole), last(&output), 0.0);
}

#[test]
fn means_are_over_the_time_that_was_simulated() {
    // 100 KB at 1 Gbit/s are some 0.9 ms: of a run of 1 s they are a thousandth, of their own time most.
    let output = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "1 s")]);
    let busiest = real(&output, "links", "utilisation");
    let busiest = busiest.into_iter().fold(0.0, f64::max);
    assert!(busiest > 0.6, "{busiest}");
}

#[test]
fn a_run_that_meets_its_limit_says_so() {
    let output = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "500 us")]);
    assert_near(output.totals.simulated_s, 500e-6, 0.0);
    let notes: Vec<String> = output.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "the run met its limit, run.duration = 0.0005 s, before its work was done: 1 transfers \
             had begun and were unfinished"
        ]
    );
}

#[test]
fn every_finite_workload_has_an_end() {
    let groups = [
        ("bulk", "from = 'senders'\nto = 'receiver'\nsize = '20 KB'"),
        ("bulk", "from = 'senders'\nto = 'receiver'\nstop = '2 ms'"),
        (
            "cbr",
            "from = 'sender:0'\nto = 'receiver'\nrate = '100 Mbit/s'\nstop = '2 ms'\ntransport = { kind = 'datagram' }",
        ),
        (
            "on-off",
            "from = 'sender:0'\nto = 'receiver'\nrate = '100 Mbit/s'\non = '1 ms'\noff = '1 ms'\nstop = '3 ms'\ntransport = { kind = 'datagram' }",
        ),
        (
            "barrier",
            "from = 'senders'\nto = 'receiver'\nunit = '16 KB'\nrounds = 3\nthink = '1 ms'",
        ),
        (
            "barrier",
            "from = 'senders'\nto = 'receiver'\nunit = '16 KB'\nrounds = 3\nstagger = '1 ms'",
        ),
        (
            "query",
            "from = 'senders'\nto = 'receiver'\nrate = 1000\nrounds = 4",
        ),
        ("query", "from = 'senders'\nto = 'receiver'\nstop = '3 ms'"),
        (
            "all-to-all",
            "from = 'senders'\nto = 'senders'\nunit = '4 KB'\nrounds = 2",
        ),
        (
            "permutation",
            "from = 'senders'\nto = 'senders'\nsize = '30 KB'",
        ),
        (
            "poisson",
            "from = 'senders'\nto = 'receiver'\nsizes = '10 KB'\nload = 0.3\nstop = '5 ms'",
        ),
        (
            "incast",
            "from = 'senders'\nto = 'receiver'\ncount = 3\nunit = '10 KB'\narrivals = 1000\nstop = '5 ms'",
        ),
        (
            "list",
            "from = 'senders'\nto = 'receiver'\ntransfers = 'list.csv'",
        ),
        (
            "all-reduce",
            "from = 'senders'\nto = 'senders'\nsize = '100 KB'\nrounds = 2",
        ),
        (
            "poisson-datagrams",
            "from = 'sender:0'\nto = 'receiver'\nload = 0.2\nstop = '3 ms'\ntransport = { kind = 'datagram' }",
        ),
    ];
    for (workload, keys) in groups.into_iter().filter(|(name, _)| *name != "list") {
        let text = format!("{STAR}[flows.it]\nworkload = '{workload}'\n{keys}\n");
        let output = result(&text, &[DONE, ("run.duration", "1 s")]);
        assert!(output.notes.is_empty(), "{workload}: {:?}", output.notes);
        assert!(
            output.totals.simulated_s < 0.5,
            "{workload}: {:?}",
            output.totals
        );
        let completed = real(&output, "transfers", "completed_s");
        let sized = !keys.contains("stop") || workload != "bulk";
        assert!(
            !sized || completed.iter().all(|at| !at.is_nan()),
            "{workload}"
        );
    }
}

#[test]
fn work_without_an_end_is_not_waited_for() {
    let background = "[flows.other]\nworkload = 'bulk'\nfrom = 'sender:1'\nto = 'receiver'\n";
    let text = format!("{STAR}{ONE}{background}");
    let output = result(&text, &[DONE, ("run.duration", "1 s")]);
    assert!(output.notes.is_empty());
    assert!(output.totals.simulated_s < 0.02, "{:?}", output.totals);
    let text = format!("{STAR}{background}");
    let sets = [("run.stop".to_owned(), "when-done".to_owned())];
    let found = parse(&text, "test.toml", &sets).expect_err("nothing ends");
    assert!(
        found
            .iter()
            .any(|one| one.message.contains("no group of flows ends by itself")),
        "{found:?}"
    );
    let resolved = scenario(&format!("{STAR}{ONE}"), &[DONE]).resolved();
    assert!(resolved.contains("stop = \"when-done\""), "{resolved}");
}
