//! RDMA, priorities and PFC in scenarios: times by hand, lossless incasts, tables, and ideals.

use incastle_experiment::{Output, alone_because};

use crate::common::{assert_near, real, result, scenario, text, whole};

/// Eight senders and a receiver at 100 Gbit/s (80 ps per byte), links of 1 us.
const STAR: &str = r#"
[run]
duration = "20 ms"
[network]
topology = "star"
senders = 8
rate = "100 Gbit/s"
delay = "1 us"
[switch]
buffer = { shared = "1 MiB", alpha = 1.0 }
[switch.queue]
kind = "priorities"
[switch.queue.marks.rdma]
priorities = [3]
k_min = "25 KB per 25 Gbit/s"
k_max = "100 KB per 25 Gbit/s"
p_max = 0.2
[switch.pfc]
priorities = [3]
[transport]
kind = "rdma"
traffic_class = 3
[flows.incast]
workload = "bulk"
from = "senders"
to = "receiver"
size = "500 KB"
start_spread = "0 s"
"#;

/// One message of 1000 bytes from the first sender.
const ONE: [(&str, &str); 2] = [
    ("flows.incast.from", "sender:0"),
    ("flows.incast.size", "1000 B"),
];

fn fct_s(sets: &[(&str, &str)]) -> f64 {
    let output = result(STAR, sets);
    let [started, completed] =
        ["started_s", "completed_s"].map(|name| real(&output, "flows", name));
    assert_eq!(started.len(), 1);
    completed[0] - started[0]
}

#[test]
fn messages_of_one_packet_take_the_times_by_hand() {
    let [from, size] = ONE;
    // IPv4 20, UDP 8, BTH 12, RETH 16, ICRC 4: 1060 bytes over two links.
    assert_near(fct_s(&[from, size]), 2e-6 + 2.0 * 1060.0 * 80e-12, 1e-12);
    // A SEND has no RETH; framing adds 38 bytes.
    let send = fct_s(&[
        from,
        size,
        ("transport.verb", "send"),
        ("transport.framing", "ethernet"),
    ]);
    assert_near(send, 2e-6 + 2.0 * 1082.0 * 80e-12, 1e-12);
    // The receiver asks with 60 bytes; the response has AETH 4 instead of RETH.
    let read = fct_s(&[from, size, ("transport.verb", "read")]);
    assert_near(read, 4e-6 + 2.0 * (60.0 + 1048.0) * 80e-12, 1e-12);
}

#[test]
fn every_control_completes_an_incast_without_a_loss() {
    for control in ["dcqcn", "timely", "hpcc", "rate-dctcp"] {
        let sets = [("transport.congestion", control), ("run.stop", "when-done")];
        let sets = [&sets[..], &[("run.duration", "1 s")]].concat();
        let output = result(STAR, &sets);
        assert_eq!(output.totals.drops, 0, "{control}");
        assert_eq!(output.totals.delivered_bytes, 8 * 500_000, "{control}");
        let unfinished = real(&output, "flows", "completed_s");
        assert!(unfinished.iter().all(|at| at.is_finite()), "{control}");
        assert_eq!(
            whole(&output, "queue_pairs", "naks_sent"),
            [0; 8],
            "{control}"
        );
        assert!(
            real(&output, "pauses", "paused_s")
                .iter()
                .all(|time| *time >= 0.0)
        );
    }
}

#[test]
fn pauses_protect_what_a_lossy_class_drops() {
    let lossless = result(STAR, &[("switch.buffer.shared", "600 KB")]);
    assert_eq!(lossless.totals.drops, 0);
    let pauses = whole(&lossless, "pauses", "pauses");
    assert_eq!(lossless.totals.pauses, pauses.iter().sum::<u64>());
    assert!(lossless.totals.pauses > 0, "the senders are paused");
    // Each pause of a host's port is one of the switch's.
    let sent: u64 = whole(&lossless, "pauses", "pauses_sent").iter().sum();
    assert_eq!(sent, lossless.totals.pauses);

    let lossy = result(
        STAR,
        &[("switch.buffer.shared", "600 KB"), ("switch.pfc", "off")],
    );
    assert!(lossy.totals.drops > 0);
    assert_eq!(lossy.totals.pauses, 0);
    let resent: u64 = whole(&lossy, "queue_pairs", "retransmitted_bytes")
        .iter()
        .sum();
    assert!(resent > 0, "go-back-N repeats");
}

#[test]
fn a_headroom_that_is_too_small_drops_and_is_named() {
    let sets = [
        ("switch.buffer.shared", "400 KB"),
        ("switch.pfc.headroom", "1 KB"),
    ];
    let output = result(STAR, &sets);
    assert!(output.totals.headroom_drops > 0);
    let dropped: u64 = whole(&output, "pauses", "headroom_drops").iter().sum();
    assert_eq!(dropped, output.totals.headroom_drops);
    assert_eq!(output.totals.drops, output.totals.headroom_drops);
    let ports = text(&output, "pauses", "port");
    assert!(ports.iter().any(|port| port.starts_with("switch->sender")));
}

#[test]
fn a_strict_priority_waits_for_one_packet_at_most() {
    let tcp = "[flows.low]\nworkload = \"bulk\"\nfrom = \"sender:1\"\nto = \"receiver\"\n\
               transport = { kind = \"tcp\", traffic_class = 0 }\n";
    let text = format!("{STAR}{tcp}");
    let [from, size] = ONE;
    let sets = [from, size, ("flows.incast.start", "5 ms")];
    let output = result(&text, &sets);
    let [started, completed] =
        ["started_s", "completed_s"].map(|name| real(&output, "flows", name));
    let alone = 2e-6 + 2.0 * 1060.0 * 80e-12;
    let wait = completed[0] - started[0] - alone;
    // The low priority has the rest of the line: a segment of it may be on it.
    assert!((0.0..=1500.0 * 80e-12 + 1e-12).contains(&wait), "{wait}");
    let delivered = whole(&output, "flows", "delivered_bytes");
    assert!(
        delivered[1] > 100_000_000,
        "the line is full: {}",
        delivered[1]
    );
}

#[test]
fn a_lone_transfer_is_as_fast_as_its_ideal() {
    let measure = "[measure]\nslowdown = true\nideal = \"own-transport\"\n";
    for control in ["dcqcn", "hpcc"] {
        let sets = [
            ("flows.incast.from", "sender:0"),
            ("transport.congestion", control),
        ];
        let output = result(&format!("{STAR}{measure}"), &sets);
        assert_eq!(real(&output, "transfers", "slowdown"), [1.0], "{control}");
    }
    // At line rate from the start, the pace of DCQCN has no gap: the same as the line's own time.
    let measure = measure.replace("own-transport", "line-rate");
    let output = result(
        &format!("{STAR}{measure}"),
        &[("flows.incast.from", "sender:0")],
    );
    assert_near(real(&output, "transfers", "slowdown")[0], 1.0, 0.001);
}

#[test]
fn a_window_bounds_what_is_outstanding() {
    let sets = [
        ("transport.window", "20 KB"),
        ("transport.congestion", "timely"),
        ("switch.pfc", "off"),
        ("switch.buffer.shared", "16 MiB"),
    ];
    let output = result(STAR, &sets);
    // Eight windows and the packet that each may add to its window.
    let longest = real(&output, "links", "max_bytes").into_iter();
    let longest = longest
        .filter(|bytes| bytes.is_finite())
        .fold(0.0, f64::max);
    assert!(
        (100_000.0..=8.0 * (20_000.0 + 4_140.0)).contains(&longest),
        "{longest}"
    );
    assert_eq!(output.totals.drops, 0);
}

#[test]
fn queue_pairs_outlive_a_failure_of_a_lossless_fabric() {
    let text = STAR
        .replace(
            "topology = \"star\"\nsenders = 8",
            "topology = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4",
        )
        .replace("from = \"senders\"", "from = \"host:0..3\"")
        .replace("to = \"receiver\"", "to = \"host:4\"");
    let failure = "[network.failures.trunk]\nbetween = [\"leaf:0\", \"spine:0\"]\ndown = \"20 us\"\nup = \"1 ms\"\n";
    let sets = [
        ("switch.buffer.shared", "4 MiB"),
        ("run.duration", "1 s"),
        ("run.stop", "when-done"),
        ("transport.ack_timeout", "1 ms"),
    ];
    let output = result(&format!("{text}{failure}"), &sets);
    assert!(output.totals.failure_drops > 0, "packets were on the link");
    assert_eq!(output.totals.delivered_bytes, 4 * 500_000);
    assert_eq!(output.totals.headroom_drops, 0);
}

#[test]
fn storms_and_reads_need_one_thread() {
    let fabric = STAR
        .replace(
            "topology = \"star\"\nsenders = 8",
            "topology = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts_per_leaf = 4",
        )
        .replace("from = \"senders\"", "from = \"host:0..3\"")
        .replace("to = \"receiver\"", "to = \"host:4\"");
    let because = |sets: &[(&str, &str)]| alone_because(&scenario(&fabric, sets));
    let big = ("switch.buffer.shared", "4 MiB");
    assert_eq!(because(&[big]), None);
    let storm = ("network.pause_storms.broken.of", "host:4");
    assert!(because(&[big, storm]).is_some_and(|reason| reason.contains("storms")));
    let read = ("transport.verb", "read");
    assert!(because(&[big, read]).is_some_and(|reason| reason.contains("READ")));
}

#[test]
fn hpcc_is_the_same_over_a_fifo_and_over_priorities() {
    // One class and no pauses: both are a FIFO, and both gather telemetry.
    let sets = |kind| {
        [
            ("transport.congestion", "hpcc"),
            ("switch.pfc", "off"),
            ("switch.buffer", "unlimited"),
            ("switch.queue", kind),
        ]
    };
    let fifo = result(STAR, &sets("{ kind = \"drop-tail\" }"));
    let fcts = real(&fifo, "flows", "completed_s");
    assert!(fcts.iter().all(|at| at.is_finite()));
    let mut of_priorities = sets("{ kind = \"priorities\" }");
    of_priorities[2] = ("switch.buffer", "{ shared = \"1 GiB\" }");
    let priorities = result(STAR, &of_priorities);
    assert_eq!(fcts, real(&priorities, "flows", "completed_s"));
}

#[test]
fn a_broken_nic_stops_its_priority_until_a_watchdog_drops() {
    let storm = "[network.pause_storms.broken]\nof = \"receiver\"\n";
    let network = format!("{STAR}{storm}[measure]\npauses = true\n");
    let output = result(&network, &[]);
    let completed = real(&output, "flows", "completed_s");
    assert!(completed.iter().all(|at| at.is_nan()), "{completed:?}");
    assert_eq!(output.totals.drops, 0);
    let row = |output: &Output, port: &str| {
        let ports = text(output, "pauses", "port");
        let row = ports.iter().position(|one| one == port);
        row.expect("it has a row")
    };
    let to_receiver = row(&output, "switch->receiver");
    let paused = real(&output, "pauses", "paused_s")[to_receiver];
    // Until the end of 20 ms, after a frame of 64 bytes and the cable.
    assert_near(paused, 20e-3 - 1e-6 - 64.0 * 80e-12, 1e-12);
    // 20 ms are 119.2 halves of 335.5392 us.
    let nic = row(&output, "receiver->switch");
    let frames = ["pauses_sent", "refreshes_sent"].map(|name| whole(&output, "pauses", name)[nic]);
    assert_eq!(frames, [1, 119]);
    // The NIC is the root of all pauses, of the senders' as well.
    let ports = text(&output, "pause_record", "port");
    assert!(ports.iter().any(|port| port.starts_with("sender")));
    let roots = text(&output, "pause_record", "root_port");
    assert!(
        roots.iter().all(|root| root == "receiver->switch"),
        "{roots:?}"
    );

    let watched = [("switch.pfc.watchdog", "{ detection = '1 ms' }")];
    let output = result(&network, &watched);
    let dropped = whole(&output, "pauses", "storm_drops")[row(&output, "switch->receiver")];
    assert!(dropped > 0);
    assert_eq!(output.totals.drops, dropped);
}

/// The second message is posted while the NIC sends the first. No packet of either arrives, so that no acknowledgement
/// wakes its queue pair.
#[test]
fn a_message_that_waited_for_its_nic_and_was_lost_is_sent_again() {
    let more = "[flows.second]\nworkload = \"bulk\"\nfrom = \"sender:0\"\nto = \"receiver\"\nsize = \"1000 B\"\n\
                start_spread = \"0 s\"\n[network.failures.first]\nbetween = [\"receiver\", \"switch\"]\nup = \"500 us\"\n";
    let sets = [
        ("flows.incast.from", "sender:0"),
        ("transport.ack_timeout", "1 ms"),
    ];
    let output = result(&format!("{STAR}{more}"), &sets);
    let completed = real(&output, "flows", "completed_s");
    assert!(
        completed.iter().all(|at| (1e-3..2e-3).contains(at)),
        "{completed:?}"
    );
    assert_eq!(whole(&output, "flows", "timeouts"), [1, 1]);
}
