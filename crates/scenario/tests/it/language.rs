//! The language as a whole: resolved texts, overrides, inheritance, examples, schema, document.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests read their own files"
)]

use std::fs;
use std::path::{Path, PathBuf};

use incastle_scenario::{CatalogEntry, Diagnostic, Scenario, catalog, schema};

use crate::common::parse;
use proptest::prelude::*;

const SMALL: &str = r#"
[run]
duration = "10 ms"
[network]
topology = "star"
senders = 2
[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"
[transport]
congestion = "dctcp"
min_rto = "50 ms"
initial_rto = "1 s"
[flows.first]
workload = "bulk"
from = "senders"
to = "receiver"
[flows.second]
workload = "bulk"
from = "senders"
to = "receiver"
transport = { congestion = "cubic" }
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(text: &str, sets: &[(&str, &str)]) -> Scenario {
    read_with_warnings(text, sets).0
}

fn read_with_warnings(text: &str, sets: &[(&str, &str)]) -> (Scenario, Vec<Diagnostic>) {
    let sets: Vec<(String, String)> = sets
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    parse(text, "small.toml", &sets).unwrap_or_else(|found| panic!("{found:#?}"))
}

/// Every scenario that comes with Incastle.
fn shipped() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("examples"), root().join("python/incastle")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "toml")
                && fs::read_to_string(&path).unwrap().contains("[run]")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Scenarios that offer more than a link carries on purpose: sources of a constant rate that never run dry.
const OVERLOADED: [&str; 12] = [
    "examples/changing-rate.toml",
    "dcudp/scenarios/after-dcudp.toml",
    "dcudp/scenarios/after-tcp.toml",
    "dcudp/scenarios/after-udt.toml",
    "dcudp/scenarios/cbr-dcudp.toml",
    "dcudp/scenarios/cbr-tcp.toml",
    "dcudp/scenarios/cbr-udt.toml",
    "dcudp/scenarios/newcomer-dcudp.toml",
    "dcudp/scenarios/newcomer-tcp.toml",
    "dcudp/scenarios/newcomer-udt.toml",
    "qcn_incast/scenarios/baseline-capacity.toml",
    "qcn_incast/scenarios/baseline-input.toml",
];

#[test]
fn every_shipped_scenario_is_right_and_has_no_warnings_but_of_load() {
    let files = shipped();
    assert!(files.len() >= 5, "at least five examples");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let read = parse(&text, &file.to_string_lossy(), &[]);
        let (scenario, warnings) =
            read.unwrap_or_else(|found| panic!("{}: {found:#?}", file.display()));
        let overloads = OVERLOADED.iter().any(|name| file.ends_with(name));
        assert_eq!(
            warnings.is_empty(),
            !overloads,
            "{}: {warnings:#?}",
            file.display()
        );
        assert!(
            warnings.iter().all(|one| is_of_load(&one.message)),
            "{warnings:#?}"
        );
        assert_resolved_is_fixed(&scenario, &warnings);
    }
}

fn is_of_load(message: &str) -> bool {
    message.contains("headers included")
}

fn assert_resolved_is_fixed(scenario: &Scenario, known: &[Diagnostic]) {
    let text = scenario.resolved();
    let (again, warnings) = parse(&text, "resolved", &[])
        .unwrap_or_else(|found| panic!("resolved text is refused: {found:#?}\n{text}"));
    // Values are as they were, and may be too much for the links or the run.
    let is_known = |message: &str| known.iter().any(|one| one.message == message);
    let others: Vec<&Diagnostic> = warnings
        .iter()
        .filter(|one| !is_known(&one.message))
        .collect();
    assert!(
        others.is_empty(),
        "resolved text has warnings of its own: {others:#?}"
    );
    assert_eq!(again.resolved(), text);
    assert_eq!(&again, scenario);
}

#[test]
fn the_example_of_the_page_is_a_scenario() {
    let text = fs::read_to_string(root().join("docs/scenario-language.md")).unwrap();
    let example = text
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let (_, warnings) = parse(example.expect("a complete file"), "document", &[]).unwrap();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[test]
fn the_name_is_the_file_unless_it_says_otherwise() {
    let name = |file: &str| parse(SMALL, file, &[]).unwrap().0.name().to_owned();
    assert_eq!(name("runs/my first.toml"), "my-first");
    assert_eq!(name("-.toml"), "scenario");
    assert_eq!(read(SMALL, &[("name", "other")]).name(), "other");
}

#[test]
fn overrides_reach_every_key() {
    let scenario = read(
        SMALL,
        &[
            ("run.duration", "20 ms"),
            ("run.seed", "7"),
            ("switch.buffer", "{ shared = '1 MB' }"),
            ("flows.first.count", "3"),
            ("flows.third.workload", "cbr"),
            ("flows.third.rate", "1 Mbit/s"),
            ("flows.third.from", "sender:1"),
            ("flows.third.to", "receiver"),
            ("measure.window", "[\"first:0\", \"second\"]"),
        ],
    );
    assert_eq!(scenario.seed(), 7);
    assert_eq!(scenario.tables().flows.len(), 3);
    let text = scenario.resolved();
    for line in [
        "duration = \"20 ms\"",
        "buffer = { shared = \"1 MB\", alpha = 0.21 }",
        "count = 3",
        "rate = \"1 Mbit/s\"",
        "window = { flows = [\"first:0\", \"second\"], every = \"100 us\" }",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

#[test]
fn a_group_inherits_and_its_defaults_follow_its_own_choices() {
    let scenario = read(SMALL, &[]);
    let tcp = |index: usize| scenario.tables().flows[index].1.transport.tcp().unwrap();
    assert_eq!(tcp(0).congestion.word(), "dctcp");
    assert_eq!(tcp(1).congestion.word(), "cubic");
    // min_rto is inherited; the use of ECN follows the group's own congestion control.
    assert_eq!(tcp(0).min_rto, tcp(1).min_rto);
    assert!(tcp(0).ect_on_control && !tcp(1).ect_on_control);
}

/// SMALL with QCN at its switch.
fn with_qcn(sets: &[(&str, &str)]) -> Scenario {
    let small = SMALL.replace("[switch.queue]", "[switch.qcn]\n[switch.queue]");
    read(&small, sets)
}

#[test]
fn a_variant_is_a_set_of_modifications() {
    let line = |sets: &[(&str, &str)]| {
        let text = with_qcn(sets).resolved();
        let line = text
            .lines()
            .find(|line| line.starts_with("variant = ") || line.starts_with("modifications = "));
        line.unwrap().to_owned()
    };
    assert_eq!(line(&[]), "variant = \"I\"");
    let listed = [
        ("[]", "variant = \"I\""),
        ("\"II\"", "variant = \"II\""),
        ("['IV', 'II']", "variant = \"V\""),
        ("['III', 'IV']", "variant = \"VI\""),
        ("['III', 'II']", "modifications = [\"II\", \"III\"]"),
        (
            "['IV', 'III', 'II']",
            "modifications = [\"II\", \"III\", \"IV\"]",
        ),
    ];
    for (given, expected) in listed {
        assert_eq!(line(&[("switch.qcn.modifications", given)]), expected);
    }
    for variant in ["I", "II", "III", "IV", "V", "VI"] {
        let expected = format!("variant = \"{variant}\"");
        assert_eq!(line(&[("switch.qcn.variant", variant)]), expected);
    }
}

#[test]
fn a_switch_has_qcn_if_it_says_so_or_inherits_it() {
    let points = |scenario: &Scenario| {
        let root = scenario.tables();
        let group = root.switches.first().map(|(_, group)| &group.switch.qcn);
        (root.switch.qcn.clone(), group.cloned().unwrap_or_default())
    };
    assert_eq!(points(&read(SMALL, &[])), (None, None));
    assert_eq!(points(&with_qcn(&[("switch.qcn", "off")])), (None, None));
    let group = ("switches.switch.buffer", "64 KiB");
    let (first, second) = points(&with_qcn(&[group]));
    assert!(first.is_some() && first == second);
    let (first, second) = points(&with_qcn(&[group, ("switches.switch.qcn", "off")]));
    assert!(first.is_some() && second.is_none());
    // One alternative replaces the other.
    let sets = [
        ("switch.qcn.variant", "V"),
        ("switches.switch.qcn.modifications", "['III', 'IV']"),
    ];
    let (_, second) = points(&with_qcn(&sets));
    let modifications = second.unwrap().modifications;
    assert!(modifications.detail && !modifications.memory);
}

#[test]
fn keys_of_another_choice_are_warned_of_unless_inherited() {
    let sets = [("transport.congestion".to_owned(), "new-reno".to_owned())];
    let text = SMALL.replace("min_rto", "g = 0.5\nmin_rto");
    let (_, warnings) = parse(&text, "small.toml", &sets).unwrap();
    let keys: Vec<&str> = warnings
        .iter()
        .map(|warning| warning.key.as_str())
        .collect();
    assert_eq!(keys, ["transport.g"]);
}

#[test]
fn the_schema_is_json_and_knows_every_choice() {
    let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    let transport = &schema["properties"]["transport"]["properties"];
    assert_eq!(transport["initial_rto"]["default"], "1 s");
    // DCTCP has it, and so do controls of queue pairs.
    assert_eq!(transport["g"]["anyOf"][0]["exclusiveMinimum"], 0.0);
    let congestion = &transport["congestion"]["anyOf"][0];
    let congestion = congestion["enum"].as_array().unwrap();
    let algorithms = &catalog()[0];
    assert_eq!(algorithms.name, "algorithms");
    // QCN works below any of them, and is listed with them. So are combinations of several keys, and UDT and
    // DCUDP, which are transports too.
    let (qcn, others): (Vec<&str>, Vec<&str>) = algorithms
        .entries
        .iter()
        .map(|entry| entry.name)
        .partition(|name| name.starts_with("qcn-"));
    let (tcp, own) = others.split_at(congestion.len());
    assert_eq!(congestion, tcp);
    let rdma = ["dcqcn", "timely", "hpcc", "rate-dctcp"];
    assert_eq!(
        own[..5],
        ["sack-ecn", "dt-dctcp", "dcudp-r", "udt", "dcudp"]
    );
    assert_eq!(own[5..], rdma);
    // As a value of `congestion`, such a name gives a message with the keys of the list.
    for entry in algorithms.entries.iter().skip(congestion.len()) {
        assert_told_where(entry);
    }
    let variants = &schema["properties"]["switch"]["properties"]["qcn"]["anyOf"][1];
    let variants = variants["properties"]["variant"]["enum"]
        .as_array()
        .unwrap();
    let names: Vec<String> = variants
        .iter()
        .map(|word| format!("qcn-{}", word.as_str().unwrap()))
        .collect();
    assert_eq!(names, qcn);
    for list in catalog() {
        for entry in &list.entries {
            assert!(!entry.description.is_empty() && !entry.description.contains('\n'));
        }
    }
}

fn assert_told_where(entry: &CatalogEntry) {
    let name = entry.name;
    let sets = [("transport.congestion".to_owned(), name.to_owned())];
    let found = parse(SMALL, "small.toml", &sets).unwrap_err();
    assert_eq!(found.len(), 1, "{found:#?}");
    let (_, keys) = entry.description.split_once("; ").unwrap();
    let alone = if keys.contains("congestion =") {
        " alone"
    } else {
        ""
    };
    assert_eq!(
        found[0].message,
        format!("\"{name}\" is not set by congestion{alone}")
    );
    let help = found[0].help.as_deref().unwrap();
    assert!(
        help.starts_with(&format!("write {keys}; congestion is \"new-reno\", ")),
        "{help}"
    );
}

const HEADERS: [&str; 12] = [
    "run",
    "network",
    "network.links.x",
    "network.failures.x",
    "switch",
    "switch.queue",
    "switch.ports.senders.queue",
    "switch.qcn",
    "host.qcn",
    "flows.a",
    "transport",
    "measure",
];

const KEYS: [&str; 49] = [
    "topology",
    "senders",
    "duration",
    "kind",
    "workload",
    "from",
    "to",
    "rate",
    "delay",
    "buffer",
    "marking_threshold",
    "fanout",
    "hosts",
    "switches",
    "between",
    "of",
    "count",
    "queue",
    "window",
    "ports",
    "every",
    "sizes",
    "load",
    "stop",
    "start",
    "schedule",
    "qcn",
    "variant",
    "modifications",
    "cp_q_eq",
    "timeouts",
    "mtu",
    "packet_size",
    "capacity",
    "exit_window",
    "flow_window",
    "ecmp",
    "flowlet_gap",
    "k",
    "leaves",
    "spines",
    "hosts_per_leaf",
    "down",
    "up",
    "convergence",
    "cores",
    "edge_oversubscription",
    "oversubscription",
    "load_of",
];

const VALUES: [&str; 38] = [
    "\"star\"",
    "\"tree\"",
    "\"graph\"",
    "4",
    "0",
    "-1",
    "\"1 s\"",
    "\"threshold\"",
    "\"bulk\"",
    "\"senders\"",
    "\"receiver\"",
    "\"1 Gbit/s\"",
    "\"20 packets\"",
    "[3, 3]",
    "[0]",
    "\"all\"",
    "{ every = \"1 ms\" }",
    "\"barrier\"",
    "1e300",
    "nan",
    "[[1]]",
    "{ points = [[1, 2]] }",
    "\"end\"",
    "18446744073709551616",
    "1979-05-27",
    "[{ at = \"1 ms\", rate = \"1 Mbit/s\" }]",
    "\"off\"",
    "[\"II\", \"II\"]",
    "\"V\"",
    "\"20 %\"",
    "\"dcudp\"",
    "\"1500 B\"",
    "\"fat-tree\"",
    "\"leaf-spine\"",
    "\"flowlet\"",
    "[\"all\", \"switch\"]",
    "\"3:1\"",
    "\"uplinks\"",
];

/// Pieces of scenarios, right and wrong, in any order.
fn pieces() -> impl Strategy<Value = String> {
    let select = |list: &[&'static str]| proptest::sample::select(list.to_vec());
    let line = |(key, value): (&str, &str)| format!("{key} = {value}\n");
    let piece = prop_oneof![
        select(&HEADERS).prop_map(|header| format!("[{header}]\n")),
        ("[a-z_]{1,12}", "[ -~]{0,20}").prop_map(move |(key, value)| line((&key, &value))),
        (select(&KEYS), select(&VALUES)).prop_map(line),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,300}") {
        let _ = parse(&text, "any", &[]);
    }

    #[test]
    fn no_mixture_of_keys_makes_the_parser_panic(text in pieces()) {
        let _ = parse(&text, "any", &[]);
    }

    #[test]
    fn no_override_makes_the_parser_panic(key in "[a-z.]{0,30}", value in "\\PC{0,30}") {
        let _ = parse(SMALL, "any", &[(key, value)]);
    }

    #[test]
    fn resolved_texts_give_the_same_scenario(
        senders in 1_u32..50,
        seed in any::<u64>(),
        g in 0.0001_f64..=1.0,
        rate in 1_000_u64..100_000_000_000,
        delay in 0_u64..1_000_000_000_000,
        congestion in proptest::sample::select(vec!["reno", "new-reno", "cubic", "dctcp"]),
        shared in any::<bool>(),
        sizes in proptest::sample::select(vec!["websearch", "64 KB", "{ points = [[0, 0], [7, 99.5], [9, 100]] }"]),
    ) {
        let (scenario, warnings) = read_with_warnings(SMALL, &[
            ("network.senders", &senders.to_string()),
            ("host.qcn.rpg_min_rate", "1 kbit/s"),
            ("network.rate", &format!("{rate} bit/s")),
            ("network.delay", &format!("{delay} ps")),
            ("transport.congestion", congestion),
            ("transport.slow_start", if shared { "hystart++" } else { "standard" }),
            ("transport.pacing", if shared { "true" } else { "false" }),
            ("flows.first.transport.congestion", if shared { "dctcp" } else { "prague" }),
            ("flows.first.transport.g", &format!("{g:?}")),
            ("switch.buffer", if shared { "{ shared = '4 MB', alpha = 0.5 }" } else { "unlimited" }),
            ("flows.third.workload", "poisson"),
            ("flows.third.from", "all"),
            ("flows.third.to", "all"),
            ("flows.third.load", "0.1"),
            ("flows.third.sizes", sizes),
            ("switch.qcn.cp_q_eq", if shared { "26 KB" } else { "0.02 MB" }),
            ("switch.qcn.jitter", &format!("{:?}", g / 2.0)),
            ("switch.qcn.modifications", if shared { "['III']" } else { "['III', 'IV']" }),
            ("host.qcn.rpg_ai_rate", &format!("{rate} bit/s")),
            ("network.mtu", "9000 B"),
            ("network.ecmp", if shared { "flowlet" } else { "packet" }),
            ("network.reconvergence_delay", &format!("{} ps", delay / 7)),
            ("network.links.receivers.mtu", "1500 B"),
            ("network.links.senders.schedule", &format!("[{{ at = '1 ps', rate = '{rate} bit/s' }}]")),
            ("measure.qcn", "{ flows = 'first', ports = 'switch->receiver' }"),
        ]);
        let scenario = scenario.with_seed(seed);
        assert_resolved_is_fixed(&scenario, &warnings);
    }
}

/// The scenario of a group with this transport, below `[transport]` of queue pairs with a preset.
fn below_dcqcn(transport: &str) -> Scenario {
    let text = format!(
        "[run]\nduration = \"1 ms\"\n[network]\ntopology = \"star\"\nsenders = 2\n[switch]\nbuffer = {{ shared = \"16 MiB\" }}\n\
         queue = {{ kind = \"priorities\" }}\npfc = {{ priorities = [3] }}\n\
         [transport]\nkind = \"rdma\"\ncongestion = \"dcqcn\"\npreset = \"dcqcn-nvidia\"\ntraffic_class = 3\n\
         [flows.a]\nworkload = \"bulk\"\nfrom = \"senders\"\nto = \"receiver\"\ntransport = {transport}\n"
    );
    parse(&text, "pairs.toml", &[]).unwrap().0
}

#[test]
fn a_preset_is_inherited_by_groups_with_the_same_control_alone() {
    let resolved = below_dcqcn("{ rpg_threshold = 2 }").resolved();
    assert!(resolved.contains("preset = \"dcqcn-nvidia\""));
    let resolved = below_dcqcn("{ congestion = \"hpcc\" }").resolved();
    assert!(resolved.contains("preset = \"hpcc-sigcomm19\""));
    let resolved = below_dcqcn("{ kind = \"tcp\" }").resolved();
    assert!(
        resolved.contains("congestion = \"new-reno\"\nmss"),
        "{resolved}"
    );
}

#[test]
fn scenarios_of_queue_pairs_read_back_the_same() {
    for transport in [
        "{ window = \"bdp\", window_follows_rate = true, rpg_ai_rate = \"3 Mbit/s per 10 Gbit/s\" }",
        "{ congestion = \"hpcc\", preset = \"hpcc-ns3\", window = \"100 KB\", base_rtt = \"13 us\", verb = \"read\" }",
        "{ congestion = \"timely\", preset = \"timely-patched\", recovery = \"go-back-0\", chunk = \"4 packets\" }",
        "{ congestion = \"rate-dctcp\", ack_timeout = \"off\", retry_limit = \"unlimited\", control_class = 6 }",
    ] {
        let scenario = below_dcqcn(transport);
        let again = parse(&scenario.resolved(), "pairs.toml", &[]).unwrap().0;
        assert_eq!(scenario, again, "{transport}");
    }
}
