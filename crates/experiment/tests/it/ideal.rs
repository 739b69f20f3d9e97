//! The ideal FCT under the own transport: equal, to the picosecond, to the only flow of a network.

use incastle_cases::cases;
use incastle_experiment::Output;

use crate::common::{ONE_FLOW, STAR, assert_near, real, result, text};
use proptest::prelude::*;

/// One flow at a time on a star; the seconds of a run are exact to far below a picosecond.
fn alone(text: &str, sets: &[(&str, &str)]) -> Output {
    let sets = [
        &[
            ("run.duration", "1 s"),
            ("measure.slowdown", "true"),
            ("measure.ideal", "own-transport"),
        ],
        sets,
    ]
    .concat();
    result(text, &sets)
}

/// Each completed flow took exactly its ideal time.
fn assert_ideal(output: &Output) {
    let completed = real(output, "transfers", "completed_s");
    let started = real(output, "transfers", "started_s");
    let ideal = real(output, "transfers", "ideal_fct_s");
    for row in 0..completed.len() {
        assert_near(completed[row] - started[row], ideal[row], 0.4e-12);
    }
}

#[test]
fn one_segment_takes_two_links() {
    let output = alone(
        &format!("{STAR}{ONE_FLOW}"),
        &[("flows.one.size", "1460 B")],
    );
    // Two links of 25 us, and twice 12 us for 1500 B.
    assert_near(real(&output, "transfers", "ideal_fct_s")[0], 74e-6, 1e-15);
    assert_near(real(&output, "transfers", "slowdown")[0], 1.0, 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]
    #[test]
    fn a_flow_alone_takes_its_ideal_time(
        size in prop_oneof![1..60_000_u64, 60_000..3_000_000_u64],
        near in prop_oneof![Just("100 Mbit/s"), Just("1 Gbit/s"), Just("3 Gbit/s"), Just("10 Gbit/s"), Just("7 Gbit/s")],
        far in prop_oneof![Just("1 Gbit/s"), Just("10 Gbit/s"), Just("25 Gbit/s")],
        congestion in prop::sample::select(vec!["new-reno", "cubic", "dctcp", "prague", "swift", "bbr"]),
        pacing in any::<bool>(),
        framing in prop_oneof![Just("ip"), Just("ethernet")],
        handshake in any::<bool>(),
        delayed_ack_count in 1..3_u32,
        window in prop_oneof![Just("unlimited"), Just("64 KB"), Just("20 KB")],
        burst in prop_oneof![Just(1), Just(1), Just(4)],
    ) {
        let sets = [
            ("flows.one.size", format!("{size} B")),
            ("network.links.senders.rate", near.to_owned()),
            ("network.links.receivers.rate", far.to_owned()),
            ("transport.congestion", congestion.to_owned()),
            ("transport.pacing", pacing.to_string()),
            ("transport.framing", framing.to_owned()),
            ("transport.handshake", handshake.to_string()),
            ("transport.delayed_ack_count", delayed_ack_count.to_string()),
            ("transport.receive_window", window.to_owned()),
            ("host.tso_burst", burst.to_string()),
            ("switch.buffer", "128 KiB".to_owned()),
            ("switch.queue", "{ kind = 'threshold', marking_threshold = '20 packets' }".to_owned()),
        ];
        let mut sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, &**value)).collect();
        if congestion == "swift" {
            sets.push(("transport.base_target", "500 us"));
        }
        // The window's own slow start may overflow a slower port: that belongs to the ideal, too.
        assert_ideal(&alone(&format!("{STAR}{ONE_FLOW}"), &sets));
    }
}

/// Many sizes of one class, each later than the one before is over: those of the tail are computed.
#[test]
fn long_flows_follow_from_shorter_ones() {
    let mut flows = String::new();
    for (number, size) in (1..40_u64)
        .map(|n| (n, n * n * 1_337 + n))
        .chain([(99, 9_999_999)])
    {
        let name = format!("[flows.f{number}]\n");
        let start = format!("size = \"{size} B\"\nstart = \"{} ms\"\n", 30 * number);
        let group = ONE_FLOW.replace("[flows.one]\n", &name);
        flows.push_str(&(group + &start));
    }
    let sets = [("run.duration", "4 s"), ("network.delay", "10 us")];
    let output = alone(&format!("{STAR}{flows}"), &sets);
    assert_eq!(output.totals.transfers, 40);
    assert_ideal(&output);
}

/// BBR's rate falls after Startup, without a mark or a loss: no period of Startup goes on.
#[test]
fn a_long_flow_that_slows_down_when_alone_is_simulated() {
    let sets = [
        ("flows.one.size", "9999999 B"),
        ("transport.congestion", "bbr"),
        ("network.rate", "10 Gbit/s"),
        ("network.delay", "5 us"),
    ];
    let output = alone(&format!("{STAR}{ONE_FLOW}"), &sets);
    assert!(real(&output, "transfers", "completed_s")[0] < 1.0);
    assert_ideal(&output);
}

#[test]
fn paths_of_a_tree_have_their_own_times() {
    let tree = r#"
[run]
duration = "1 s"
[network]
topology = "tree"
fanout = [2, 2]
rate = "1 Gbit/s"
delay = "25 us"
[network.links.trunks]
rate = "10 Gbit/s"
delay = "7 us"
[flows.near]
workload = "bulk"
from = "sender:0"
to = "sender:1"
size = "300 KB"
[flows.far]
workload = "bulk"
from = "sender:0"
to = "sender:3"
size = "300 KB"
start = "100 ms"
[flows.up]
workload = "bulk"
from = "sender:2"
to = "receiver"
size = "300 KB"
start = "200 ms"
[measure]
slowdown = true
ideal = "own-transport"
"#;
    let output = result(tree, &[]);
    assert_ideal(&output);
    let ideal = real(&output, "transfers", "ideal_fct_s");
    assert!(ideal[0] < ideal[1] && ideal[2] < ideal[1], "{ideal:?}");
}

#[test]
fn answers_are_ideal_on_open_connections() {
    let query = r#"
[flows.query]
workload = "query"
from = "sender:0"
to = "receiver"
rate = 100
"#;
    let output = alone(
        &format!("{STAR}{query}"),
        &[("transport.handshake", "true")],
    );
    let kinds = text(&output, "transfers", "kind");
    let slowdowns = real(&output, "transfers", "slowdown");
    let mut of_responses = Vec::new();
    for (kind, slowdown) in kinds.iter().zip(slowdowns) {
        if kind == "round" {
            assert!(slowdown.is_nan(), "a round has no ideal time");
        } else {
            of_responses.push(slowdown);
        }
    }
    // The first waits for the handshake; two queries may meet.
    assert!(of_responses[0] > 1.3, "{}", of_responses[0]);
    let ideal = of_responses[1..]
        .iter()
        .filter(|slowdown| (*slowdown - 1.0).abs() < 1e-9);
    assert!(ideal.count() + 5 > of_responses.len(), "{of_responses:?}");
}

#[test]
fn slowdowns_are_at_least_one_under_load() {
    let flows = "[flows.short]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\n\
                 sizes = \"websearch\"\nload = 0.6\n";
    let sets = [("network.links.receivers.rate", "2 Gbit/s")];
    let output = alone(&format!("{STAR}{flows}"), &sets);
    let slowdowns = real(&output, "transfers", "slowdown");
    let complete: Vec<f64> = slowdowns.into_iter().filter(|one| !one.is_nan()).collect();
    assert!(complete.len() > 50);
    assert!(
        complete.iter().all(|one| *one >= 1.0 - 1e-9),
        "{complete:?}"
    );
    assert!(complete.iter().any(|one| *one > 1.5));
    let without = alone(
        &format!("{STAR}{flows}"),
        &[sets[0], ("measure.slowdown", "false")],
    );
    assert_eq!(output.digest, without.digest);
}
