//! Queries, all-to-all, permutations, and the loads of random arrivals.

use std::collections::BTreeMap;

use incastle_experiment::Output;

use crate::common::{STAR, assert_near, real, result, text, whole};

fn star(flows: &str) -> String {
    format!("{STAR}{flows}")
}

const QUERY: &str = r#"
[flows.query]
workload = "query"
from = "senders"
to = "receiver"
start_spread = "0 s"
"#;

/// The rows of `transfers` of a kind: (index, started, completed, bytes).
fn transfers(output: &Output, kind: &str) -> Vec<(u64, f64, f64, u64)> {
    let kinds = text(output, "transfers", "kind");
    let index = whole(output, "transfers", "index");
    let started = real(output, "transfers", "started_s");
    let completed = real(output, "transfers", "completed_s");
    let bytes = whole(output, "transfers", "bytes");
    (0..kinds.len())
        .filter(|&row| kinds[row] == kind)
        .map(|row| (index[row], started[row], completed[row], bytes[row]))
        .collect()
}

#[test]
fn a_query_in_closed_loop_is_a_barrier() {
    let sets = [
        ("flows.query.rounds", "5"),
        ("flows.query.think_time", "1 ms"),
    ];
    let query = result(&star(QUERY), &sets);
    let barrier = [
        sets[0],
        sets[1],
        ("flows.query.workload", "barrier-incast"),
        ("flows.query.request", "1.6 KB"),
        ("flows.query.sru", "2 KB"),
    ];
    let barrier = result(&star(QUERY), &barrier);
    assert_eq!(query.digest, barrier.digest);
    assert_eq!(whole(&query, "rounds", "bytes"), [8_000; 5]);
}

#[test]
fn queries_in_open_loop_overlap() {
    // 4 x 25 KB are 0.8 ms at 1 Gbit/s: at 1000 per second the link is busy for 80 % of the time.
    let sets = [
        ("flows.query.rate", "1000"),
        ("flows.query.response_size", "25 KB"),
        ("run.duration", "1 s"),
        ("flows.query.stop", "900 ms"),
    ];
    let output = result(&star(QUERY), &sets);
    let rounds = transfers(&output, "round");
    // 900 in the mean; 4 standard deviations of sqrt(900).
    assert_near(rounds.len() as f64, 900.0, 120.0);
    let overlapping = rounds.windows(2).filter(|pair| pair[1].1 < pair[0].2);
    assert!(overlapping.count() > 100, "queries overlap");
    let mut by_server = BTreeMap::<u64, Vec<(f64, f64)>>::new();
    for (server, started, completed, bytes) in transfers(&output, "response") {
        assert_eq!(bytes, 25_000);
        by_server
            .entry(server)
            .or_default()
            .push((started, completed));
    }
    assert_eq!(by_server.len(), 4);
    for (query, &(_, started, completed, bytes)) in rounds.iter().enumerate() {
        // Each server responds in the order of its requests; a query lasts until the last response.
        let responses: Vec<_> = by_server
            .values()
            .map(|responses| responses[query])
            .collect();
        let last = responses.iter().map(|(_, at)| *at).fold(0.0, f64::max);
        assert!(
            responses
                .iter()
                .all(|(requested, _)| (requested - started).abs() <= 0.0)
        );
        assert_near(completed, last, 0.0);
        assert_eq!(bytes, 100_000);
    }
    for responses in by_server.values() {
        assert!(responses.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }
    assert!(
        rounds.iter().all(|round| round.2 < 1.0),
        "all have responses"
    );
    assert_eq!(output.totals.flows, 4, "connections persist");
}

#[test]
fn answers_can_be_left_out() {
    let sets = [("flows.query.rate", "1000"), ("measure.slowdown", "true")];
    let with = result(&star(QUERY), &sets);
    let without = result(
        &star(QUERY),
        &[sets[0], sets[1], ("measure.responses", "false")],
    );
    assert_eq!(with.digest, without.digest);
    assert!(transfers(&without, "response").is_empty());
    assert_eq!(
        transfers(&with, "round").len(),
        transfers(&without, "round").len()
    );
    assert_eq!(
        real(&with, "rounds", "started_s"),
        real(&without, "rounds", "started_s")
    );
}

#[test]
fn staggered_queries_may_overlap_too() {
    let sets = [
        ("flows.query.rate", "5000"),
        ("flows.query.request_jitter", "1 ms"),
        ("flows.query.total_size", "10 KB"),
        ("flows.query.stop", "6 ms"),
    ];
    let output = result(&star(QUERY), &sets);
    let rounds = transfers(&output, "round");
    assert!(rounds.len() > 10);
    assert!(rounds.iter().all(|(.., completed, _)| !completed.is_nan()));
    assert_eq!(transfers(&output, "response").len(), 4 * rounds.len());
}

#[test]
fn every_host_can_ask_all_others_at_random() {
    let sets = [
        ("flows.query.from", "all"),
        ("flows.query.to", "all"),
        ("flows.query.rate", "200"),
        ("run.duration", "1 s"),
    ];
    let output = result(&star(QUERY), &sets);
    assert_eq!(output.totals.flows, 20);
    let mut clients = BTreeMap::<u64, u32>::new();
    for (client, ..) in transfers(&output, "round") {
        *clients.entry(client).or_default() += 1;
    }
    // 200 of each of 5 hosts; 4 standard deviations of sqrt(200).
    assert_eq!(clients.len(), 5);
    assert!(clients.values().all(|count| count.abs_diff(200) < 57));
}

#[test]
fn all_to_all_rounds_begin_together() {
    let flows = r#"
[flows.shuffle]
workload = "all-to-all"
from = "all"
to = "all"
response_size = "25 KB"
rounds = 3
think_time = "1 ms"
"#;
    let output = result(&star(flows), &[("run.duration", "100 ms")]);
    assert_eq!(output.totals.flows, 20);
    assert_eq!(whole(&output, "rounds", "round"), [0, 1, 2].repeat(5));
    let rounds = transfers(&output, "round");
    assert_eq!(rounds.len(), 15);
    // An idle round trip, over which the starts are spread, and the same offsets in every round.
    let rtt = 124.64e-6;
    let starts = |number: usize| -> BTreeMap<u64, f64> {
        let of_round = rounds[5 * number..5 * number + 5].iter();
        of_round.map(|round| (round.0, round.1)).collect()
    };
    let mut before = 0.0;
    for number in 0..3 {
        let first = starts(number).into_values().fold(f64::MAX, f64::min);
        for (client, start) in starts(number) {
            assert!((0.0..rtt).contains(&(start - first)));
            assert_near(
                start - first,
                starts(0)[&client] - starts(0).into_values().fold(f64::MAX, f64::min),
                1e-12,
            );
        }
        if number > 0 {
            assert_near(first - before, 1e-3, 1e-12);
        }
        before = rounds[5 * number..5 * number + 5]
            .iter()
            .map(|round| round.2)
            .fold(0.0, f64::max);
    }
    let together = [
        ("flows.shuffle.start_spread", "0 s"),
        ("flows.shuffle.rounds", "1"),
    ];
    let output = result(&star(flows), &together);
    assert_eq!(real(&output, "rounds", "started_s"), [0.0; 5]);
    assert_eq!(whole(&output, "rounds", "bytes"), [100_000; 5]);
}

#[test]
fn a_permutation_gives_each_host_one_other() {
    let flows = "[flows.pairs]\nworkload = \"permutation\"\nfrom = \"all\"\nto = \"all\"\n";
    let pairs = |seed: &str| {
        let sets = [("network.senders", "40"), ("run.seed", seed)];
        let output = result(&star(flows), &sets);
        let from = text(&output, "flows", "from");
        from.into_iter()
            .zip(text(&output, "flows", "to"))
            .collect::<Vec<_>>()
    };
    let once = pairs("1");
    assert_eq!(once.len(), 41);
    assert!(once.iter().all(|(from, to)| from != to));
    let receivers: std::collections::BTreeSet<_> = once.iter().map(|(_, to)| to).collect();
    assert_eq!(receivers.len(), 41);
    assert_eq!(once, pairs("1"));
    assert_ne!(once, pairs("2"));
    let sized = [("flows.pairs.size", "30 KB")];
    let output = result(&star(flows), &sized);
    assert_eq!(whole(&output, "flows", "delivered_bytes"), [30_000; 5]);
}

/// The bytes per second that began between 0 and the end, over those of a load of 1.
fn offered(sets: &[(&str, &str)]) -> f64 {
    let flows = "[flows.load]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\n\
                 sizes = \"200 B\"\nload = 0.3\n";
    let output = result(&star(flows), sets);
    let bytes = whole(&output, "transfers", "bytes").iter().sum::<u64>();
    bytes as f64 / output.totals.simulated_s / 125e6
}

#[test]
fn the_offered_load_is_what_was_asked_for() {
    // 187,500 flows per second: one standard deviation of a Poisson process is 0.23 % over one second.
    assert_near(offered(&[("run.duration", "1 s")]) / 0.3, 1.0, 0.01);
    // Gaps of sigma 1 have a variance of e - 1 = 1.7 instead of 1.
    let heavy = [
        ("run.duration", "1 s"),
        ("flows.load.interarrival_distribution", "log-normal"),
        ("flows.load.sigma", "1"),
    ];
    assert_near(offered(&heavy) / 0.3, 1.0, 0.01);
}

#[test]
fn log_normal_gaps_come_in_bursts() {
    let variation = |sets: &[(&str, &str)]| {
        let sets = [
            &[("run.duration", "1 s"), ("flows.query.rate", "2000")],
            sets,
        ]
        .concat();
        let output = result(&star(QUERY), &sets);
        let starts: Vec<f64> = transfers(&output, "round")
            .iter()
            .map(|one| one.1)
            .collect();
        let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps
            .iter()
            .map(|gap| (gap - mean) * (gap - mean))
            .sum::<f64>();
        (square / gaps.len() as f64).sqrt() / mean
    };
    // An exponential gap varies by its mean, a log-normal one of sigma 2 by sqrt(e^4 - 1) = 7.3 of them.
    assert_near(variation(&[]), 1.0, 0.1);
    assert!(variation(&[("flows.query.interarrival_distribution", "log-normal")]) > 2.5);
}

#[test]
fn queries_have_deadlines() {
    // 4 x 25 KB take 0.8 ms and more: a deadline of 0.5 ms is missed by the last responses of each.
    let sets = [
        ("flows.query.rate", "100"),
        ("flows.query.response_size", "25 KB"),
        ("flows.query.deadline", "500 us"),
        ("run.duration", "100 ms"),
        ("flows.query.stop", "90 ms"),
    ];
    let output = result(&star(QUERY), &sets);
    let started = real(&output, "rounds", "started_s");
    for (round, deadline) in real(&output, "rounds", "deadline_s")
        .into_iter()
        .enumerate()
    {
        assert_near(deadline - started[round], 500e-6, 1e-12);
    }
    let totals = output.totals;
    let responses = 4 * started.len() as u64;
    assert_eq!(totals.met_deadlines + totals.missed_deadlines, responses);
    assert!(totals.missed_deadlines >= started.len() as u64);
    let without = [sets[0], sets[1], sets[3], sets[4]];
    let without = result(&star(QUERY), &without);
    assert!(
        real(&without, "rounds", "deadline_s")
            .iter()
            .all(|at| at.is_nan())
    );
    assert_eq!(output.digest, without.digest, "only d2tcp heeds deadlines");
}
