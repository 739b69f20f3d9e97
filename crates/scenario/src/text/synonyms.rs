//! Other words for keys and values: those of papers and other simulators, and of earlier versions;
//! and the names of what is not modelled.
//!
//! They are not accepted; a message has the valid word. Words are compared without case, blanks,
//! `-` and `_`. Leaves out: misspellings (`suggest`), algorithms of other layers (`elsewhere`).

use crate::text::suggest::{did_you_mean, fold, nearly};

/// Other words for keys, and the keys; of several the first that is valid in the table.
pub(crate) const KEYS: &[(&[&str], &[&str])] = &[
    // [run]
    (
        &["time", "sim time", "simulation time", "run time", "length"],
        &["duration"],
    ),
    (&["rng seed", "random seed", "rng"], &["seed"]),
    // [network]
    (
        &[
            "bandwidth",
            "link bandwidth",
            "bw",
            "speed",
            "link speed",
            "link rate",
            "data rate",
            "capacity",
        ],
        &["rate"],
    ),
    (
        &[
            "latency",
            "link latency",
            "link delay",
            "propagation delay",
            "prop delay",
        ],
        &["delay"],
    ),
    (&["shape", "topo"], &["topology"]),
    (
        &["racks", "tors", "num racks", "num leaves", "leaf switches"],
        &["leaves"],
    ),
    (&["num spines", "spine switches"], &["spines"]),
    (
        &[
            "hosts per rack",
            "servers per rack",
            "servers per leaf",
            "hosts per tor",
        ],
        &["hosts_per_leaf", "hosts_per_edge"],
    ),
    (
        &["hosts", "nodes", "clients", "workers", "num senders"],
        &["senders", "hosts_per_leaf", "hosts_per_edge"],
    ),
    (
        &["oversub", "oversubscription ratio"],
        &["oversubscription", "edge_oversubscription"],
    ),
    (&["load balancing", "routing", "multipath", "lb"], &["ecmp"]),
    (&["flowlet timeout"], &["flowlet_gap"]),
    (&["convergence"], &["reconvergence_delay"]),
    // [switch]
    (
        &[
            "buffer size",
            "queue size",
            "queue limit",
            "queue length",
            "queue capacity",
            "limit",
            "shared buffer",
        ],
        &["buffer", "queue"],
    ),
    (&["memory"], &["buffer_occupancy", "buffer"]),
    (
        &["aqm", "qdisc", "discipline", "scheduler", "queue type"],
        &["kind", "queue"],
    ),
    (&["ecn", "marking"], &["queue", "kind"]),
    (
        &[
            "k",
            "ecn threshold",
            "threshold",
            "ecn k",
            "mark above",
            "mark threshold",
        ],
        &["marking_threshold"],
    ),
    (&["min", "kmin"], &["min_th"]),
    (&["max", "kmax"], &["max_th"]),
    (&["pmax"], &["max_p"]),
    (&["weight", "wq", "q weight"], &["w_q"]),
    (&["mean packet"], &["mean_packet_size"]),
    (&["start"], &["k1"]),
    (&["stop"], &["k2"]),
    (&["non ect"], &["not_ect"]),
    (&["per"], &["classify_by"]),
    (&["q eq"], &["cp_q_eq"]),
    (&["w"], &["cp_w"]),
    (&["base"], &["cp_sample_base"]),
    // [host]
    (&["burst", "tso", "gso"], &["tso_burst"]),
    (&["coalescing"], &["interrupt_coalescing"]),
    (&["jitter on"], &["jitter_applies_to"]),
    (&["timer"], &["rpg_time_reset"]),
    (&["byte counter"], &["rpg_byte_reset"]),
    (&["fast recovery cycles"], &["rpg_threshold"]),
    (&["increase"], &["rpg_ai_rate"]),
    (&["hyper increase"], &["rpg_hai_rate"]),
    (&["gain"], &["rpg_gd", "g"]),
    (&["minimum decrease"], &["rpg_min_dec_fac"]),
    (&["minimum rate"], &["rpg_min_rate"]),
    // [transport]
    (
        &[
            "cc",
            "cca",
            "algorithm",
            "congestion control",
            "congestion algorithm",
            "tcp variant",
            "tcp type",
        ],
        &["congestion"],
    ),
    (&["protocol"], &["kind"]),
    (&["type"], &["kind", "workload", "topology"]),
    (&["rto min", "minimum rto"], &["min_rto"]),
    (&["rto max", "maximum rto"], &["max_rto"]),
    (&["rto initial", "rto init", "rto"], &["initial_rto"]),
    (&["rto tick"], &["rto_granularity"]),
    (&["desynchronised rto"], &["randomized_rto"]),
    (
        &["iw", "init cwnd", "initial cwnd", "init window"],
        &["initial_window"],
    ),
    (
        &["rwnd", "rcvbuf", "receive buffer", "advertised window"],
        &["receive_window"],
    ),
    (&["segment size", "packet size"], &["mss", "payload"]),
    (&["dctcp g", "alpha gain"], &["g"]),
    (&["alpha"], &["initial_alpha"]),
    (&["sack"], &["recovery"]),
    (
        &["ack every", "delayed ack", "delack", "delack count"],
        &["delayed_ack_count"],
    ),
    (&["ack delay", "delack timeout"], &["delayed_ack_timeout"]),
    (&["slow start limit"], &["abc_limit"]),
    (&["idle restart"], &["slow_start_after_idle"]),
    (&["class", "priority", "dscp", "tos"], &["traffic_class"]),
    (&["law"], &["readings.control_law"]),
    (&["growth"], &["readings.growth"]),
    (&["floor"], &["readings.floor"]),
    (&["entry"], &["readings.entry"]),
    (&["exit"], &["readings.exit"]),
    (&["backlog"], &["readings.backlog"]),
    (&["reaction"], &["readings.reaction"]),
    (&["extremes"], &["readings.extremes"]),
    (&["reading"], &["readings.thresholds"]),
    // [flows.NAME]
    (
        &["src", "source", "sources", "sender", "senders", "servers"],
        &["from"],
    ),
    (
        &[
            "dst",
            "dest",
            "destination",
            "destinations",
            "receiver",
            "receivers",
            "sink",
            "target",
        ],
        &["to"],
    ),
    (
        &[
            "pattern",
            "traffic pattern",
            "traffic",
            "application",
            "app",
        ],
        &["workload"],
    ),
    (
        &[
            "distribution",
            "size distribution",
            "flow size distribution",
            "cdf",
        ],
        &["sizes", "size"],
    ),
    (
        &["flow size", "flow sizes", "bytes"],
        &["sizes", "size", "sru", "response_size"],
    ),
    (&["utilization", "utilisation", "intensity"], &["load"]),
    (
        &["arrivals", "arrival rate", "lambda"],
        &["flow_rate", "incast_rate", "datagram_rate", "rate"],
    ),
    (
        &[
            "fanin",
            "incast degree",
            "degree",
            "num flows",
            "connections",
        ],
        &["count"],
    ),
    (
        &["unit", "block size", "reply size"],
        &["sru", "response_size"],
    ),
    (&["total"], &["total_size"]),
    (&["think"], &["think_time"]),
    (&["gaps"], &["interarrival_distribution"]),
    (&["stagger"], &["request_jitter"]),
    (&["start time", "begin"], &["start", "from"]),
    (&["stop time", "end time", "end"], &["stop", "until"]),
    // [measure]
    (&["from"], &["warmup"]),
    (&["to"], &["until"]),
    (&["answers"], &["responses"]),
    (&["most"], &["max_events"]),
    (&["snap"], &["snaplen"]),
    (&["idle"], &["receiver_idle"]),
    (&["interval", "period", "sample interval"], &["every"]),
    (&["trace", "tracing"], &["events"]),
    (&["capture", "tcpdump"], &["pcap"]),
    (&["cwnd"], &["window"]),
];

/// Other words for the values of one key.
pub(crate) struct OtherValues {
    /// The key, as it is written in full.
    pub(crate) key: &'static str,
    /// A valid value, which no other key has.
    marker: &'static str,
    /// Other words, and the value; or, without quotes, what else to write.
    pub(crate) words: &'static [(&'static [&'static str], &'static str)],
}

/// Other words for values.
pub(crate) const VALUES: &[OtherValues] = &[
    OtherValues {
        key: "network.topology",
        marker: "star",
        words: &[
            (&["spine leaf", "two tier"], "\"leaf-spine\""),
            (&["three tier"], "\"clos\""),
            (&["single switch", "single", "rack"], "\"star\""),
            (&["bottleneck", "two switches"], "\"dumbbell\""),
            (
                &["parking lot", "custom", "mesh", "line", "ring"],
                "\"graph\"",
            ),
        ],
    },
    OtherValues {
        key: "network.ecmp",
        marker: "flowlet",
        words: &[
            (&["hash", "per flow", "static", "ecmp"], "\"flow\""),
            (
                &["spray", "spraying", "per packet", "random", "rps"],
                "\"packet\"",
            ),
            (&["letflow", "per flowlet"], "\"flowlet\""),
        ],
    },
    OtherValues {
        key: "switch.queue.kind",
        marker: "drop-tail",
        words: &[
            (
                &["ecn", "dctcp", "mark", "marking", "step", "simple marking"],
                "\"threshold\"",
            ),
            (
                &["fifo", "pfifo", "tail drop", "none", "pfifo fast"],
                "\"drop-tail\"",
            ),
            (&["wred", "ared"], "\"red\""),
            (&["dt dctcp", "hysteresis"], "\"double-threshold\""),
            (&["fq", "fair", "fair queueing", "round robin"], "\"drr\""),
            (
                &["shared", "dt", "dynamic threshold", "dynamic thresholds"],
                "[switch] buffer = { shared = \"4 MB\", alpha = 1.0 }",
            ),
        ],
    },
    OtherValues {
        key: "transport.kind",
        marker: "udt",
        words: &[
            (&["datagram", "datagrams"], "\"udp\""),
            (
                &["dctcp", "cubic", "reno", "new reno", "d2tcp", "dt cwa"],
                "[transport] congestion = \"dctcp\" (or another control of TCP)",
            ),
        ],
    },
    OtherValues {
        key: "transport.congestion",
        marker: "cubic",
        words: &[
            (&["tcp", "linux reno"], "\"new-reno\""),
            (&["udp", "datagram", "none"], "[transport] kind = \"udp\""),
            (&["sack"], "[transport] recovery = \"sack\""),
            (
                &["ecn", "classic ecn", "reno ecn", "ecn reno"],
                "[transport] ecn = \"classic\"",
            ),
        ],
    },
    OtherValues {
        key: "transport.ecn",
        marker: "classic",
        words: &[
            (&["on", "rfc3168", "true"], "\"classic\""),
            (&["rfc8257", "accurate"], "\"dctcp\""),
        ],
    },
    OtherValues {
        key: "flows.NAME.workload",
        marker: "bulk",
        words: &[
            (
                &["incast"],
                "\"barrier-incast\" (a client waits for all responses, and requests again) or \
                 \"random-incast\" (at random instants)",
            ),
            (&["barrier"], "\"barrier-incast\""),
            (
                &["list", "trace", "csv", "replay", "flows", "file"],
                "\"flow-list\"",
            ),
            (
                &["websearch", "data mining", "hadoop", "empirical", "cdf"],
                "workload = \"poisson\" with sizes = \"websearch\"",
            ),
            (
                &["long", "long flow", "long flows", "greedy", "ftp", "iperf"],
                "\"bulk\"",
            ),
            (
                &["rpc", "partition aggregate", "request response"],
                "\"query\"",
            ),
            (&["shuffle", "map reduce"], "\"all-to-all\""),
            (&["random", "background"], "\"poisson\""),
            (&["constant", "constant bit rate", "udp"], "\"cbr\""),
        ],
    },
];

/// Names of things that are not modelled, with the words for them.
pub(crate) const ABSENT: &[(&str, &[&str])] = &[
    (
        "lossless Ethernet (PFC)",
        &["pfc", "lossless", "pause", "xoff", "xon", "headroom"],
    ),
    (
        "RDMA",
        &["rdma", "roce", "rocev2", "infiniband", "verbs", "uet"],
    ),
    ("DCQCN", &["dcqcn"]),
    ("TIMELY", &["timely"]),
    ("Swift", &["swift"]),
    ("HPCC", &["hpcc", "int", "telemetry"]),
    ("PowerTCP", &["powertcp"]),
    ("BBR", &["bbr", "bbr2", "bbr3", "bbrv1", "bbrv2", "bbrv3"]),
    ("TCP Vegas", &["vegas"]),
    ("TCP Westwood", &["westwood"]),
    ("BIC", &["bic"]),
    ("H-TCP", &["htcp"]),
    ("Compound TCP", &["compound", "ctcp"]),
    ("Copa", &["copa"]),
    ("PCC", &["pcc", "vivace", "allegro"]),
    ("LEDBAT", &["ledbat"]),
    ("TCP Prague (L4S)", &["prague", "l4s", "dualpi2"]),
    ("ICTCP", &["ictcp"]),
    ("pFabric", &["pfabric"]),
    ("Homa", &["homa"]),
    ("NDP", &["ndp", "trimming", "trim"]),
    ("ExpressPass", &["expresspass", "credit"]),
    ("QUIC", &["quic"]),
    ("MPTCP", &["mptcp"]),
    ("SCTP", &["sctp"]),
    ("RACK-TLP", &["rack tlp", "tlp"]),
    ("CoDel", &["codel", "fq codel", "cake"]),
    ("PIE", &["pie", "fq pie"]),
    ("weighted fair queueing", &["wfq", "wrr", "dwrr", "sfq"]),
    ("strict priority", &["strict priority", "sp", "prio"]),
    ("CONGA", &["conga"]),
    ("HULA", &["hula"]),
    ("DRILL", &["drill"]),
    ("Dragonfly", &["dragonfly"]),
    ("torus", &["torus"]),
    ("Jellyfish", &["jellyfish"]),
    ("BCube", &["bcube", "dcell"]),
];

/// The end of a help about something that is not modelled.
pub(crate) const NOT_MODELLED: &str = "docs/scenario-reference.md lists what is not modelled";

/// The valid key for the other word `found`, if there is one in `valid`.
pub(crate) fn valid_key(found: &str, valid: &[&str]) -> Option<&'static str> {
    let found = fold(found);
    let same = |words: &[&str]| words.iter().any(|word| fold(word) == found);
    KEYS.iter()
        .filter(|(words, _)| same(words))
        .find_map(|(_, keys)| valid_among(keys, valid))
}

/// The valid key for a misspelt other word.
pub(crate) fn nearly_valid_key(found: &str, valid: &[&str]) -> Option<&'static str> {
    let near = |words: &[&str]| words.iter().any(|word| nearly(found, word));
    KEYS.iter()
        .filter(|(words, _)| near(words))
        .find_map(|(_, keys)| valid_among(keys, valid))
}

fn valid_among(keys: &[&'static str], valid: &[&str]) -> Option<&'static str> {
    let table = |key: &str| key.split('.').next().is_some_and(|it| valid.contains(&it));
    keys.iter().copied().find(|key| table(key))
}

/// The value for the other word `found` of a key with these valid words: in quotes, or what else to write.
pub(crate) fn value(found: &str, valid: &[&str]) -> Option<String> {
    let found = fold(found);
    let found = match found.strip_prefix("tcp") {
        // ns-3 and ns-2 write TcpCubic, Linux tcp_cubic.
        Some(rest) if !rest.is_empty() => rest.to_owned(),
        _ => found,
    };
    if let Some(word) = valid.iter().find(|word| fold(word) == found) {
        return Some(format!("\"{word}\""));
    }
    let of_key = VALUES.iter().find(|all| valid.contains(&all.marker))?;
    let same = |words: &[&str]| words.iter().any(|word| fold(word) == found);
    let (_, value) = of_key.words.iter().find(|(words, _)| same(words))?;
    Some((*value).to_owned())
}

/// The name of a thing that is not modelled, if `found` is one of its words.
pub(crate) fn absent(found: &str) -> Option<&'static str> {
    let found = fold(found);
    let found = found.strip_prefix("tcp").unwrap_or(&found);
    let same = |words: &[&str]| words.iter().any(|word| fold(word) == found);
    let (name, _) = ABSENT.iter().find(|(_, words)| same(words))?;
    Some(name)
}

/// The nearest valid key: another word for it, a misspelt one, or a misspelt other word.
pub(crate) fn nearest_key(found: &str, valid: &[&'static str]) -> Option<&'static str> {
    valid_key(found, valid)
        .or_else(|| did_you_mean(found, valid))
        .or_else(|| nearly_valid_key(found, valid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_table_is_named() {
        let query = ["request", "response_size", "total_size"];
        assert_eq!(valid_key("unit", &query), Some("response_size"));
        assert_eq!(valid_key("unit", &["sru"]), Some("sru"));
        assert_eq!(valid_key("unit", &["sizes"]), None);
        assert_eq!(
            valid_key("law", &["readings"]),
            Some("readings.control_law")
        );
        assert_eq!(valid_key("size", &["size"]), None);
        assert_eq!(nearest_key("bandwith", &["rate", "delay"]), Some("rate"));
    }

    #[test]
    fn other_words_for_values() {
        let congestion = ["new-reno", "reno", "cubic"];
        let value_of = |word| value(word, &congestion);
        assert_eq!(value_of("TcpCubic").as_deref(), Some("\"cubic\""));
        assert_eq!(value_of("TcpNewReno").as_deref(), Some("\"new-reno\""));
        assert_eq!(
            value_of("udp").as_deref(),
            Some("[transport] kind = \"udp\"")
        );
        assert_eq!(value_of("cubik"), None);
        assert_eq!(absent("FQ_CoDel"), Some("CoDel"));
    }

    #[test]
    fn no_word_is_listed_twice() {
        let mut absent: Vec<String> = ABSENT
            .iter()
            .flat_map(|(_, words)| words.iter().map(|word| fold(word)))
            .collect();
        let all = absent.len();
        absent.sort();
        absent.dedup();
        assert_eq!(absent.len(), all);
    }
}
