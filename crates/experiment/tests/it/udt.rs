//! UDT and DCUDP in scenarios: workloads, measurements and tables.

use crate::common::{
    assert_near, of_port, parse, real, result, run, scenario, star_with, text, whole,
};

/// Two DCUDP flows, of which one ends, over a port that marks.
const TWO: &str = r#"
[switch.queue]
kind = "threshold"
marking_threshold = "15 packets"
[host]
jitter = "1 us"
[flows.cbr]
workload = "cbr"
from = "sender:0"
to = "receiver"
rate = "600 Mbit/s"
[flows.bulk]
workload = "bulk"
from = "sender:1"
to = "receiver"
start = "20 ms"
stop = "60 ms"
"#;

fn star(kind: &str, rest: &str) -> String {
    let transport = format!("kind = \"{kind}\"\nhandshake = false");
    star_with("").replace("handshake = false", &transport) + rest
}

#[test]
fn the_rate_of_the_interface_is_used_whole() {
    let one = "[flows.one]\nworkload = \"bulk\"\nfrom = \"sender:0\"\nto = \"receiver\"\n";
    for framing in ["ip", "ethernet"] {
        let sets = [("transport.framing", framing), ("run.duration", "100 ms")];
        let output = result(&star("dcudp", one), &sets);
        // UDP mode: the pacer's rate is the link's, and nothing queues anywhere.
        assert_near(
            of_port(&output, "switch->receiver", "utilisation"),
            1.0,
            0.002,
        );
        assert_eq!(whole(&output, "flows", "drops"), [0]);
        assert!(of_port(&output, "switch->receiver", "mean_queue_packets") < 0.1);
    }
}

#[test]
fn modes_and_rates_are_measured_where_asked() {
    let measure = "[measure]\ndcudp = [\"cbr:0\"]\nwindow = \"bulk\"\n";
    let output = result(
        &star("dcudp", &(TWO.to_owned() + measure)),
        &[("run.duration", "200 ms")],
    );
    let modes = text(&output, "dcudp_modes", "mode");
    // It begins in UDP mode and alternates from there.
    for (number, mode) in modes.iter().enumerate() {
        assert_eq!(mode, ["udp", "congestion"][number % 2]);
    }
    assert!(modes.len() > 2, "{modes:?}");
    let times = real(&output, "dcudp_modes", "time_s");
    assert!(times.is_sorted() && times[1] > 0.02);
    // The same mode in the table of connections.
    let ends = times.iter().copied().skip(2).step_by(2);
    let begins = times.iter().copied().skip(1).step_by(2);
    let lasted: f64 = begins
        .zip(ends.chain([0.2]))
        .map(|(from, to)| to - from)
        .sum();
    assert_near(real(&output, "udt", "congestion_s")[0], lasted, 1e-9);
    assert_eq!(
        whole(&output, "udt", "congestion_modes")[0],
        modes.len() as u64 / 2
    );
    // Rates of the law under congestion alone: Rate_data is never above Rate_max.
    let data = real(&output, "dcudp_rates", "data_packets_s");
    let max = real(&output, "dcudp_rates", "max_packets_s");
    assert!(
        whole(&output, "dcudp_rates", "flow")
            .iter()
            .all(|flow| *flow == 0)
    );
    assert!(max.iter().any(|rate| rate.is_nan()) && max.iter().any(|rate| !rate.is_nan()));
    assert!(
        data.iter()
            .zip(&max)
            .all(|(data, max)| max.is_nan() || data <= max)
    );
    // The other one's window is of another selection: it has no cwnd, but a round trip.
    assert!(
        whole(&output, "windows", "flow")
            .iter()
            .all(|flow| *flow == 1)
    );
    assert!(
        real(&output, "windows", "cwnd_bytes")
            .iter()
            .all(|cwnd| cwnd.is_nan())
    );
    assert!(
        real(&output, "windows", "rtt_s")
            .iter()
            .all(|rtt| *rtt > 0.0)
    );
}

#[test]
fn the_table_of_connections_counts_what_arrived() {
    let output = result(&star("dcudp", TWO), &[("run.duration", "1 s")]);
    let sent = whole(&output, "flows", "packets");
    let received = whole(&output, "udt", "packets_received");
    let marks = whole(&output, "udt", "ce_received");
    assert_eq!(whole(&output, "flows", "drops"), [0, 0]);
    // In flight at the end: at max a round trip.
    for (sent, received) in sent.iter().zip(&received) {
        assert!(received <= sent && sent - received < 20);
    }
    let all: u64 = whole(&output, "flows", "marks").iter().sum();
    assert!(all > 0 && marks.iter().sum::<u64>() <= all);
    assert_eq!(whole(&output, "udt", "failed"), [0, 0]);
    // The bulk transfer stopped at 60 ms, and the backlog of the other one leaves after it.
    let goodput = real(&output, "flows", "goodput_bit_s");
    assert_near(goodput[0], 600e6, 1e6);
}

#[test]
fn requests_and_finite_flows_are_carried() {
    let flows = r#"
[flows.read]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "20 KB"
rounds = 5
[flows.short]
workload = "poisson"
from = "senders"
to = "receiver"
sizes = "10 KB"
flow_rate = 200
"#;
    for (kind, handshake) in [
        ("udt", "false"),
        ("udt", "true"),
        ("dcudp", "false"),
        ("dcudp", "true"),
    ] {
        let sets = [
            ("transport.handshake", handshake),
            ("run.duration", "2 s"),
            ("flows.short.stop", "1 s"),
        ];
        let output = result(&star(kind, flows), &sets);
        let kinds = text(&output, "transfers", "kind");
        let done = real(&output, "transfers", "completed_s");
        assert!(kinds.iter().any(|kind| kind == "flow"));
        assert!(done.iter().all(|at| !at.is_nan()), "{kind} {handshake}");
        let rounds = kinds.iter().filter(|kind| *kind == "round").count();
        assert_eq!(rounds, 5, "{kind} {handshake}");
        assert!(
            whole(&output, "udt", "failed")
                .iter()
                .all(|failed| *failed == 0)
        );
    }
}

#[test]
fn a_full_send_buffer_refuses() {
    // 600 Mbit/s into 100 Mbit/s.
    let sets = [
        ("flows.cbr.transport.send_buffer", "100 KB"),
        ("network.links.receivers.rate", "100 Mbit/s"),
    ];
    let output = result(&star("udt", TWO), &sets);
    assert!(whole(&output, "flows", "send_buffer_drops")[0] > 0);
}

#[test]
fn udt_and_dcudp_repeat_bit_for_bit() {
    for kind in ["udt", "dcudp"] {
        let checked = scenario(&star(kind, TWO), &[("run.duration", "100 ms")]);
        let digest = |scenario| {
            let output = run(scenario).expect("runs");
            output.digest
        };
        let first = digest(&checked);
        assert_eq!(first, digest(&checked));
        let (resolved, _) = parse(&checked.resolved(), "resolved", &[]).expect("right");
        assert_eq!(first, digest(&resolved));
        assert_ne!(first, digest(&checked.with_seed(2)));
    }
}
