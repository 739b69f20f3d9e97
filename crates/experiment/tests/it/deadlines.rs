//! Deadlines from the scenario to the controller and back into the tables; and the algorithms and
//! markers of DT-CWA and D2TCP, chosen by their words.

use crate::common::{ONE_SEGMENT, STAR, real, result, scenario, text, whole};
const INCAST: &str = r#"
[run]
duration = "40 ms"
[network]
topology = "star"
senders = 4
rate = "1 Gbit/s"
delay = "25 us"
[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"
[transport]
congestion = "dctcp"
handshake = false
min_rto = "10 ms"
delayed_ack_count = 1
[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"
"#;

fn digest(sets: &[(&str, &str)]) -> String {
    result(INCAST, sets).digest
}

const DOUBLE: (&str, &str) = (
    "switch.queue",
    "{ kind = 'double-threshold', readings = { thresholds = 'dt-dctcp' } }",
);

#[test]
fn readings_are_their_numbers() {
    let by_number = |start: &str, stop: &str| {
        let queue = format!("{{ kind = 'double-threshold', k1 = '{start}', k2 = '{stop}' }}");
        digest(&[("switch.queue", &queue)])
    };
    let by_name = |name: &str| {
        let queue =
            format!("{{ kind = 'double-threshold', readings = {{ thresholds = '{name}' }} }}");
        digest(&[("switch.queue", &queue)])
    };
    assert_eq!(by_name("as-printed"), by_number("35 packets", "30 packets"));
    assert_eq!(by_name("dt-dctcp"), by_number("30 packets", "35 packets"));
    assert_eq!(by_name("around-k"), by_number("15 packets", "25 packets"));
    assert_eq!(
        by_name("as-printed"),
        digest(&[("switch.queue", "{ kind = 'double-threshold' }")])
    );
    // Three different relays, three different runs; and one relay that is DCTCP's threshold.
    assert_ne!(by_name("as-printed"), by_name("dt-dctcp"));
    assert_ne!(by_name("as-printed"), by_name("around-k"));
    assert_eq!(by_number("20 packets", "20 packets"), digest(&[]));
}

#[test]
fn whoever_gives_numbers_does_not_inherit_a_reading() {
    let group = "[switches.switch.queue]\nk1 = \"10 packets\"\nk2 = \"12 packets\"\n";
    let mixed = scenario(&format!("{INCAST}{group}"), &[DOUBLE]);
    let resolved = mixed.resolved();
    let own = resolved.split("[switches.switch.queue]").nth(1);
    let own = own.expect("the group is written");
    assert!(own.contains("k1 = \"10 packets\""), "{resolved}");
    assert!(!own.contains("thresholds"), "{resolved}");
    // And a reading replaces numbers.
    let named = "[switches.switch.queue]\nreadings = { thresholds = \"around-k\" }\n";
    let numbers = "{ kind = 'double-threshold', k1 = '10 packets', k2 = '12 packets' }";
    let resolved = scenario(&format!("{INCAST}{named}"), &[("switch.queue", numbers)]).resolved();
    let own = resolved.split("[switches.switch.queue]").nth(1);
    assert!(own.is_some_and(|own| own.contains("k1 = \"15 packets\"")));
}

#[test]
fn a_resolved_text_gives_the_same_run() {
    for sets in [
        vec![DOUBLE, ("transport.congestion", "dt-cwa")],
        vec![
            ("transport.congestion", "d2tcp"),
            ("flows.long.size", "1 MB"),
            ("flows.long.deadline", "10 ms"),
        ],
    ] {
        let first = scenario(INCAST, &sets);
        let again = scenario(&first.resolved(), &[]);
        assert_eq!(first, again);
        assert_eq!(digest(&sets), result(&first.resolved(), &[]).digest);
    }
}

#[test]
fn every_setting_of_dt_cwa_reaches_it() {
    let with = |more: &[(&str, &str)]| {
        let base = [("transport.congestion", "dt-cwa"), DOUBLE];
        digest(&[&base, more].concat())
    };
    let default = with(&[]);
    assert_eq!(
        with(&[("transport.readings.reaction", "subtract")]),
        default
    );
    assert_eq!(with(&[("transport.b", "0.2")]), default);
    // alpha is for the tables alone.
    assert_eq!(with(&[("transport.initial_alpha", "0")]), default);
    for (key, value) in [
        ("transport.readings.reaction", "printed"),
        ("transport.readings.extremes", "loss"),
        ("transport.readings.extremes", "notification"),
        ("transport.b", "0.5"),
        ("transport.initial_window", "4 packets"),
    ] {
        assert_ne!(with(&[(key, value)]), default, "{key}");
    }
    let printed = ("transport.readings.reaction", "printed");
    assert_ne!(
        with(&[printed, ("transport.min_cwnd", "1 packets")]),
        with(&[printed])
    );
}

#[test]
fn d2tcp_without_deadlines_is_dctcp_and_with_them_is_not() {
    let d2tcp = ("transport.congestion", "d2tcp");
    assert_eq!(digest(&[d2tcp]), digest(&[]));
    let finite = ("flows.long.size", "1 MB");
    // 4 MB in all take 32 ms at 1 Gbit/s.
    let deadline = ("flows.long.deadline", "20 ms");
    assert_eq!(digest(&[finite, deadline]), digest(&[finite]));
    assert_ne!(digest(&[finite, deadline, d2tcp]), digest(&[finite, d2tcp]));
    let bounded = [
        ("transport.d_min", "1"),
        ("transport.d_max", "1"),
        finite,
        deadline,
        d2tcp,
    ];
    assert_eq!(digest(&bounded), digest(&[finite]), "alpha^1");
}

/// The instants of the deadlines, and how many were met and missed.
fn outcome(flows: &str, sets: &[(&str, &str)]) -> (Vec<f64>, u64, u64) {
    let output = result(&format!("{STAR}{flows}"), sets);
    let total = |name| whole(&output, "summary", name)[0];
    let counts = (total("met_deadlines"), total("missed_deadlines"));
    assert_eq!(
        counts,
        (output.totals.met_deadlines, output.totals.missed_deadlines)
    );
    (real(&output, "transfers", "deadline_s"), counts.0, counts.1)
}

#[test]
fn a_flow_that_arrives_at_its_deadline_meets_it() {
    // The segment takes 74 us (see workloads.rs).
    let with = |deadline: &str| outcome(ONE_SEGMENT, &[("flows.one.deadline", deadline)]);
    assert_eq!(with("74 us"), (vec![1e-3 + 74e-6], 1, 0));
    assert_eq!(with("73 us"), (vec![1e-3 + 73e-6], 0, 1));
    let (without, met, missed) = outcome(ONE_SEGMENT, &[]);
    assert!(without[0].is_nan());
    assert_eq!((met, missed), (0, 0));
}

#[test]
fn a_deadline_beyond_the_end_of_the_run_is_neither_met_nor_missed() {
    // 10 MB take 80 ms, the run 10.
    let size = ("flows.one.size", "10 MB");
    let with = |deadline: &str| {
        let (_, met, missed) = outcome(ONE_SEGMENT, &[size, ("flows.one.deadline", deadline)]);
        (met, missed)
    };
    assert_eq!(with("20 ms"), (0, 0));
    assert_eq!(with("8 ms"), (0, 1));
}

#[test]
fn each_answer_has_the_deadline_of_its_request() {
    let flows = r#"
[flows.storage]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "14600 B"
rounds = 2
think_time = "1 ms"
deadline = "575 us"
start_spread = "0 s"
"#;
    let output = result(&format!("{STAR}{flows}"), &[]);
    let kinds = text(&output, "transfers", "kind");
    let starts = real(&output, "transfers", "started_s");
    let ends = real(&output, "transfers", "completed_s");
    let deadlines = real(&output, "transfers", "deadline_s");
    let mut met = 0;
    for (((kind, start), end), deadline) in kinds.iter().zip(starts).zip(ends).zip(deadlines) {
        if kind == "round" {
            assert!(deadline.is_nan(), "a round has none");
        } else {
            assert!((deadline - start - 575e-6).abs() < 1e-12);
            met += u64::from(end <= deadline);
        }
    }
    // The request, 104 B: 2 x (25 us + 0.832 us). 4 x 10 full packets one after the other: 25 us +
    // 12 us + 25 us + 40 x 12 us. The last response takes 593.664 us, each earlier one 12 us less. Two of the
    // four responses are in time.
    assert_eq!(met, 4);
    assert_eq!(output.totals.met_deadlines, 4);
    assert_eq!(output.totals.missed_deadlines, 4);
}

#[test]
fn poisson_flows_have_deadlines_that_d2tcp_heeds() {
    let flows = r#"
[flows.many]
workload = "poisson"
from = "senders"
to = "receiver"
sizes = "100 KB"
load = 0.9
deadline = "1500 us"
"#;
    let text = format!("{STAR}{flows}");
    let queue = (
        "switch.queue",
        "{ kind = 'threshold', marking_threshold = '20 packets' }",
    );
    let run = |congestion: &str| {
        let sets = [
            queue,
            ("transport.congestion", congestion),
            ("run.duration", "50 ms"),
        ];
        result(&text, &sets)
    };
    let (dctcp, d2tcp) = (run("dctcp"), run("d2tcp"));
    assert_ne!(dctcp.digest, d2tcp.digest);
    let starts = real(&d2tcp, "transfers", "started_s");
    for (start, deadline) in starts.iter().zip(real(&d2tcp, "transfers", "deadline_s")) {
        assert!((deadline - start - 1.5e-3).abs() < 1e-12);
    }
    assert!(d2tcp.totals.met_deadlines > 0);
}
