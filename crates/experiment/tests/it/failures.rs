//! Failed links in scenarios: their traffic, losses and warnings, and the paths of ideal FCTs.

use incastle_experiment::Output;

use crate::common::{parse, real, result, scenario, text, whole};

/// Two leaves with four hosts each under two spines; transfers between the leaves.
const FABRIC: &str = r#"
[run]
duration = "200 ms"
[network]
topology = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 4
rate = "1 Gbit/s"
delay = "5 us"
[switch]
buffer = "128 KiB"
[transport]
min_rto = "5 ms"
delayed_ack_count = 1
[flows.forth]
workload = "bulk"
from = "host:0..3"
to = "host:4..7"
size = "1 MB"
[flows.back]
workload = "bulk"
from = "host:4..7"
to = "host:0..3"
size = "1 MB"
[measure]
slowdown = true
"#;

/// A column of `links` for both directions between two nodes.
fn both(output: &Output, a: &str, b: &str, column: &str) -> [u64; 2] {
    let names = text(output, "links", "port");
    let values = whole(output, "links", column);
    [format!("{a}->{b}"), format!("{b}->{a}")].map(|port| {
        let row = names.iter().position(|name| *name == port);
        values[row.expect("a port of that name")]
    })
}

fn down(between: &str, from: &str) -> [(&'static str, String); 2] {
    [
        ("network.failures.one.between", between.to_owned()),
        ("network.failures.one.down", from.to_owned()),
    ]
}

fn run(sets: &[(&str, String)]) -> Output {
    let sets: Vec<(&str, &str)> = sets
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .collect();
    result(FABRIC, &sets)
}

#[test]
fn a_link_that_is_down_from_the_start_carries_nothing() {
    for (leaf, spine) in [("leaf:0", "spine:0"), ("leaf:1", "spine:1")] {
        let output = run(&down(&format!("['{leaf}', '{spine}']"), "0 s"));
        assert_eq!(both(&output, leaf, spine, "packets"), [0, 0]);
        // No packet was sent to it either: routes avoid it from the beginning.
        assert_eq!(both(&output, leaf, spine, "drops"), [0, 0]);
        assert_eq!(
            (output.totals.failure_drops, output.totals.transfers),
            (0, 8)
        );
    }
}

#[test]
fn a_spine_without_links_is_as_if_it_were_not_there() {
    let without = run(&down("['leafs', 'spine:1']", "0 s"));
    let alone = result(FABRIC, &[("network.spines", "1")]);
    // All that a user reads of flows and transfers is the same; ports have other numbers.
    for table in ["flows", "transfers"] {
        let of = |output: &Output| output.tables.iter().find(|one| one.name == table).cloned();
        assert_eq!(format!("{:?}", of(&without)), format!("{:?}", of(&alone)));
    }
    assert_eq!(without.totals.packet_hops, alone.totals.packet_hops);
}

#[test]
fn what_a_failure_costs_is_counted_at_its_ports() {
    let output = run(&down("['leaf:0', 'spine:0']", "3 ms"));
    let totals = &output.totals;
    assert_eq!(totals.transfers, 8, "all go around");
    let [up, back] = both(&output, "leaf:0", "spine:0", "drops");
    assert!(totals.failure_drops > 0 && totals.failure_drops <= up + back);
    assert!(totals.drops >= totals.failure_drops);
    // Routes that converge later lose more.
    let mut late = down("['leaf:0', 'spine:0']", "3 ms").to_vec();
    late.push(("network.reconvergence_delay", "2 ms".to_owned()));
    assert!(run(&late).totals.failure_drops > totals.failure_drops);
}

#[test]
fn packets_that_entered_before_the_interval_may_be_lost_within_it() {
    let mut sets = down(r#"["host:0", "leaf:0"]"#, "0.5 us").to_vec();
    sets.extend([
        ("network.failures.one.up", "900 us".to_owned()),
        ("transport.handshake", "false".to_owned()),
        ("flows.forth.start_spread", "0 s".to_owned()),
    ]);
    let output = run(&sets);
    let lost = both(&output, "host:0", "leaf:0", "drops");
    assert!(lost[0] > 0, "the first window is on its way at 0.5 us");
    let used = real(&output, "links", "utilisation");
    assert!(used.iter().all(|share| (0.0..=1.0).contains(share)));
}

#[test]
fn a_failure_that_heals_before_anybody_sends_changes_nothing() {
    let later = [("flows.forth.start", "2 ms"), ("flows.back.start", "2 ms")];
    let healed = [
        later[0],
        later[1],
        ("network.failures.one.between", "['leafs', 'spines']"),
        ("network.failures.one.up", "1 ms"),
    ];
    assert_eq!(
        result(FABRIC, &healed).digest,
        result(FABRIC, &later).digest
    );
}

#[test]
fn ideal_times_are_those_of_the_path_that_is_up() {
    // The short path is 4 links; that of the detour is down from the start, or the short one is.
    let text = r#"
[run]
duration = "100 ms"
[network]
topology = "graph"
hosts = ["a", "b"]
switches = ["left", "right", "detour"]
delay = "1 ms"
[network.links.ends]
between = ["a", "left"]
[network.links.other]
between = ["b", "right"]
[network.links.short]
between = ["left", "right"]
[network.links.long]
between = ["detour", ["left", "right"]]
[flows.one]
workload = "bulk"
from = "a"
to = "b"
size = "1 KB"
start_spread = "0 s"
[measure]
slowdown = true
"#;
    let slowdown = |sets: &[(&str, &str)]| real(&result(text, sets), "transfers", "slowdown");
    let whole = slowdown(&[]);
    let around = slowdown(&[("network.failures.one.between", "['left', 'right']")]);
    let own = slowdown(&[
        ("network.failures.one.between", "['left', 'right']"),
        ("measure.ideal", "own-transport"),
    ]);
    // At line rate there is no handshake, which takes 6 ms here and 8 ms on the detour. The delays are 3 and
    // 4 ms, plus some microseconds of transmission.
    for (found, expected) in [(whole, 3.0), (around, 3.0), (own, 1.0)] {
        assert_eq!(found.len(), 1);
        assert!((found[0] - expected).abs() < 0.03, "{found:?}");
    }
}

#[test]
fn failures_survive_the_resolved_text() {
    let sets = [
        ("network.reconvergence_delay", "1 ms"),
        ("network.failures.one.between", "['leaf:0', 'spines']"),
        ("network.failures.one.down", "1 ms"),
        ("network.failures.one.up", "2 ms"),
    ];
    let once = scenario(FABRIC, &sets);
    let (again, _) = parse(&once.resolved(), "resolved", &[]).expect("the resolved text is right");
    assert_eq!(again.resolved(), once.resolved());
    assert_eq!(again.layout(), once.layout());
}
