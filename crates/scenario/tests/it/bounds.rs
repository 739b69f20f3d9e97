//! What a slip of the pen makes too large is refused with words, before any memory is taken for it.
//!
//! `tests/it/extremes.rs` of `incastle-driver` looks for such cases at random; those that it found are here.

use crate::common::parse;

const STAR: &str = r#"
[run]
duration = "1 ms"
[network]
topology = "star"
senders = 2
[flows.all]
workload = "bulk"
from = "senders"
to = "receiver"
"#;

fn refusal(sets: &[(&str, &str)]) -> String {
    let sets: Vec<(String, String)> = sets
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    match parse(STAR, "test.toml", &sets) {
        Ok(_) => "accepted".to_owned(),
        Err(found) => found.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn a_mean_packet_is_a_packet() {
    // At 1 kbit/s it would take longer than time has picoseconds.
    let red = [
        ("network.rate", "1 kbit/s"),
        ("switch.queue.kind", "red"),
        ("switch.queue.mean_packet_size", "1000 TB"),
    ];
    let found = refusal(&red);
    assert!(
        found.contains("mean_packet_size must be at least \"1 B\" and at most \"65535 B\""),
        "{found}"
    );
}

#[test]
fn a_group_has_so_many_flows() {
    let pairs = [
        ("network.senders", "50000"),
        ("flows.all.to", "senders"),
        ("flows.all.pairs", "all"),
    ];
    let words = "a flow between each of 50000 hosts and each of 50000: a group has at most";
    let found = refusal(&pairs);
    assert!(found.contains(words), "{found}");
    // 2001 x 2000 are above 4 million, 2000 x 1999 are not.
    let of = |senders| [("network.senders", senders), pairs[1], pairs[2]];
    assert!(refusal(&of("2001")).contains("2001 hosts and each of 2001"));
    assert_eq!(refusal(&of("2000")), "accepted");
    // Every client sends a request to every server.
    let requests = [
        pairs[0],
        pairs[1],
        ("flows.all.workload", "query"),
        ("flows.all.count", "49999"),
    ];
    let found = refusal(&requests);
    assert!(found.contains(words), "{found}");
}

#[test]
fn a_flow_has_so_many_datagrams_at_once() {
    let of = |size| {
        [
            ("transport", "{ kind = \"udp\", payload = \"1000 B\" }"),
            ("flows.all.size", size),
        ]
    };
    let found = refusal(&of("1000 TB"));
    let words = "1000000000000 datagrams at once: a flow has at most 1000000";
    assert!(found.contains(words), "{found}");
    assert!(refusal(&of("1000000001 B")).contains("1000001 datagrams"));
    assert_eq!(refusal(&of("1 GB")), "accepted");
}

#[test]
fn a_network_has_so_many_routes() {
    let fabric = |leaves| {
        [
            (
                "network",
                "{ topology = \"leaf-spine\", spines = 2, hosts_per_leaf = 8 }",
            ),
            ("network.leaves", leaves),
            ("flows.all.from", "host:0"),
            ("flows.all.to", "host:1"),
        ]
    };
    let found = refusal(&fabric("15000"));
    assert!(
        found.contains("15002 switches with routes to 15000 that have hosts"),
        "{found}"
    );
    assert_eq!(refusal(&fabric("1000")), "accepted");
}
