//! Runs as a whole: the same on every thread and from the resolved text, stoppable, measured in
//! the interval of the scenario.

use std::fmt::Write as _;

use incastle_cases::cases;
use incastle_experiment::{Output, Run};
use incastle_scenario::Scenario;
use incastle_units::{Span, Time};

use crate::common::{
    STAR, Unattended, assert_near, comparable, mixed, of_port, parse, real, result, run, scenario,
    text, whole,
};
use proptest::prelude::*;

#[test]
fn the_same_scenario_gives_the_same_bits() {
    let first = scenario(&mixed(), &[]);
    let once = run(&first).expect("runs");
    let again = run(&first).expect("runs");
    let (resolved, _) =
        parse(&first.resolved(), "resolved", &[]).expect("resolved texts are right");
    let from_text = run(&resolved).expect("runs");
    assert!(
        once.totals.drops + once.totals.marks > 0,
        "the queue does something"
    );
    assert_eq!(once.digest.len(), 16);
    let expected = comparable(once.clone());
    assert!(expected == comparable(again), "a second run differs");
    assert!(
        expected == comparable(from_text),
        "the resolved text gives another result"
    );
    let other = run(&first.with_seed(2)).expect("runs");
    assert_ne!(once.digest, other.digest);
}

/// The same run, advanced by few and by many events, and to instants of no meaning.
fn in_steps(scenario: &Scenario, seed: u64) -> Output {
    let mut run = Run::start(scenario, |_| Ok(())).expect("starts");
    let mut step = seed;
    while !run.is_done() {
        step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ahead = Span::from_us(step >> 56);
        let before = run.now();
        run.advance(before + ahead, step >> 48 & 0x3ff, |_| Ok(()))
            .expect("runs");
        assert!(run.now() >= before && run.now() <= before + ahead);
    }
    run.finish(scenario, &Unattended)
}

#[test]
fn a_run_that_is_finished_early_is_marked_as_interrupted() {
    let scenario = scenario(&mixed(), &[]);
    let mut run = Run::start(&scenario, |_| Ok(())).expect("starts");
    let half = Time::ZERO + scenario.duration() / 2;
    while run.now() < half {
        run.advance(half, 1_000, |_| Ok(())).expect("runs");
    }
    assert!(!run.is_done() && !run.opened(0).is_empty());
    let output = run.finish(&scenario, &Unattended);
    assert!(output.interrupted);
    assert_near(
        output.totals.simulated_s,
        scenario.duration().as_secs_lossy() / 2.0,
        1e-12,
    );
}

#[test]
fn jitter_may_delay_acknowledgements_too() {
    let digest = |changes: &[(&str, &str)]| {
        let scenario = scenario(&mixed(), changes);
        run(&scenario).expect("runs").digest
    };
    let on = |word| digest(&[("host.jitter_applies_to", word)]);
    assert_eq!(on("data"), digest(&[]));
    assert_ne!(on("all"), on("data"));
}

#[test]
fn probes_do_not_change_what_happens() {
    let with = result(&mixed(), &[]);
    let without = result(
        &mixed(),
        &[
            ("measure.queue", "off"),
            ("measure.window", "off"),
            ("measure.throughput", "off"),
        ],
    );
    assert_eq!(with.digest, without.digest);
    let names = |output: &Output| -> Vec<String> {
        output
            .tables
            .iter()
            .map(|table| table.name.clone())
            .collect()
    };
    let always = [
        "summary",
        "flows",
        "transfers",
        "queues",
        "links",
        "goodput",
        "rounds",
    ];
    assert_eq!(names(&without), always);
    assert_eq!(
        names(&with)[7..],
        ["queue_samples", "windows", "throughput"]
    );
}

#[test]
fn histograms_cover_the_measured_interval() {
    let output = result(&mixed(), &[]);
    let ports = text(&output, "queues", "port");
    let seconds = real(&output, "queues", "seconds");
    let packets = whole(&output, "queues", "packets");
    let mut area = 0.0;
    let mut total = 0.0;
    for row in 0..ports.len() {
        if ports[row] == "switch->receiver" {
            total += seconds[row];
            area += seconds[row] * packets[row] as f64;
        }
    }
    assert_near(total, 6e-3, 1e-12);
    assert_near(
        area / total,
        of_port(&output, "switch->receiver", "mean_queue_packets"),
        1e-9,
    );
}

#[test]
fn samples_and_windows_are_those_asked_for() {
    let output = result(&mixed(), &[("measure.queue.ports", "switch->receiver")]);
    assert_eq!(real(&output, "queue_samples", "time_s").len(), 100);
    // bulk:0 to bulk:5 are rows 0 to 5 of `flows`; read:0 is the first of its group.
    let groups = text(&output, "flows", "group");
    let read = groups
        .iter()
        .position(|group| group == "read")
        .expect("a group") as u64;
    let mut watched = whole(&output, "windows", "flow");
    watched.sort_unstable();
    watched.dedup();
    assert_eq!(watched, [0, 1, 2, 3, 4, 5, read]);
    let flows = whole(&output, "throughput", "flow");
    assert!(flows.iter().all(|flow| *flow < 6));
    let delivered: u64 = whole(&output, "throughput", "bytes").iter().sum();
    let by_flow: u64 = whole(&output, "flows", "delivered_bytes")[..6].iter().sum();
    assert_eq!(delivered, by_flow);
}

#[test]
fn every_topology_carries_flows() {
    let flows = "[flows.long]\nworkload = \"bulk\"\nfrom = \"senders\"\nto = \"receivers\"\n\
                 size = \"100 KB\"\n";
    let shapes = [
        "topology = \"star\"\nsenders = 4\nreceivers = 2",
        "topology = \"dumbbell\"\nsenders = 4\nreceivers = 4",
        "topology = \"tree\"\nfanout = [2, 2, 1]\nreceivers = 2",
        "topology = \"graph\"\nhosts = [\"sender:0..3\", \"receiver\"]\nswitches = [\"a\", \"b:0..1\"]\n\
         [network.links.in]\nbetween = [\"senders\", \"a\"]\n\
         [network.links.core]\nbetween = [\"a\", \"bs\"]\n\
         [network.links.out]\nbetween = [\"b:0\", \"receiver\"]",
    ];
    for shape in shapes {
        let text = format!("[run]\nduration = \"2 s\"\n[network]\n{shape}\n{flows}");
        let output = result(&text, &[]);
        assert_eq!(output.totals.transfers, 4, "{shape}");
        assert_eq!(output.totals.delivered_bytes, 400_000, "{shape}");
    }
}

#[test]
fn one_switch_can_differ_from_the_others() {
    let text = "[run]\nduration = \"50 ms\"\n[network]\ntopology = \"tree\"\nfanout = [2, 4]\n\
                [switch]\nbuffer = \"unlimited\"\n[switches.root]\nof = \"switch:0\"\n\
                buffer = \"20 packets\"\n[flows.long]\nworkload = \"bulk\"\nfrom = \"senders\"\n\
                to = \"receiver\"\n";
    let output = result(text, &[]);
    let ports = crate::common::text(&output, "links", "port");
    let drops = whole(&output, "links", "drops");
    for (port, drops) in ports.iter().zip(drops) {
        let is_small = port == "switch:0->receiver";
        assert_eq!(drops > 0, is_small, "{drops} drops at {port}");
    }
}

/// A group of flows of any workload.
fn any_group() -> impl Strategy<Value = String> {
    let hosts = || {
        proptest::sample::select(vec![
            "senders",
            "receiver",
            "all",
            "sender:1",
            "sender:0..2",
        ])
    };
    let workload = proptest::sample::select(vec![
        "workload = \"bulk\"",
        "workload = \"bulk\"\nsize = \"30 KB\"\nstop = \"3 ms\"",
        "workload = \"bulk\"\nsize = \"30 KB\"\ntransport = { kind = \"udp\" }",
        "workload = \"cbr\"\nrate = \"200 Mbit/s\"",
        "workload = \"cbr\"\nrate = \"1 Gbit/s\"\ntransport = { kind = \"udp\" }",
        "workload = \"on-off\"\nrate = \"900 Mbit/s\"\non = \"100 us\"\noff = \"50 us\"\nperiods = \"exponential\"",
        "workload = \"barrier-incast\"\nsru = \"5 KB\"",
        "workload = \"barrier-incast\"\nsru = \"3 KB\"\nrequest_jitter = \"30 us\"",
        "workload = \"barrier-incast\"\ntotal_size = \"1 B\"\nthink_time = \"10 us\"\nrounds = 20",
        "workload = \"query\"\nrate = 3000\nresponse_size = \"5 KB\"\ndeadline = \"1 ms\"",
        "workload = \"query\"\nrate = 9000\nrequest_jitter = \"100 us\"\ninterarrival_distribution = \"log-normal\"",
        "workload = \"all-to-all\"\ntotal_size = \"20 KB\"\nthink_time = \"50 us\"",
        "workload = \"all-to-all\"\nresponse_size = \"1 KB\"\nrequest_jitter = \"30 us\"\nstop = \"2 ms\"",
        "workload = \"permutation\"",
        "workload = \"permutation\"\nsize = \"20 KB\"\ndeadline = \"1 ms\"",
        "workload = \"poisson\"\nsizes = \"hadoop\"\nload = 0.5",
        "workload = \"poisson\"\nsizes = \"8 KB\"\nload = 0.5\ninterarrival_distribution = \"log-normal\"",
        "workload = \"poisson-datagrams\"\nload = 0.9\ntransport = { kind = \"udp\" }",
    ]);
    (workload, hosts(), hosts(), 1_u32..8).prop_filter_map(
        "somebody else to send to",
        |(workload, from, to, count)| {
            let single = ["receiver", "sender:1"];
            // A permutation has as many receivers as senders.
            let permutes = workload.contains("permutation");
            let to = if permutes { from } else { to };
            let alone = from == to && single.contains(&from);
            let mut text = format!("{workload}\nfrom = \"{from}\"\nto = \"{to}\"\n");
            // One request to each host.
            let asks = ["barrier-incast", "query", "all-to-all"];
            if !asks.iter().any(|word| workload.contains(word)) {
                writeln!(text, "count = {count}").expect("texts grow");
            }
            (!alone).then_some(text)
        },
    )
}

/// Rates that change while packets are being sent, and never within the run.
const CHANGES: &str = "[{ at = '1 ms', rate = '10 Mbit/s' }, { at = '2 ms', rate = '3 Gbit/s' }]";
const LATER: &str = "[{ at = '10 ms', rate = '10 Mbit/s' }]";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// Conservation is asserted by the engine at the end of each run.
    #[test]
    fn any_mixture_of_flows_runs_to_its_end(
        groups in proptest::collection::vec(any_group(), 1..5),
        congestion in proptest::sample::select(vec!["reno", "new-reno", "cubic", "dctcp", "prague", "swift", "bbr"]),
        queue in proptest::sample::select(vec![
            "{ kind = 'drop-tail' }", "{ kind = 'red' }", "{ kind = 'threshold', marking_threshold = '5 packets' }",
            "{ kind = 'threshold', marking_threshold = '5 packets', not_ect = 'drop' }",
            "{ kind = 'drr' }", "{ kind = 'drr', quantum = '100 B', drop = 'arriving' }",
            "{ kind = 'drr', classify_by = 'traffic-class', marking_threshold = '5 packets' }",
            "{ kind = 'dualpi2' }", "{ kind = 'dualpi2', target = '50 us', rtt_max = '300 us', l4s_min_th = '20 us' }",
        ]),
        buffer in proptest::sample::select(vec!["10 packets", "30 KB", "{ shared = '60 KB', alpha = 1 }"]),
        host in proptest::sample::select(vec![
            "{}", "{ tso_burst = 8 }", "{ jitter = '3 us', queue = '20 packets' }", "{ jitter = '3 us', jitter_applies_to = 'all' }",
        ]),
        qcn in proptest::sample::select(vec![
            "off", "{ cp_q_eq = '8 KB' }", "{ variant = 'VI', cp_q_eq = '5 KB', sampling = 'every-packet' }",
            "{ variant = 'III', cp_q_eq = '5 KB', sampling = '2007-11', ports = 'switch->receiver' }",
        ]),
        handshake in any::<bool>(),
        modern in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let mut text = STAR.to_owned();
        for (number, group) in groups.iter().enumerate() {
            text.push_str("[flows.group-");
            text.push_str(&number.to_string());
            text.push_str("]\n");
            text.push_str(group);
        }
        let shared = buffer.contains("shared");
        let scenario = scenario(&text, &[
            ("run.duration", "5 ms"),
            ("transport.congestion", congestion),
            ("transport.min_rto", "1 ms"),
            ("transport.slow_start", if modern && !["prague", "swift", "bbr"].contains(&congestion) { "hystart++" } else { "standard" }),
            ("transport.pacing", if modern { "true" } else { "false" }),
            ("transport.handshake", if handshake { "true" } else { "false" }),
            ("switch.queue", queue),
            ("switch.qcn", qcn),
            ("measure.qcn", "all"),
            ("measure.timeouts", "true"),
            ("measure.slowdown", "true"),
            ("measure.buffer_occupancy", "{ every = '130 us' }"),
            ("switch.buffer", if (queue.contains("drr") || queue.contains("dualpi2")) && shared { "30 KB" } else { buffer }),
            ("network.links.senders.schedule", if seed % 2 == 0 { CHANGES } else { LATER }),
            ("host", host),
        ]).with_seed(seed);
        let once = run(&scenario).expect("runs");
        let again = run(&scenario).expect("runs");
        prop_assert!(!once.interrupted && once.totals.simulated_s >= 5e-3);
        let once = comparable(once);
        prop_assert!(once == comparable(again), "a second run differs");
        prop_assert!(once == comparable(in_steps(&scenario, seed)), "a run in steps differs");
    }
}

/// Two flows of one packet, a long silence apart.
const APART: &str = r#"
[flows.early]
workload = "bulk"
from = "sender:0"
to = "receiver"
size = "1 KB"
start_spread = "0 s"
[flows.late]
workload = "bulk"
from = "sender:1"
to = "receiver"
size = "2 KB"
start = "99999.9999 s"
start_spread = "0 s"
"#;

#[test]
fn bins_in_which_nothing_arrives_have_no_rows() {
    let text = format!("{STAR}{APART}");
    let sets = [
        ("run.duration", "100000 s"),
        ("measure.throughput", "{ every = '1 ms' }"),
    ];
    let output = result(&text, &sets);
    // A hundred million bins lie between them. The late flow's window of two packets is one bin.
    assert_eq!(real(&output, "goodput", "time_s"), [0.0, 99_999.999]);
    assert_eq!(whole(&output, "goodput", "bytes"), [1_000, 2_000]);
    assert_eq!(real(&output, "throughput", "time_s").len(), 2);
    assert_eq!(whole(&output, "throughput", "bytes"), [1_000, 2_000]);
    let without = result(&text, &[sets[0], ("measure.goodput", "false")]);
    assert_eq!(without.digest, output.digest);
    assert!(without.tables.iter().all(|table| table.name != "goodput"));
}
