//! All-reduce, incasts and permutations against what can be worked out by hand.

use std::collections::BTreeMap;

use incastle_experiment::Output;

use crate::common::{assert_near, of_port, parse, real, result, run, scenario, text, whole};

/// Hosts around one switch at 10 Gbit/s and 1 us per link. Their windows cover every message from the start.
/// `flows` has `[run]` and the flows.
fn star(hosts: u32, flows: &str) -> String {
    format!(
        "[run]\nduration = \"1 s\"\n[network]\ntopology = \"star\"\nsenders = {hosts}\n\
         receivers = 0\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\n[switch]\nbuffer = \"unlimited\"\n\
         [transport]\nhandshake = false\ninitial_window = \"100000 packets\"\n\
         receive_window = \"1 GB\"\n{flows}"
    )
}

const ALL_REDUCE: &str = "[flows.sum]\nworkload = \"all-reduce\"\nfrom = \"senders\"\n\
                          to = \"senders\"\nsize = \"14.6 MB\"\nrounds = 1\nstart_spread = \"0 s\"\n";

/// How long the first round took.
fn took(output: &Output) -> f64 {
    let started = real(output, "rounds", "started_s");
    real(output, "rounds", "completed_s")[0] - started[0]
}

/// Bytes that flows delivered, by source and destination.
fn delivered(output: &Output) -> BTreeMap<(String, String), u64> {
    let (from, to) = (text(output, "flows", "from"), text(output, "flows", "to"));
    let bytes = whole(output, "flows", "delivered_bytes");
    from.into_iter().zip(to).zip(bytes).collect()
}

/// The seconds that `bytes` of application data take on a link, in full packets of 1500 B with 1460 B of
/// data.
fn on_link(bytes: f64) -> f64 {
    bytes * 1500.0 / 1460.0 * 8.0 / 10e9
}

/// A packet's two links after the sender's own: both delays, and once more its own time.
const LATENCY: f64 = 2e-6 + 1500.0 * 8.0 / 10e9;

/// P. Patarasu, X. Yuan, 2009: 2(n-1) steps of S/n, in 2(n-1)/n x S/C and the latency of each step.
#[test]
fn a_ring_takes_two_times_n_minus_one_steps_of_a_part_each() {
    for hosts in [2, 4, 8] {
        let output = result(&star(hosts, ALL_REDUCE), &[]);
        let n = f64::from(hosts);
        let steps = 2.0 * (n - 1.0);
        let ideal = steps * (on_link(14.6e6 / n) + LATENCY);
        // ACKs of 40 B share the links with data: one for every second packet of 1500 B.
        let acks = ideal * 40.0 / 3000.0 + steps * 1e-6;
        let took = took(&output);
        assert!(
            (ideal..ideal + acks).contains(&took),
            "{hosts}: {took} and {ideal}"
        );
        let kinds = text(&output, "transfers", "kind");
        let count = |word: &str| kinds.iter().filter(|kind| *kind == word).count();
        assert_eq!(count("step"), hosts as usize * steps as usize);
        assert_eq!(count("round"), 1);
        for ((from, to), bytes) in delivered(&output) {
            let number = |name: &str| {
                name.split_once(':')
                    .expect("a role")
                    .1
                    .parse()
                    .expect("a number")
            };
            let (from, to): (u32, u32) = (number(&from), number(&to));
            assert_eq!((from + 1) % hosts, to);
            assert_near(bytes as f64, steps * 14.6e6 / n, steps);
        }
        assert_eq!(whole(&output, "rounds", "bytes"), [14_600_000]);
        assert_near(
            real(&output, "rounds", "goodput_bit_s")[0],
            14.6e6 * 8.0 / took,
            1.0,
        );
    }
}

/// Each step of a ring begins the instant at which the one before has arrived.
#[test]
fn the_steps_of_a_ring_follow_each_other_without_a_pause() {
    let output = result(&star(4, ALL_REDUCE), &[]);
    let kinds = text(&output, "transfers", "kind");
    let index = whole(&output, "transfers", "index");
    let started = real(&output, "transfers", "started_s");
    let completed = real(&output, "transfers", "completed_s");
    let steps = |host: u64| -> Vec<(f64, f64)> {
        let rows = (0..kinds.len()).filter(|&row| kinds[row] == "step" && index[row] == host);
        rows.map(|row| (started[row], completed[row])).collect()
    };
    for host in 0..4 {
        let (own, before) = (steps(host), steps((host + 3) % 4));
        assert_eq!(own.len(), 6);
        for step in 1..6 {
            assert_near(own[step].0, before[step - 1].1, 0.0);
        }
    }
}

#[test]
fn segments_make_a_pipeline_of_each_step() {
    let whole_steps = took(&result(&star(8, ALL_REDUCE), &[]));
    let cut = took(&result(
        &star(8, ALL_REDUCE),
        &[("flows.sum.segments", "25")],
    ));
    // The links never wait for the last packet of a step. All latencies but that of the last step disappear,
    // and so does the travel time of a step's first segment.
    let ideal = 14.0 * on_link(14.6e6 / 8.0) + LATENCY;
    assert!((ideal..ideal * 1.02).contains(&cut), "{cut} and {ideal}");
    assert!(cut < whole_steps, "{cut} and {whole_steps}");
}

/// A chain of n hosts: the vector goes up n - 1 links and down again, at full rate each.
#[test]
fn a_chain_takes_its_links_one_after_the_other_or_all_at_once() {
    let chain = [("flows.sum.algorithm", "tree"), ("flows.sum.degree", "1")];
    let output = result(&star(4, ALL_REDUCE), &chain);
    let ideal = 6.0 * (on_link(14.6e6) + LATENCY);
    let long = took(&output);
    assert!((ideal..ideal * 1.02).contains(&long), "{long} and {ideal}");
    // 100 segments of 100 packets: inner hosts pass the sum down while they still send parts up, two
    // vectors over one link. The first segment goes up and the last one down alone: five more.
    let sets = [chain[0], chain[1], ("flows.sum.segments", "100")];
    let ideal = 2.0 * on_link(14.6e6);
    let short = took(&result(&star(4, ALL_REDUCE), &sets));
    let filled = ideal + 5.0 * on_link(146e3) + 6.0 * LATENCY;
    assert!(
        (ideal..filled * 1.015).contains(&short),
        "{short} and {ideal} to {filled}"
    );
}

/// A tree of seven hosts: 0 above 1 and 2, those above 3, 4 and 5, 6. Two children share the link to their
/// parent, and a parent sends to both over its link. Each edge carries the vector once in each direction.
#[test]
fn a_binary_tree_shares_the_links_of_inner_hosts() {
    let output = result(&star(7, ALL_REDUCE), &[("flows.sum.algorithm", "tree")]);
    let edges = delivered(&output);
    assert_eq!(edges.len(), 12);
    for child in 1..7_u32 {
        let name = |host: u32| format!("sender:{host}");
        let parent = (child - 1) / 2;
        assert_eq!(edges[&(name(child), name(parent))], 14_600_000);
        assert_eq!(edges[&(name(parent), name(child))], 14_600_000);
    }
    // Two rows up and two down, of two vectors on one link each.
    let ideal = 4.0 * on_link(2.0 * 14.6e6);
    let took = took(&output);
    assert!((ideal..ideal * 1.03).contains(&took), "{took} and {ideal}");
    // An inner host sends the sum up, and down to both: three vectors, with headers and ACKs.
    let sent =
        |host: u32| of_port(&output, &format!("sender:{host}->switch"), "utilisation") * 1.25e9;
    for (host, vectors) in [(0, 2.0), (1, 3.0), (6, 1.0)] {
        let data = vectors * 14.6e6 * 1500.0 / 1460.0;
        assert!(
            (data..data * 1.05).contains(&sent(host)),
            "{host}: {}",
            sent(host)
        );
    }
}

#[test]
fn rounds_follow_after_the_time_to_think_and_may_overlap_at_their_ends() {
    let sets = [
        ("flows.sum.rounds", "3"),
        ("flows.sum.think_time", "1 ms"),
        ("flows.sum.algorithm", "tree"),
    ];
    let output = result(&star(5, ALL_REDUCE), &sets);
    assert_eq!(whole(&output, "rounds", "round"), [0, 1, 2]);
    let started = real(&output, "rounds", "started_s");
    let completed = real(&output, "rounds", "completed_s");
    for round in 1..3 {
        // The first host is through when it has the sum, long before the last has got it.
        let pause = started[round] - completed[round - 1];
        assert!(pause < 1e-3, "{pause}");
        assert!(completed[round] > completed[round - 1] + 1e-3);
        // It is host 0, which has the sum when it begins to send it down.
        let kinds = text(&output, "transfers", "kind");
        let index = whole(&output, "transfers", "index");
        let begun = real(&output, "transfers", "started_s");
        let down = |row: &usize| kinds[*row] == "step" && index[*row] == 4;
        let sums: Vec<f64> = (0..kinds.len())
            .filter(down)
            .map(|row| begun[row])
            .collect();
        assert_near(started[round], sums[round - 1] + 1e-3, 1e-14);
    }
    assert_eq!(started.len(), 3);
    // With one round there is nothing after it.
    let alone = result(&star(5, ALL_REDUCE), &[sets[2]]);
    assert_near(completed[0], real(&alone, "rounds", "completed_s")[0], 0.0);
}

/// Hosts come within 20 ms: no host has the sum before the last one has sent its part.
#[test]
fn an_all_reduce_waits_for_the_host_that_comes_last() {
    for algorithm in ["ring", "tree"] {
        let sets = [
            ("flows.sum.algorithm", algorithm),
            ("flows.sum.start_spread", "20 ms"),
            ("flows.sum.size", "14.6 KB"),
        ];
        let output = result(&star(4, ALL_REDUCE), &sets);
        let first = real(&output, "transfers", "started_s");
        let kinds = text(&output, "transfers", "kind");
        let index = whole(&output, "transfers", "index");
        let latest = (0..kinds.len())
            .filter(|&row| kinds[row] == "step")
            .map(|row| (index[row], first[row]))
            .fold(
                BTreeMap::new(),
                |mut starts: BTreeMap<u64, f64>, (flow, at)| {
                    let start = starts.entry(flow).or_insert(at);
                    *start = start.min(at);
                    starts
                },
            );
        let last = latest.values().copied().fold(0.0, f64::max);
        assert!(last > 1e-3, "{algorithm}: {last}");
        assert!(real(&output, "rounds", "completed_s")[0] > last);
        assert!(took(&output) < 25e-3);
    }
}

#[test]
fn steps_are_left_out_where_answers_are() {
    let with = result(&star(4, ALL_REDUCE), &[]);
    let without = result(&star(4, ALL_REDUCE), &[("measure.responses", "false")]);
    assert_eq!(with.digest, without.digest);
    assert_eq!(text(&without, "transfers", "kind"), ["round"]);
}

/// A step that meets no other takes the time that it has alone: slowdown 1.
#[test]
fn the_steps_of_two_hosts_have_their_ideal_times_but_for_acks() {
    let sets = [("measure.slowdown", "true"), ("flows.sum.size", "29200 B")];
    let output = result(&star(2, ALL_REDUCE), &sets);
    let kinds = text(&output, "transfers", "kind");
    let slowdown = real(&output, "transfers", "slowdown");
    for (kind, slowdown) in kinds.iter().zip(slowdown) {
        match kind.as_str() {
            "step" => assert!((1.0..1.1).contains(&slowdown), "{slowdown}"),
            _ => assert!(slowdown.is_nan()),
        }
    }
}

#[test]
fn an_all_reduce_goes_over_any_connections() {
    for kind in ["tcp", "udt", "dcudp"] {
        for handshake in ["true", "false"] {
            let flows = format!("{ALL_REDUCE}transport = {{ kind = \"{kind}\" }}\n");
            let text = star(4, &flows).replace("initial_window = \"100000 packets\"\n", "");
            let text = text.replace("receive_window = \"1 GB\"\n", "");
            let sets = [
                ("flows.sum.size", "100 KB"),
                ("transport.handshake", handshake),
            ];
            let sets = if kind == "tcp" { &sets[..] } else { &sets[..1] };
            let output = result(&text, sets);
            assert!(took(&output) < 0.5, "{kind}: {}", took(&output));
        }
    }
}

const INCAST: &str = "[flows.incast]\nworkload = \"random-incast\"\nfrom = \"senders\"\nto = \"senders\"\n\
                      count = 5\nsru = \"20 KB\"\n";

#[test]
fn an_incast_has_different_senders_and_is_complete_with_the_last() {
    let sets = [("flows.incast.incast_rate", "300")];
    let output = result(&star(8, INCAST), &sets);
    let kinds = text(&output, "transfers", "kind");
    let bytes = whole(&output, "transfers", "bytes");
    let started = real(&output, "transfers", "started_s");
    let completed = real(&output, "transfers", "completed_s");
    let flows = whole(&output, "transfers", "flow");
    let (from, to) = (text(&output, "flows", "from"), text(&output, "flows", "to"));
    let rounds: Vec<usize> = (0..kinds.len())
        .filter(|&row| kinds[row] == "round")
        .collect();
    // 300 in the mean; four standard deviations of sqrt(300).
    assert_near(rounds.len() as f64, 300.0, 4.0 * 300.0_f64.sqrt());
    let mut receivers = BTreeMap::new();
    let mut senders = BTreeMap::new();
    for &round in &rounds {
        let rows = round - 5..round;
        let own: Vec<usize> = rows.clone().map(|row| flows[row] as usize).collect();
        let receiver = &to[own[0]];
        let names: std::collections::BTreeSet<&String> =
            own.iter().map(|&flow| &from[flow]).collect();
        assert_eq!(names.len(), 5, "five different senders");
        assert!(!names.contains(receiver));
        assert!(own.iter().all(|&flow| &to[flow] == receiver));
        assert!(
            rows.clone()
                .all(|row| started[row].to_bits() == started[round].to_bits())
        );
        assert_eq!((bytes[round], bytes[rows.start]), (100_000, 20_000));
        let last = rows.map(|row| completed[row]).fold(0.0, f64::max);
        assert_near(completed[round], last, 0.0);
        *receivers.entry(receiver.clone()).or_insert(0) += 1;
        for name in names {
            *senders.entry(name.clone()).or_insert(0) += 1;
        }
    }
    // Each host receives an eighth and sends in five of eight; 4.5 standard deviations of a binomial.
    let n = rounds.len() as f64;
    for (counts, share) in [(receivers, 1.0 / 8.0), (senders, 5.0 / 8.0)] {
        assert_eq!(counts.len(), 8);
        let deviation = (n * share * (1.0 - share)).sqrt();
        for count in counts.into_values() {
            assert_near(f64::from(count), n * share, 4.5 * deviation);
        }
    }
    // The table has them by receiver.
    let index = whole(&output, "rounds", "index");
    assert!(index.windows(2).all(|pair| pair[0] <= pair[1]));
    assert_eq!(index.len(), rounds.len());
}

#[test]
fn incasts_offer_their_load() {
    let sets = [
        ("flows.incast.load", "0.2"),
        ("flows.incast.count", "each"),
        ("flows.incast.sru", "2 KB"),
        ("run.duration", "100 ms"),
    ];
    let output = result(&star(8, INCAST), &sets);
    let bytes: u64 = whole(&output, "rounds", "bytes").iter().sum();
    // 0.2 of 8 links of 1.25 GB/s in 0.1 s, in incasts of 7 x 2 KB: 14286; four standard deviations.
    let count = 0.2 * 8.0 * 1.25e8 / 14e3;
    assert_near(bytes as f64 / 14e3, count, 4.0 * count.sqrt());
}

#[test]
fn a_total_is_split_among_the_senders() {
    let flows = INCAST.replace(
        "sru = \"20 KB\"",
        "total_size = \"10 KB\"\nincast_rate = 50",
    );
    let output = result(&star(8, &flows), &[("flows.incast.count", "3")]);
    let bytes = whole(&output, "transfers", "bytes");
    assert_eq!(bytes[..4], [3334, 3333, 3333, 10_000]);
}

/// Background and incasts: neither moves the other's draws.
#[test]
fn a_mixture_keeps_the_draws_of_its_parts() {
    let poisson = "[flows.background]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"senders\"\n\
                   sizes = \"10 KB\"\nload = 0.1\n";
    let incast = format!("{INCAST}incast_rate = 1000\n");
    let draws = |flows: &str, group: &str| {
        let output = result(&star(8, flows), &[("run.duration", "20 ms")]);
        let groups = text(&output, "flows", "group");
        let (from, to) = (text(&output, "flows", "from"), text(&output, "flows", "to"));
        let started = real(&output, "flows", "started_s");
        let rows = (0..groups.len()).filter(|&row| groups[row] == group);
        rows.map(|row| (from[row].clone(), to[row].clone(), started[row].to_bits()))
            .collect::<Vec<_>>()
    };
    let both = format!("{poisson}{incast}");
    assert_eq!(draws(&both, "incast"), draws(&incast, "incast"));
    assert_eq!(draws(&both, "background"), draws(poisson, "background"));
}

/// Every host of a large fat tree sends once and receives once, none to itself.
#[test]
fn a_permutation_of_1024_hosts_pairs_each_with_one_other() {
    let text_of = "[run]\nduration = \"1 us\"\n[network]\ntopology = \"fat-tree\"\nk = 16\n\
                   [flows.shuffle]\nworkload = \"permutation\"\nfrom = \"all\"\nto = \"all\"\n\
                   size = \"1 MB\"\nstart_spread = \"0 s\"\n";
    let output = result(text_of, &[]);
    let (from, to) = (text(&output, "flows", "from"), text(&output, "flows", "to"));
    assert_eq!(from.len(), 1024);
    assert!(from.iter().zip(&to).all(|(from, to)| from != to));
    let set = |names: Vec<String>| names.into_iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(set(from).len(), 1024);
    assert_eq!(set(to).len(), 1024);
}

/// Timeouts belong to rounds: of an all-reduce whatever the flow, of an incast those of its receiver.
#[test]
fn every_timeout_falls_into_a_round() {
    let losses = [
        ("switch.buffer", "20 KB"),
        ("transport.min_rto", "1 ms"),
        ("transport.rto_granularity", "100 us"),
        ("measure.timeouts", "true"),
    ];
    let tree = [("flows.sum.algorithm", "tree"), ("flows.sum.degree", "2")];
    let incasts = [
        ("flows.incast.incast_rate", "500"),
        ("flows.incast.sru", "60 KB"),
    ];
    for (flows, sets) in [(ALL_REDUCE, tree), (INCAST, incasts)] {
        let sets = [&losses[..], &sets[..]].concat();
        let output = result(&star(8, flows), &sets);
        let rounds = real(&output, "timeouts", "round");
        assert!(rounds.len() > 3, "{}", rounds.len());
        assert!(rounds.iter().all(|round| !round.is_nan()));
        let counted: u64 = whole(&output, "rounds", "timeouts").iter().sum();
        assert_eq!(counted, rounds.len() as u64);
        let idle = real(&output, "rounds", "idle_s");
        assert!(
            idle.iter()
                .all(|idle| idle.is_nan() == (flows == ALL_REDUCE))
        );
    }
}

/// Connections and events of large all-reduces grow with the hosts, not with their pairs.
#[test]
fn four_times_the_hosts_are_four_times_the_work() {
    for algorithm in ["ring", "tree"] {
        let of = |hosts| {
            let sets = [
                ("run.duration", "200 us"),
                ("flows.sum.algorithm", algorithm),
                ("flows.sum.segments", "64"),
            ];
            result(&star(hosts, ALL_REDUCE), &sets).totals
        };
        let (few, many) = (of(256), of(1024));
        let edges = |hosts: u64| {
            if algorithm == "ring" {
                hosts
            } else {
                2 * (hosts - 1)
            }
        };
        assert_eq!((few.flows, many.flows), (edges(256), edges(1024)));
        let ratio = many.events as f64 / few.events as f64;
        assert!((3.8..4.2).contains(&ratio), "{algorithm}: {ratio}");
    }
}

/// The messages of `check` for a scenario.
fn problem(flows: &str, sets: &[(&str, &str)]) -> String {
    let sets: Vec<(String, String)> = sets
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    let found = parse(&star(4, flows), "test.toml", &sets).expect_err("a mistake");
    found
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn what_cannot_be_is_told() {
    let incast = format!("{INCAST}incast_rate = 10\n");
    for (flows, set, message) in [
        (
            ALL_REDUCE,
            ("flows.sum.to", "sender:0..2"),
            "`to` must name the hosts of `from`",
        ),
        (
            ALL_REDUCE,
            ("flows.sum.size", "3 B"),
            "3 B cannot be cut into 4 messages",
        ),
        (
            ALL_REDUCE,
            ("flows.sum.segments", "10000000"),
            "at least 1 and at most 100000",
        ),
        (
            ALL_REDUCE,
            ("flows.sum.algorithm", "rink"),
            "did you mean \"ring\"?",
        ),
        (
            ALL_REDUCE,
            ("transport.kind", "udp"),
            "needs another transport",
        ),
        (
            &incast,
            ("transport.kind", "udp"),
            "needs another transport",
        ),
        (
            &incast,
            ("flows.incast.count", "5"),
            "5 senders at once, but `from` has only 3 hosts",
        ),
        (
            &incast,
            ("flows.incast.from", "sender:1"),
            "no host of `from` can send to \"sender:1\"",
        ),
        (
            &incast,
            ("flows.incast.total_size", "1 KB"),
            "has both sru and total_size",
        ),
        (
            &incast,
            ("flows.incast.load", "0.1"),
            "has both load and incast_rate",
        ),
        (
            INCAST,
            ("run.seed", "2"),
            "has neither load nor incast_rate",
        ),
    ] {
        let sets = if flows == incast || flows == INCAST {
            vec![("flows.incast.count", "3"), set]
        } else {
            vec![set]
        };
        let found = problem(flows, &sets);
        assert!(found.contains(message), "{set:?}: {found}");
    }
}

#[test]
fn too_many_incasts_are_warned_of() {
    let flows = format!("{INCAST}incast_rate = 100000\n");
    let sets = [("flows.incast.count".to_owned(), "3".to_owned())];
    let (_, warnings) = parse(&star(4, &flows), "test.toml", &sets).expect("a scenario");
    // 100,000 x 60 KB of 4 x 1.25 GB/s are 120 %; each 20 KB have 14 headers of 40 B: 1.2 x 20,560 / 20,000.
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("this group offers 123.4 % of what")),
        "{warnings:?}"
    );
}

/// The resolved scenario is the same one.
#[test]
fn resolved_scenarios_give_the_same_result() {
    let flows =
        format!("{ALL_REDUCE}algorithm = \"tree\"\ndegree = 3\n{INCAST}incast_rate = 1000\n");
    let sets = [("flows.incast.count", "3"), ("run.duration", "5 ms")];
    let first = scenario(&star(4, &flows), &sets);
    let (again, _) = parse(&first.resolved(), "again.toml", &[]).expect("a resolved scenario");
    let digest = |scenario| run(scenario).expect("a network").digest;
    assert_eq!(digest(&first), digest(&again));
}
