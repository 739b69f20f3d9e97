//! `[run] stop = "when-done"`: a run ends at the instant at which its finite work is done.

use incastle_experiment::{Output, Overseer, Run, simulate};
use incastle_units::{Span, Time};

use crate::common::{
    STAR, Unattended, assert_near, comparable, parse, real, result, run, scenario, text,
};

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
fn a_run_in_steps_ends_with_its_last_byte_too() {
    let changes = [
        DONE,
        ("run.duration", "1 s"),
        ("measure.warmup", "100 us"),
        ("measure.until", "900 ms"),
    ];
    let scenario = scenario(&format!("{STAR}{ONE}"), &changes);
    let mut run = Run::start(&scenario, |_| Ok(())).expect("starts");
    for _ in 0..10_000 {
        let next = run.now() + Span::from_us(10);
        run.advance(next, 1_000, |_| Ok(())).expect("runs");
    }
    assert!(run.is_done(), "{}", run.now());
    let in_steps = run.finish(&scenario, &Unattended);
    let whole = simulate(&scenario, &Unattended).expect("runs");
    assert!(comparable(in_steps) == comparable(whole));
}

#[test]
fn means_are_over_the_time_that_was_simulated() {
    // 100 KB at 1 Gbit/s take some 0.9 ms: a thousandth of a run of 1 s, but most of the time of the flow.
    let output = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "1 s")]);
    let busiest = real(&output, "links", "utilisation");
    let busiest = busiest.into_iter().fold(0.0, f64::max);
    assert!(busiest > 0.6, "{busiest}");
}

/// Ends a run at its first check, after 100,000 events.
struct Interrupting;

impl Overseer for Interrupting {
    fn continues(&self, _: Time) -> bool {
        false
    }
}

#[test]
fn every_queue_has_a_length_until_the_end_of_the_run() {
    let done = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "1 s")]);
    let long = scenario(
        &format!("{STAR}{ONE}"),
        &[("flows.one.size", "1 GB"), ("run.duration", "9 s")],
    );
    let interrupted = simulate(&long, &Interrupting).expect("runs");
    assert!(interrupted.interrupted);
    for output in [done, interrupted] {
        let ports = text(&output, "queues", "port");
        let seconds = real(&output, "queues", "seconds");
        let spans = ports
            .iter()
            .zip(seconds)
            .filter(|(port, _)| **port == ports[0]);
        let observed: f64 = spans.map(|(_, span)| span).sum();
        assert_near(observed, output.totals.simulated_s, 1e-12);
    }
}

#[test]
fn a_run_that_meets_its_limit_says_so() {
    let output = result(&format!("{STAR}{ONE}"), &[DONE, ("run.duration", "500 us")]);
    assert_near(output.totals.simulated_s, 500e-6, 0.0);
    let notes: Vec<String> = output.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "the run met its limit, run.duration = 500 us, before its work was done: 1 transfer \
             under way"
        ]
    );
}

/// Finite work of each kind but lists.
const FINITE: &[(&str, &str)] = &[
    ("bulk", "from = 'senders'\nto = 'receiver'\nsize = '20 KB'"),
    ("bulk", "from = 'senders'\nto = 'receiver'\nstop = '2 ms'"),
    (
        "cbr",
        "from = 'senders'\nto = 'receiver'\nrate = '400 Mbit/s'\nstop = '2 ms'",
    ),
    (
        "cbr",
        "from = 'sender:0'\nto = 'receiver'\nrate = '100 Mbit/s'\nstop = '2 ms'\ntransport = { kind = 'udp' }",
    ),
    (
        "on-off",
        "from = 'sender:0'\nto = 'receiver'\nrate = '100 Mbit/s'\non = '1 ms'\noff = '1 ms'\nstop = '3 ms'\ntransport = { kind = 'udp' }",
    ),
    (
        "bulk",
        "from = 'senders'\nto = 'receiver'\nstop = '2 ms'\ntransport = { kind = 'udt' }",
    ),
    (
        "bulk",
        "from = 'senders'\nto = 'receiver'\nsize = '100 KB'\ntransport = { kind = 'dcudp' }",
    ),
    (
        "cbr",
        "from = 'senders'\nto = 'receiver'\nrate = '400 Mbit/s'\nstop = '2 ms'\ntransport = { kind = 'dcudp' }",
    ),
    (
        "barrier-incast",
        "from = 'senders'\nto = 'receiver'\nsru = '16 KB'\nrounds = 3\nthink_time = '1 ms'",
    ),
    (
        "barrier-incast",
        "from = 'senders'\nto = 'receiver'\nsru = '16 KB'\nrounds = 3\nrequest_jitter = '1 ms'",
    ),
    (
        "query",
        "from = 'senders'\nto = 'receiver'\nrate = 1000\nrounds = 4",
    ),
    ("query", "from = 'senders'\nto = 'receiver'\nstop = '3 ms'"),
    (
        "all-to-all",
        "from = 'senders'\nto = 'senders'\nresponse_size = '4 KB'\nrounds = 2",
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
        "random-incast",
        "from = 'senders'\nto = 'receiver'\ncount = 3\nsru = '10 KB'\nincast_rate = 1000\nstop = '5 ms'",
    ),
    (
        "all-reduce",
        "from = 'senders'\nto = 'senders'\nsize = '100 KB'\nrounds = 2",
    ),
    (
        "poisson-datagrams",
        "from = 'sender:0'\nto = 'receiver'\nload = 0.2\nstop = '3 ms'\ntransport = { kind = 'udp' }",
    ),
];

#[test]
fn every_finite_workload_has_an_end() {
    let worlds = FINITE
        .iter()
        .flat_map(|group| ["unlimited", "6 packets"].map(|buffer| (group, buffer)));
    for ((workload, keys), buffer) in worlds {
        let text = format!("{STAR}[flows.it]\nworkload = '{workload}'\n{keys}\n");
        let text = text.replace("unlimited", buffer);
        let output = result(&text, &[DONE, ("run.duration", "20 s")]);
        assert_eq!(notes(&output), [""; 0], "{workload}: {keys}");
        assert!(
            output.totals.simulated_s < 10.0,
            "{workload}: {:?}",
            output.totals
        );
        // Nothing was in flight any more: a longer run delivers and drops no more.
        let whole = result(&text, &[("run.duration", "20 s")]);
        let fates = |output: &Output| {
            let totals = &output.totals;
            (totals.delivered_bytes, totals.drops, totals.transfers)
        };
        assert_eq!(fates(&output), fates(&whole), "{workload}: {keys}");
        assert!(output.totals.delivered_bytes > 0, "{workload}");
    }
}

#[test]
fn a_list_that_stops_ends_with_its_last_byte() {
    let rows =
        r#"[["0 s", "sender:0", "receiver", 20000], ["5 ms", "sender:1", "receiver", 20000]]"#;
    for (stop, transfers) in [("5 ms", 1), ("6 ms", 2)] {
        let text = format!(
            "{STAR}[flows.it]\nworkload = 'flow-list'\nfrom = 'senders'\nto = 'receiver'\n\
             transfers = {{ list = {rows} }}\nstop = '{stop}'\n"
        );
        let sets = [
            DONE,
            ("run.duration", "1 s"),
            ("transport.min_rto", "200 ms"),
        ];
        let sets = sets.map(|(key, value)| (key.into(), value.into()));
        let (scenario, warnings) = parse(&text, "test.toml", &sets).expect("it is correct");
        let warnings: Vec<String> = warnings.into_iter().map(|one| one.message).collect();
        let late: &[&str] = match transfers {
            1 => &["1 of 2 transfers never begin: flows.it.stop = 5 ms comes before"],
            _ => &[],
        };
        assert_eq!(warnings, late);
        let output = run(&scenario).expect("the network can be built");
        assert_eq!(output.totals.transfers, transfers);
        assert_near(output.totals.simulated_s, last(&output), 0.0);
    }
}

fn notes(output: &Output) -> Vec<String> {
    output.notes.iter().map(ToString::to_string).collect()
}

#[test]
fn a_transfer_that_its_stop_cuts_off_is_named() {
    let text = format!("{STAR}{ONE}stop = '500 us'\n");
    for sets in [
        &[DONE, ("run.duration", "1 s")][..],
        &[("run.duration", "1 s")],
    ] {
        let output = result(&text, sets);
        assert_eq!(
            notes(&output),
            [
                "1 transfer of flows.one was unfinished when flows.one.stop = 500 us ended what it sends: \
                 what was not sent by then never is"
            ]
        );
    }
    // One of which all is sent then is complete.
    let text = text.replace("100 KB", "3 KB").replace("500 us", "30 us");
    let output = result(&text, &[DONE, ("run.duration", "1 s")]);
    assert!(notes(&output).is_empty());
    assert_eq!(output.totals.transfers, 1);
    assert!(last(&output) > 30e-6, "{}", last(&output));
}

#[test]
fn lost_datagrams_are_not_waited_for() {
    let group = "[flows.one]\nworkload = 'bulk'\nfrom = 'senders'\nto = 'receiver'\nsize = '100 KB'\n\
                 transport = { kind = 'udp' }\n";
    let text = format!("{STAR}{group}");
    let few = ("switch.buffer", "10 packets");
    let output = result(&text, &[DONE, ("run.duration", "1 s"), few]);
    assert!(output.totals.drops > 0);
    assert!(output.totals.simulated_s < 0.1, "{:?}", output.totals);
    let [note] = &notes(&output)[..] else {
        panic!("{:?}", output.notes);
    };
    assert!(
        note.contains("of flows.one were unfinished, and cannot finish: datagrams"),
        "{note}"
    );
}

#[test]
fn what_ends_before_it_is_measured_has_no_values() {
    let late =
        "[flows.late]\nworkload = 'bulk'\nfrom = 'sender:1'\nto = 'receiver'\nstart = '5 ms'\n";
    let text = format!("{STAR}{ONE}{late}");
    let sets = [DONE, ("run.duration", "1 s"), ("measure.warmup", "10 ms")];
    let output = result(&text, &sets);
    for column in ["utilisation", "mean_queue_packets", "max_queue_packets"] {
        let values = real(&output, "links", column);
        assert!(values.iter().all(|value| value.is_nan()), "{column}");
    }
    assert!(real(&output, "queues", "seconds").is_empty());
    let [measured, began] = &notes(&output)[..] else {
        panic!("{:?}", output.notes);
    };
    assert!(measured.starts_with("nothing was measured: the run was done after "));
    assert!(
        measured.contains("before measure.warmup = 10 ms"),
        "{measured}"
    );
    assert!(began.starts_with("flows.late never began: the run was done after "));
}

#[test]
fn no_goodput_is_above_the_link() {
    // Four senders fill the link; what waits at the stop arrives later, and does not count.
    let groups = [
        "workload = 'bulk'\nstop = '2 ms'\n",
        "workload = 'cbr'\nrate = '400 Mbit/s'\nstop = '2 ms'\ntransport = { kind = 'udp' }\n",
        "workload = 'poisson-datagrams'\nload = 1.0\nstop = '2 ms'\ntransport = { kind = 'udp' }\n",
    ];
    for group in groups {
        let text = format!("{STAR}[flows.it]\nfrom = 'senders'\nto = 'receiver'\n{group}");
        for sets in [&[DONE][..], &[]] {
            let output = result(&text, sets);
            let goodput: f64 = real(&output, "flows", "goodput_bit_s").iter().sum();
            assert!((0.5e9..1e9).contains(&goodput), "{goodput}: {group}");
        }
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
