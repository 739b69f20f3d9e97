//! Scenarios on several threads: every table is that of one thread, and what one thread alone can do is
//! named.

use std::sync::atomic::Ordering;

use incastle_driver::{Control, run_in_parts};
use incastle_experiment::{Output, alone_because};

use crate::common::{STAR, WORLDS, comparable, result, scenario, text};

const FABRIC: &str = r#"
[run]
duration = "6 ms"
[network]
topology = "leaf-spine"
leaves = 4
spines = 3
hosts_per_leaf = 4
rate = "1 Gbit/s"
delay = "2 us"
reconvergence_delay = "300 us"
[network.failures.uplink]
between = ["leaf:1", "spine:1"]
down = "2 ms"
up = "4 ms"
[network.degraded.lossy]
between = ["leaf:2", "spine:0"]
loss = { good_to_bad = "1 %", bad_to_good = "30 %" }
bit_error_rate = 3e-6
jitter = "20 us"
reorder = true
[network.degraded.slow]
between = ["leaf:3", "spine:2"]
from = "1 ms"
rate = "400 Mbit/s"
delay = "15 us"
[network.degraded.irregular]
between = ["leaf:1", "spine:1"]
jitter = "10 us"
jitter_distribution = "exponential"
reorder = true
[switch]
buffer = { shared = "60 KB", alpha = 1.0 }
[switch.queue]
kind = "threshold"
marking_threshold = "12 packets"
[host]
jitter = "1 us"
[transport]
congestion = "dctcp"
min_rto = "300 us"
initial_rto = "500 us"
rto_granularity = "10 us"
delayed_ack_timeout = "60 us"
"#;

const FLOWS: &str = r#"
[flows.long]
workload = "permutation"
from = "all"
to = "all"
[flows.finite]
workload = "bulk"
from = "host:0..5"
to = "host:10..15"
size = "100 KB"
transport = { congestion = "cubic", handshake = false, slow_start = "hystart", pacing = true }
[flows.short]
workload = "poisson"
from = "all"
to = "all"
sizes = "hadoop"
load = 0.3
[flows.together]
workload = "random-incast"
from = "all"
to = "all"
count = 6
sru = "12 KB"
incast_rate = 3000
[flows.given]
workload = "flow-list"
from = "all"
to = "all"
transfers = { list = [["0 s", "host:0", "host:15", 20000], ["1 ms", "host:15", "host:3", 1]] }
[flows.steady]
workload = "cbr"
from = "host:2"
to = "host:12"
rate = "50 Mbit/s"
transport = { kind = "udt" }
[flows.noise]
workload = "on-off"
from = "host:7"
to = "host:8"
rate = "300 Mbit/s"
on = "200 us"
off = "300 us"
periods = "exponential"
transport = { kind = "udp" }
[flows.drops]
workload = "poisson-datagrams"
from = "host:0..3"
to = "host:4..7"
load = 0.05
transport = { kind = "udp" }
[measure]
warmup = "1 ms"
until = "5 ms"
queue = { every = "50 us" }
buffer_occupancy = { every = "70 us" }
throughput = { flows = "all", every = "500 us" }
slowdown = true
"#;

fn in_parts(text: &str, sets: &[(&str, &str)], threads: usize) -> Output {
    let control = Control::default();
    let output = run_in_parts(&scenario(text, sets), &control, threads);
    output.expect("the network can be built")
}

#[test]
fn every_table_is_that_of_one_thread() {
    let text = FABRIC.to_owned() + FLOWS;
    for ecmp in ["flow", "packet"] {
        let sets = [("network.ecmp", ecmp)];
        assert_eq!(alone_because(&scenario(&text, &sets)), None);
        let alone = result(&text, &sets);
        let totals = &alone.totals;
        assert!(totals.failure_drops > 0 && totals.timeouts > 0 && totals.marks > 0);
        assert!(totals.lost_on_wire > 0 && totals.corrupted > 0);
        let alone = comparable(alone);
        for threads in [2, 5] {
            assert!(
                comparable(in_parts(&text, &sets, threads)) == alone,
                "{threads}"
            );
        }
    }
}

#[test]
fn a_fat_tree_with_notifications_and_fair_queues() {
    let text = r#"
[run]
duration = "2 ms"
[network]
topology = "fat-tree"
k = 4
rate = "1 Gbit/s"
delay = "1 us"
[switch]
buffer = "40 KB"
[transport]
congestion = "new-reno"
min_rto = "400 us"
initial_rto = "400 us"
rto_granularity = "10 us"
delayed_ack_timeout = "100 us"
[flows.all]
workload = "permutation"
from = "all"
to = "all"
size = "60 KB"
"#;
    let fair = [("switch.queue.kind", "drr")];
    let qcn = [("switch.qcn.cp_q_eq", "20 %")];
    for sets in [&[][..], &fair, &qcn] {
        let alone = comparable(result(text, sets));
        assert!(comparable(in_parts(text, sets, 2)) == alone, "{sets:?}");
    }
}

/// HPCC over FIFO queues with losses.
const HPCC: &str = r#"
[run]
duration = "500 us"
[network]
topology = "leaf-spine"
leaves = 4
spines = 3
hosts_per_leaf = 4
rate = "100 Gbit/s"
delay = "1 us"
[switch]
buffer = "60 KB"
[transport]
kind = "rdma"
congestion = "hpcc"
base_rtt = "9 us"
[flows.all]
workload = "poisson"
from = "hosts"
to = "hosts"
sizes = "websearch"
load = 0.7
"#;

/// Whether the result is that of one thread.
fn check_parts(sets: &[(&str, &str)]) -> Output {
    assert_eq!(alone_because(&scenario(HPCC, sets)), None);
    let alone = result(HPCC, sets);
    assert!(alone.totals.data_packets > 2_000, "{:?}", alone.totals);
    let expected = comparable(alone.clone());
    for threads in [2, 4] {
        assert!(comparable(in_parts(HPCC, sets, threads)) == expected);
    }
    alone
}

#[test]
fn telemetry_is_that_of_one_thread() {
    let lossy = check_parts(&[]);
    assert!(lossy.totals.drops > 0);
}

#[test]
fn pauses_and_their_roots_are_those_of_one_thread() {
    let lossless = check_parts(&[
        ("switch.buffer", "{ shared = '1 MB', alpha = 0.02 }"),
        ("switch.queue", "{ kind = 'priorities' }"),
        ("switch.pfc", "{ priorities = [3] }"),
        ("transport.traffic_class", "3"),
        ("measure.pauses", "true"),
    ]);
    assert!(lossless.totals.pauses > 0 && lossless.totals.drops == 0);
    assert!(!text(&lossless, "pause_record", "root_port").is_empty());
}

#[test]
fn what_one_thread_alone_can_do_is_named() {
    let because = |text: &str, sets: &[(&str, &str)]| alone_because(&scenario(text, sets));
    let fabric = FABRIC.to_owned() + FLOWS;
    let star = STAR.to_owned()
        + "[flows.one]\nworkload = \"bulk\"\nfrom = \"sender:0\"\nto = \"receiver\"\n";
    assert_eq!(
        because(&star, &[]).as_deref(),
        Some("all hosts at one switch")
    );
    let requests = "[flows.read]\nworkload = \"query\"\nfrom = \"host:0..3\"\nto = \"host:15\"\nresponse_size = \"2 KB\"\nflow_rate = 10\n";
    for (text, sets, expected) in [
        (
            FABRIC.to_owned() + requests,
            vec![],
            "requests (flows.read)",
        ),
        (
            fabric.clone(),
            vec![("flows.finite.stop", "3 ms")],
            "finite flows that are stopped (flows.finite)",
        ),
        (
            fabric.clone(),
            vec![("measure.timeouts", "true")],
            "measure.timeouts, one list of what happens anywhere",
        ),
        (
            fabric.clone(),
            vec![("network.delay", "0 s")],
            "links without delay between its parts",
        ),
    ] {
        assert_eq!(because(&text, &sets).as_deref(), Some(expected));
    }
    // It runs all the same.
    let alone = result(&star, &[]);
    assert_eq!(comparable(in_parts(&star, &[], 2)), comparable(alone));
}

#[test]
fn a_cancelled_run_ends_in_all_parts() {
    let control = Control::default();
    control.cancel.store(true, Ordering::Relaxed);
    let sets = [("run.duration", "1000 s"), ("measure.until", "end")];
    let long = scenario(&(FABRIC.to_owned() + FLOWS), &sets);
    let output = run_in_parts(&long, &control, 2).expect("runs");
    assert!(output.interrupted && output.totals.simulated_s < 1.0);
}

#[test]
fn coupled_queues_give_the_same_result_on_several_threads() {
    let queue = "{ kind = 'dualpi2', target = '60 us', rtt_max = '1 ms', l4s_min_th = '20 us', l4s_range = '10 us' }";
    let sets = [
        ("switch.queue", queue),
        ("switch.buffer", "60 KB"),
        ("flows.long.transport.congestion", "prague"),
    ];
    let text = format!("{FABRIC}{FLOWS}");
    let alone = comparable(in_parts(&text, &sets, 1));
    for threads in [2, 3] {
        assert_eq!(
            alone,
            comparable(in_parts(&text, &sets, threads)),
            "{threads}"
        );
    }
}

/// Over coupled queues, and over ports without departure events.
#[test]
fn controls_of_today_give_the_same_result_on_two_threads() {
    let threshold = [(
        "switch.queue",
        "{ kind = 'threshold', marking_threshold = '20 packets' }",
    )];
    for sets in [&[][..], &threshold] {
        let alone = result(WORLDS, sets);
        let totals = &alone.totals;
        assert_eq!(totals.delivered_bytes, 7_000_000, "{sets:?}");
        assert!(
            totals.lost_on_wire > 0 && totals.corrupted > 0 && totals.marks > 0,
            "{totals:?}"
        );
        assert!(
            comparable(in_parts(WORLDS, sets, 2)) == comparable(alone),
            "{sets:?}"
        );
    }
}
