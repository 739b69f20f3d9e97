//! Random scenarios: a topology, switches, hosts, links that are degraded or fail, and groups of flows with
//! a transport for each.

use incastle_scenario::{Layout, Link, Scenario};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::shapes::{Shape, shapes};
use crate::common::{parse, scenario};

/// Keys below some path, and their values.
type Keys = &'static [(&'static str, &'static str)];
/// Keys of a scenario, and their values, as `--set` takes them.
type Sets = Vec<(String, String)>;

/// A random scenario.
#[derive(Clone)]
pub(super) struct Draw {
    text: String,
    sets: Sets,
    /// Whether more than the clock decides, so that it runs on one thread.
    pub(super) closed: bool,
    pub(super) threads: usize,
}

/// As a user would write it, to be copied from a failed test.
impl std::fmt::Debug for Draw {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{} threads, closed: {}", self.threads, self.closed)?;
        writeln!(f, "{}", self.text)?;
        for (key, value) in &self.sets {
            writeln!(f, "--set {key}=\"{value}\"")?;
        }
        Ok(())
    }
}

impl Draw {
    /// Whether packets of a flow may overtake each other: with DualPI2 those that were marked on their way.
    pub(super) fn reorders(&self) -> bool {
        self.sets.iter().any(|(key, value)| {
            let by_key = key.ends_with("reorder") || key.contains("failures");
            by_key || ["packet", "flowlet", "dualpi2"].contains(&value.as_str())
        })
    }

    /// The least window of TCP, in bytes. Swift's may be less than a segment.
    pub(super) fn least_window(&self) -> f64 {
        let has = |wanted: &str| self.sets.iter().any(|(_, value)| value == wanted);
        match (has("swift"), has("500 B")) {
            (true, _) => 0.0,
            (false, true) => 500.0,
            (false, false) => 1460.0,
        }
    }

    pub(super) fn scenario(&self) -> Scenario {
        match parse(&self.text, "drawn.toml", &self.sets) {
            Ok((scenario, _)) => scenario,
            Err(found) => panic!("{}", found[0]),
        }
    }
}

/// One of these, the first if that fails too.
fn one_of(path: &'static str, options: &'static [Keys]) -> impl Strategy<Value = Sets> {
    select(options).prop_map(move |keys| below(path, keys))
}

fn below(path: &str, keys: Keys) -> Sets {
    let keys = keys.iter();
    keys.map(|(key, value)| (format!("{path}.{key}"), (*value).to_owned()))
        .collect()
}

const TOPOLOGIES: &[&str] = &[
    "topology = 'dumbbell'\nsenders = 2\nreceivers = 2",
    "topology = 'star'\nsenders = 4\nreceivers = 2",
    "topology = 'tree'\nfanout = [2, 2]\nreceivers = 1",
    "topology = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2",
    "topology = 'leaf-spine'\nleaves = 3\nspines = 1\nhosts_per_leaf = 2\noversubscription = 2",
    "topology = 'fat-tree'\nk = 4",
    "topology = 'clos'\npods = 2\nedges_per_pod = 2\naggregations_per_pod = 2\ncores = 2\nhosts_per_edge = 1",
];

/// A connected graph with parallel links where two links are between the same switches.
fn graph(shape: &Shape) -> String {
    let link = |label: String, a: String, b: usize| {
        format!("[network.links.{label}]\nbetween = ['{a}', 's:{b}']\nparallel = true\n")
    };
    let hosts = shape.hosts.iter().enumerate();
    let hosts = hosts.map(|(host, switch)| link(format!("h{host}"), format!("h:{host}"), *switch));
    let trunks = shape.links.iter().enumerate();
    let trunks = trunks.map(|(number, (a, b))| link(format!("s{number}"), format!("s:{a}"), *b));
    let links: String = hosts.chain(trunks).collect();
    format!(
        "topology = 'graph'\nhosts = ['h:0..{}']\nswitches = ['s:0..{}']\n{links}",
        shape.hosts.len() - 1,
        shape.switches - 1,
    )
}

fn topologies() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => select(TOPOLOGIES).prop_map(str::to_owned),
        1 => shapes(2..5, 3..7).prop_map(|shape| graph(&shape)),
    ]
}

const ECMP: &[Keys] = &[
    &[],
    &[("ecmp", "packet")],
    &[("ecmp", "flowlet"), ("flowlet_gap", "20 us")],
    &[("reconvergence_delay", "200 us")],
];

/// Buffers of each port with every discipline, and a shared memory with those that can have one.
const DISCIPLINES: &[Keys] = &[
    &[],
    &[
        ("kind", "red"),
        ("min_th", "2 packets"),
        ("max_th", "8 packets"),
        ("max_p", "0.1"),
        ("w_q", "0.05"),
    ],
    &[
        ("kind", "red"),
        ("action", "drop"),
        ("gentle", "true"),
        ("min_th", "2 packets"),
        ("max_th", "6 packets"),
    ],
    &[
        ("kind", "red"),
        ("action", "mark-below-max"),
        ("w_q", "0.2"),
    ],
    &[("kind", "threshold"), ("marking_threshold", "4 packets")],
    &[
        ("kind", "threshold"),
        ("marking_threshold", "9 KB"),
        ("not_ect", "drop"),
    ],
    &[
        ("kind", "double-threshold"),
        ("k1", "6 packets"),
        ("k2", "3 packets"),
    ],
];
const BUFFERS: &[Keys] = &[
    &[],
    &[("buffer", "unlimited")],
    &[("buffer", "8 packets")],
    &[("buffer", "20 KB")],
    &[("buffer", "{ shared = '60 KB', alpha = 1.0 }")],
    &[
        ("buffer", "30 KB"),
        ("qcn", "{ variant = 'VI', cp_sample_base = '20 KB' }"),
    ],
];
const SCHEDULERS: &[Keys] = &[
    &[("kind", "drr")],
    &[
        ("kind", "drr"),
        ("drop", "arriving"),
        ("marking_threshold", "5 packets"),
    ],
    &[
        ("kind", "drr"),
        ("classify_by", "traffic-class"),
        ("quantum", "500 B"),
    ],
    &[
        ("kind", "dualpi2"),
        ("target", "100 us"),
        ("rtt_max", "1 ms"),
        ("l4s_min_th", "30 us"),
        ("l4s_range", "20 us"),
    ],
    &[
        ("kind", "dualpi2"),
        ("target", "20 us"),
        ("rtt_max", "200 us"),
        ("l4s_min_th", "5 us"),
        ("l4s_range", "0 s"),
        ("classic_share", "0.5"),
    ],
];
const ROOMS: &[Keys] = &[&[("buffer", "30 KB")], &[("buffer", "7 packets")], &[]];

fn switches() -> impl Strategy<Value = Sets> {
    let queue = "switch.queue";
    prop_oneof![
        2 => (one_of(queue, DISCIPLINES), one_of("switch", BUFFERS)).prop_map(joined),
        1 => (one_of(queue, SCHEDULERS), one_of("switch", ROOMS)).prop_map(joined),
    ]
}

fn joined((mut a, b): (Sets, Sets)) -> Sets {
    a.extend(b);
    a
}

const HOSTS: &[Keys] = &[
    &[],
    &[("jitter", "1 us")],
    &[("jitter", "3 us"), ("jitter_applies_to", "all")],
    &[("tso_burst", "4")],
    &[("queue", "6 packets")],
];

/// Links that are degraded: which, and how.
const LOSSES: &[Keys] = &[
    &[],
    &[("loss", "1 %")],
    &[("loss", "{ good_to_bad = '1 %', bad_to_good = '30 %' }")],
    &[(
        "loss",
        "{ good_to_bad = '3 %', bad_to_good = '20 %', loss_in_bad = '60 %', loss_in_good = '0.5 %' }",
    )],
    &[("loss", "15 %")],
];
const ERRORS: &[Keys] = &[
    &[],
    &[("bit_error_rate", "2e-6")],
    &[("bit_error_rate", "1e-5")],
];
const SLOWER: &[Keys] = &[
    &[],
    &[("rate", "100 Mbit/s")],
    &[("delay", "60 us")],
    &[
        ("rate", "400 Mbit/s"),
        ("delay", "20 us"),
        ("reorder", "true"),
    ],
];
const JITTER: &[Keys] = &[
    &[],
    &[("jitter", "10 us")],
    &[
        ("jitter", "20 us"),
        ("jitter_distribution", "exponential"),
        ("reorder", "true"),
    ],
    &[
        ("jitter", "40 us"),
        ("jitter_distribution", "pareto"),
        ("reorder", "true"),
    ],
    &[("jitter", "15 us"), ("jitter_distribution", "normal")],
];
const PERIODS: &[Keys] = &[
    &[],
    &[("until", "5 ms")],
    &[("from", "300 us"), ("until", "40 ms")],
    &[("from", "1 ms")],
];
const DIRECTIONS: &[Keys] = &[&[], &[("direction", "forward")]];

/// A link by its place among all, whether from its second node, and the keys.
type Degraded = (Index, bool, Vec<Keys>);

fn degraded() -> impl Strategy<Value = Degraded> {
    let effects = (
        select(LOSSES),
        select(ERRORS),
        select(SLOWER),
        select(JITTER),
    );
    let effects = effects.prop_filter("nothing is degraded", |(a, b, c, d)| {
        [a, b, c, d].iter().any(|keys| !keys.is_empty())
    });
    let which = (
        any::<Index>(),
        any::<bool>(),
        select(DIRECTIONS),
        select(PERIODS),
    );
    (which, effects).prop_map(|((link, turned, direction, period), (a, b, c, d))| {
        (link, turned, vec![direction, period, a, b, c, d])
    })
}

/// The table of a link that is degraded or fails.
fn of_link(table: &str, layout: &Layout, link: usize, turned: bool) -> Sets {
    let (a, b) = layout.links[link].ends;
    let (a, b) = if turned { (b, a) } else { (a, b) };
    let mut sets = vec![(
        format!("{table}.between"),
        format!("['{}', '{}']", layout.name(a), layout.name(b)),
    )];
    let same = |other: &&Link| {
        let (c, d) = other.ends;
        (a, b) == (c, d) || (a, b) == (d, c)
    };
    if layout.links.iter().filter(same).count() > 1 {
        let number = layout.links[link].earlier + 1;
        sets.push((format!("{table}.number"), number.to_string()));
    }
    sets
}

/// The keys of degraded links, each of another link.
fn degraded_links(layout: &Layout, all: &[Degraded]) -> Sets {
    let mut sets = Sets::new();
    let mut taken = Vec::new();
    for (number, (link, turned, keys)) in all.iter().enumerate() {
        let link = link.index(layout.links.len());
        if taken.contains(&link) {
            continue;
        }
        taken.push(link);
        let table = format!("network.degraded.d{number}");
        sets.extend(of_link(&table, layout, link, *turned));
        for &keys in keys {
            for set in below(&table, keys) {
                // Two effects may both let packets overtake each other.
                if !sets.contains(&set) {
                    sets.push(set);
                }
            }
        }
    }
    sets
}

/// Groups of flows that the clock alone begins, and those for which more decides.
const OPEN: &[&str] = &[
    "workload = 'permutation'\nsize = '20 KB'",
    "workload = 'permutation'\nsize = '1 B'",
    "workload = 'permutation'\nsize = '60 KB'\ndeadline = '3 ms'",
    "workload = 'bulk'\nsize = '10 KB'\npairs = 'all'",
    "workload = 'random-incast'\ncount = 2\nsru = '9 KB'\nincast_rate = 2000\nstop = '3 ms'",
    "workload = 'poisson'\nsizes = '11 KB'\nflow_rate = 4000\nstop = '3 ms'",
];
const CLOSED: &[&str] = &[
    "workload = 'barrier-incast'\ncount = 2\nsru = '20 KB'\nrounds = 2",
    "workload = 'barrier-incast'\ntotal_size = '30 KB'\nrounds = 2\nrequest_jitter = '50 us'",
    "workload = 'all-to-all'\nresponse_size = '5 KB'\nrounds = 2",
    "workload = 'query'\nrounds = 3\nrate = 2000\nresponse_size = '3 KB'",
    "workload = 'all-reduce'\nsize = '30 KB'\nsegments = 2\nrounds = 1",
    "workload = 'all-reduce'\nalgorithm = 'tree'\nsize = '30 KB'\nrounds = 2",
];
const NOISE: &str = "[flows.noise]\nworkload = 'on-off'\nfrom = 'all'\nto = 'all'\nrate = '200 Mbit/s'\n\
                     on = '200 us'\noff = '400 us'\nstop = '4 ms'\ntransport = { kind = 'udp' }\n";

const CONTROLS: &[&str] = &[
    "new-reno", "reno", "cubic", "dctcp", "d2tcp", "dt-cwa", "prague", "swift", "bbr",
];
const PRESETS: &[&str] = &["linux", "rfc", "ns-2-2010"];
const RECOVERIES: &[&str] = &["reno", "new-reno", "sack"];
const MECHANISMS: [&str; 4] = ["tail_loss_probe", "dsack", "prr", "f_rto"];
/// A lost SYN makes the RTO 3 s (RFC 6298, section 5.7): all have the same maximum.
const MAX_RTO: &str = "1 s";
const TIMERS: &[Keys] = &[
    &[
        ("min_rto", "1 ms"),
        ("initial_rto", "3 ms"),
        ("rto_granularity", "10 us"),
        ("delayed_ack_timeout", "100 us"),
    ],
    &[],
    &[
        ("min_rto", "150 us"),
        ("initial_rto", "500 us"),
        ("rto_granularity", "10 us"),
        ("delayed_ack_timeout", "300 us"),
    ],
    &[
        ("min_rto", "10 ms"),
        ("randomized_rto", "true"),
        ("timestamps", "false"),
        ("initial_rto", "20 ms"),
    ],
];
const CONNECTIONS: &[Keys] = &[
    &[],
    &[("handshake", "false")],
    &[("timestamps", "false")],
    &[("pacing", "true")],
    &[
        ("limited_transmit", "false"),
        ("initial_window", "2 packets"),
    ],
    &[("mss", "500 B"), ("delayed_ack_count", "4")],
    &[("delayed_ack_count", "1"), ("max_cwnd", "6 packets")],
    &[("receive_window", "5 KB")],
    &[("ecn", "classic"), ("ect_on_control", "true")],
    &[
        ("ecn", "dctcp"),
        ("ce_change", "figure-10"),
        ("traffic_class", "3"),
    ],
    &[
        ("slow_start_after_idle", "false"),
        ("min_cwnd", "1 packets"),
        ("framing", "ethernet"),
    ],
];
/// UDT gives up where no handshake comes through within 3 s.
const DATAGRAMS: &[Keys] = &[
    &[("kind", "udt"), ("handshake", "false")],
    &[("kind", "dcudp"), ("handshake", "false")],
    &[
        ("kind", "udt"),
        ("handshake", "false"),
        ("exp_floor", "5 ms"),
        ("syn", "5 ms"),
    ],
    &[
        ("kind", "dcudp"),
        ("handshake", "false"),
        ("packet_size", "600 B"),
        ("ect_on_control", "true"),
    ],
    &[
        ("kind", "dcudp"),
        ("handshake", "false"),
        ("loss_in_udp_mode", "congestion-mode"),
        ("exp_floor", "3 ms"),
    ],
];

/// The transport of a group.
fn transports(group: &'static str) -> impl Strategy<Value = Sets> {
    prop_oneof![
        8 => tcp(),
        1 => select(DATAGRAMS).prop_map(|keys| below("transport", keys)),
    ]
    .prop_map(move |sets| {
        let sets = sets.into_iter();
        sets.map(|(key, value)| (format!("flows.{group}.{key}"), value))
            .collect()
    })
}

fn tcp() -> impl Strategy<Value = Sets> {
    let recovery = prop_oneof![
        2 => Just(None),
        2 => any::<[bool; 4]>().prop_map(|on| Some(Err(on))),
        1 => select(RECOVERIES).prop_map(|word| Some(Ok(word))),
    ];
    let keys = (select(TIMERS), select(CONNECTIONS));
    (select(CONTROLS), select(PRESETS), recovery, keys).prop_map(
        |(control, preset, recovery, (timers, connection))| {
            let mut sets = vec![
                ("congestion", control.to_owned()),
                ("preset", preset.to_owned()),
                ("max_rto", MAX_RTO.to_owned()),
            ];
            match recovery {
                None => {}
                Some(Ok(word)) => sets.push(("recovery", word.to_owned())),
                Some(Err(on)) => {
                    sets.push(("recovery", "rack-tlp".to_owned()));
                    let on = MECHANISMS.into_iter().zip(on);
                    sets.extend(on.map(|(key, on)| (key, on.to_string())));
                }
            }
            for (key, value) in timers.iter().chain(connection) {
                sets.push((key, (*value).to_owned()));
            }
            // BBR has no choice of these; Swift takes the delay of an ACK for that of the path.
            sets.retain(|(key, _)| match control {
                "bbr" => !["recovery", "prr", "ecn"].contains(key),
                "swift" => *key != "delayed_ack_count",
                _ => true,
            });
            if control == "swift" {
                // Above the round trips of degraded links: the windows would fall to the least.
                sets.push(("base_target", "1 ms".to_owned()));
            }
            let sets = sets.into_iter();
            let named = sets.map(|(key, value)| (format!("transport.{key}"), value));
            named.collect()
        },
    )
}

fn group(name: &str, text: &str) -> String {
    format!("[flows.{name}]\nfrom = 'all'\nto = 'all'\n{text}\n")
}

/// A link that goes down, when, and for how long, in microseconds.
type Failure = (Index, u64, u64);

/// A random scenario.
pub(super) fn draws() -> impl Strategy<Value = Draw> {
    let workloads = prop_oneof![
        3 => (select(OPEN), select(OPEN)).prop_map(|(one, two)| (one, two, false)),
        1 => (select(CLOSED), select(OPEN)).prop_map(|(one, two)| (one, two, true)),
    ];
    let links = prop::collection::vec(degraded(), 0..4);
    let failure = prop::option::weighted(0.2, (any::<Index>(), 100..5_000_u64, 1..4_000_u64));
    let nodes = (one_of("network", ECMP), switches(), one_of("host", HOSTS));
    let flows = (
        workloads,
        any::<bool>(),
        transports("one"),
        transports("two"),
    );
    // Threads take long to wait for each other.
    let threads = prop_oneof![2 => Just(1), 1 => 2..5_usize];
    let run = (0..1_000_u64, threads);
    (topologies(), nodes, links, failure, flows, run).prop_map(assemble)
}

type Nodes = (Sets, Sets, Sets);
type Flows = ((&'static str, &'static str, bool), bool, Sets, Sets);

fn assemble(
    (topology, nodes, links, failure, flows, (seed, threads)): (
        String,
        Nodes,
        Vec<Degraded>,
        Option<Failure>,
        Flows,
        (u64, usize),
    ),
) -> Draw {
    let ((one, two, closed), noise, transport_one, transport_two) = flows;
    // Samples of windows need one thread.
    let (stop, window) = if closed {
        ("when-done", "window = { flows = 'all', every = '50 us' }")
    } else {
        ("duration", "")
    };
    let text = format!(
        "[run]\nduration = '{DURATION}'\nstop = '{stop}'\nseed = {seed}\n\
         [measure]\nslowdown = true\n{window}\n\
         [network]\nrate = '1 Gbit/s'\ndelay = '{LINK_DELAY_S} s'\n{topology}\n{}{}{}",
        group("one", one),
        group("two", two),
        if noise { NOISE } else { "" },
    );
    let layout = scenario(&text, &[]).layout().clone();
    let mut sets = degraded_links(&layout, &links);
    if let Some((link, down, length)) = failure {
        let link = link.index(layout.links.len());
        sets.extend(of_link("network.failures.f", &layout, link, false));
        sets.push(("network.failures.f.down".to_owned(), format!("{down} us")));
        sets.push((
            "network.failures.f.up".to_owned(),
            format!("{} us", down + length),
        ));
    }
    let (ecmp, switches, hosts) = nodes;
    for more in [ecmp, switches, hosts, transport_one, transport_two] {
        sets.extend(more);
    }
    Draw {
        text,
        sets,
        closed,
        threads,
    }
}

/// More than any of them takes: a hundred of the longest timeouts. Idle UDT connections have timers all the time.
const DURATION: &str = "100 s";

/// The one-way delay of each link, in seconds.
pub(super) const LINK_DELAY_S: f64 = 2e-6;
