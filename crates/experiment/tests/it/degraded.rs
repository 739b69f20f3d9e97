//! Degraded links in scenarios: what they carry, lose and delay, where that is counted, and parallel links.

use incastle_experiment::Output;

use crate::common::{blocks, count_of_port, of_port, result, text};

/// One sender and one receiver; datagrams of 1000 B on the wire every 100 us, 8 us each at 1 Gbit/s, in both directions.
const PAIR: &str = r#"
[run]
duration = "110 ms"
[network]
topology = "star"
senders = 1
rate = "1 Gbit/s"
delay = "5 us"
[flows.forth]
workload = "cbr"
from = "sender:0"
to = "receiver"
rate = "77.76 Mbit/s"
stop = "100 ms"
transport = { kind = "udp", payload = "972 B" }
[flows.back]
workload = "cbr"
from = "receiver"
to = "sender:0"
rate = "77.76 Mbit/s"
stop = "100 ms"
transport = { kind = "udp", payload = "972 B" }
"#;

const TO: &str = "switch->receiver";
const FROM: &str = "receiver->switch";

/// The scenario with the link of the receiver degraded.
fn degraded(sets: &[(&str, &str)]) -> Output {
    let named: Vec<(String, &str)> = sets
        .iter()
        .map(|(key, value)| match key.split_once('.') {
            Some(("measure", _)) => ((*key).to_owned(), *value),
            _ => (format!("network.degraded.bad.{key}"), *value),
        })
        .collect();
    let mut all = vec![("network.degraded.bad.between", "['switch', 'receiver']")];
    all.extend(named.iter().map(|(key, value)| (key.as_str(), *value)));
    result(PAIR, &all)
}

#[test]
fn losses_are_counted_where_they_occur() {
    let both = degraded(&[("loss", "10 %")]);
    let [to, from] = [TO, FROM].map(|port| count_of_port(&both, port, "lost_on_wire"));
    // Of 1000 packets 100 with a standard deviation of 9.5.
    assert!(
        to.abs_diff(100) < 40 && from.abs_diff(100) < 40,
        "{to} {from}"
    );
    assert_eq!(both.totals.lost_on_wire, to + from);
    assert_eq!(both.totals.drops, both.totals.lost_on_wire);
    assert_eq!(both.totals.corrupted, 0);
    // One direction loses what it lost before, the other nothing.
    let forward = degraded(&[("loss", "10 %"), ("direction", "forward")]);
    assert_eq!(count_of_port(&forward, TO, "lost_on_wire"), to);
    assert_eq!(count_of_port(&forward, FROM, "drops"), 0);
    let noisy = degraded(&[("bit_error_rate", "1e-5")]);
    assert!(noisy.totals.corrupted > 50 && noisy.totals.lost_on_wire == 0);
    let nothing = degraded(&[("loss", "0 %")]);
    assert_eq!(nothing.digest, result(PAIR, &[]).digest);
}

#[test]
fn a_period_begins_and_ends() {
    // A quarter of the packets are within the period.
    let some = degraded(&[
        ("loss", "{ good_to_bad = '100 %', bad_to_good = '0.001 %' }"),
        ("from", "50 ms"),
        ("until", "75 ms"),
    ]);
    // All but the first in each direction: a link is good at the beginning of a period.
    assert_eq!(count_of_port(&some, TO, "lost_on_wire"), 249);
    assert_eq!(count_of_port(&some, FROM, "lost_on_wire"), 249);
}

#[test]
fn a_slower_link_builds_a_queue_and_has_less_capacity() {
    // At 40 Mbit/s a packet takes 200 us, and one comes every 100 us: from 20 to 40 ms 200 come, 100 leave. At 100 Mbit/s
    // the queue would drain by 20 us per packet.
    let slow = degraded(&[("rate", "40 Mbit/s"), ("from", "20 ms"), ("until", "40 ms")]);
    let longest = of_port(&slow, TO, "max_queue_packets");
    assert!((98.0..=101.0).contains(&longest), "{longest}");
    assert_eq!(slow.totals.drops, 0);
    // 8 Mbit of 1000 packets, over 1 Gbit/s for 90 ms and 40 Mbit/s for 20 ms.
    let share = of_port(&slow, TO, "utilisation");
    assert!((share - 8.0 / 90.8).abs() < 1e-3, "{share}");
    let always = degraded(&[("rate", "100 Mbit/s")]);
    let share = of_port(&always, TO, "utilisation");
    assert!((share - 8.0 / 11.0).abs() < 1e-3, "{share}");
}

#[test]
fn a_lost_packet_is_captured_where_it_was_sent() {
    let seen = degraded(&[("loss", "10 %"), ("measure.pcap", "all")]);
    let frames = |name: &str| {
        let capture = seen.captures.iter().find(|capture| capture.name == name);
        let (_, frames) = blocks(&capture.expect("a capture of that name").bytes);
        frames.len() as u64
    };
    // Datagrams from the sender are all on their first link, and all are sent on the second one. Those back: the first
    // link has all of them, the second one those that were not lost.
    let [to, from] = [TO, FROM].map(|port| count_of_port(&seen, port, "lost_on_wire"));
    assert!(to > 0 && from > 0);
    assert_eq!(frames("switch-receiver"), 2_000);
    assert_eq!(frames("sender-0-switch"), 2_000 - from);
    assert_eq!(seen.digest, degraded(&[("loss", "10 %")]).digest);
}

#[test]
fn the_trace_names_the_cause() {
    let causes = |key: &str, value: &str| {
        let seen = degraded(&[(key, value), ("measure.events", "all")]);
        let mut causes = text(&seen, "events", "cause");
        causes.retain(|cause| !cause.is_empty());
        causes.sort_unstable();
        causes.dedup();
        causes
    };
    assert_eq!(causes("loss", "5 %"), ["lost-on-wire"]);
    assert_eq!(causes("bit_error_rate", "1e-5"), ["corrupted"]);
}

/// Two hosts at two switches with three links between them.
const GRAPH: &str = r#"
[run]
duration = "20 ms"
[network]
topology = "graph"
hosts = ["a", "b"]
switches = ["left", "right"]
ecmp = "packet"
[network.links.a]
between = ["a", "left"]
[network.links.b]
between = ["b", "right"]
[network.links.first]
between = ["left", "right"]
[network.links.others]
between = ["right", "left"]
parallel = true
[network.links.more]
between = ["left", "right"]
parallel = true
[flows.forth]
workload = "cbr"
from = "a"
to = "b"
rate = "77.76 Mbit/s"
transport = { kind = "udp", payload = "972 B" }
"#;

#[test]
fn parallel_links_share_the_load_and_have_names() {
    let output = result(GRAPH, &[("measure.pcap", "left<->right#2")]);
    let mut all = 0;
    for port in ["left->right", "left->right#2", "left->right#3"] {
        let packets = count_of_port(&output, port, "packets");
        assert!(packets.abs_diff(67) < 30, "{port} {packets}");
        assert_eq!(
            count_of_port(
                &output,
                &port.replace("left->right", "right->left"),
                "packets"
            ),
            0
        );
        all += packets;
    }
    assert_eq!(all, count_of_port(&output, "right->b", "packets"));
    let names: Vec<&str> = output
        .captures
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["right-left-2"]);
    // Losses concern them all.
    let lossy = result(
        GRAPH,
        &[
            ("network.degraded.bad.between", "['left', 'right']"),
            ("network.degraded.bad.loss", "20 %"),
        ],
    );
    for port in ["left->right", "left->right#2", "left->right#3"] {
        assert!(count_of_port(&lossy, port, "lost_on_wire") > 0, "{port}");
    }
}

#[test]
fn one_of_parallel_links_is_degraded_or_fails_alone() {
    let second = [
        ("network.degraded.bad.between", "['left', 'right']"),
        ("network.degraded.bad.number", "2"),
        ("network.degraded.bad.loss", "20 %"),
        ("network.failures.cut.between", "['left', 'right']"),
        ("network.failures.cut.number", "3"),
    ];
    let output = result(GRAPH, &second);
    let lost = |port| count_of_port(&output, port, "lost_on_wire");
    assert!(lost("left->right#2") > 0);
    assert_eq!(lost("left->right"), 0);
    assert!(count_of_port(&output, "left->right", "packets") > 50);
    assert_eq!(count_of_port(&output, "left->right#3", "packets"), 0);
}
