//! The table of timeouts, and what they do to rounds.

use incastle_experiment::Output;

use crate::common::{STAR, assert_near, real, result, text, whole};

/// One server; its response of three segments meets a port with room for two.
const TAIL: &str = r#"
[network.links.receivers]
rate = "100 Mbit/s"
[flows.read]
workload = "barrier-incast"
from = "sender:0"
to = "receiver"
sru = "4380 B"
rounds = 2
think_time = "1 ms"
start_spread = "0 s"
[measure]
timeouts = true
"#;

#[test]
fn the_last_packet_of_an_answer_waits_for_the_timer() {
    let star = STAR.replace("\"unlimited\"", "\"2 packets\"");
    let sets = [
        ("run.duration", "100 ms"),
        ("transport.preset", "ns-2-2010"),
        ("transport.initial_window", "3 packets"),
        ("transport.delayed_ack_count", "1"),
        ("transport.min_rto", "20 ms"),
        ("transport.initial_rto", "20 ms"),
    ];
    let output = result(&format!("{star}{TAIL}"), &sets);
    // In the first round one segment is sent, one waits, the third finds no room. In the second the
    // window has halved.
    assert_eq!(text(&output, "timeouts", "kind"), ["last-packet"]);
    assert_eq!(text(&output, "timeouts", "port"), ["switch->receiver"]);
    assert_eq!(text(&output, "timeouts", "host"), ["sender:0"]);
    assert_eq!(text(&output, "timeouts", "group"), ["read"]);
    assert_eq!(whole(&output, "timeouts", "lost_segments"), [1]);
    assert_eq!(real(&output, "timeouts", "round"), [0.0]);
    let waited = real(&output, "timeouts", "waited_s")[0];
    assert_near(waited, 20e-3, 1e-3);
    assert_near(real(&output, "timeouts", "rto_s")[0], 20e-3, 1e-3);
    // The wait begins when the ACK of the second segment reaches the server. That is 50 us and an ACK's
    // transmission times after the link to the client fell idle.
    let idle = real(&output, "timeouts", "idle_s")[0];
    assert_near(idle, waited, 1e-9);
    assert_eq!(whole(&output, "rounds", "timeouts"), [1, 0]);
    // In the round the link is idle from the second segment to the retransmitted third: the ACK's time
    // (50 us + 3.2 us + 0.32 us), the wait, and the segment's time (25 us + 12 us + 25 us). The earlier
    // gaps, around the ACK of the request, are shorter than two packets (240 us).
    let expected = 53.52e-6 + waited + 62e-6;
    assert_near(real(&output, "rounds", "idle_s")[0], expected, 1e-9);
}

const INCAST: &str = r#"
[run]
duration = "2 s"
[network]
topology = "star"
senders = 16
[switch]
buffer = "32 KiB"
[host]
jitter = "2 us"
[transport]
handshake = false
delayed_ack_count = 1
min_rto = "10 ms"
initial_rto = "10 ms"
[flows.read]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "64 KiB"
[flows.other]
workload = "bulk"
from = "sender:0"
to = "sender:1"
size = "10 KB"
[measure]
timeouts = true
"#;

#[test]
fn every_timeout_of_an_incast_is_told_with_its_cause() {
    let output = result(INCAST, &[]);
    assert!(
        output.totals.timeouts > 20,
        "the buffer is too small for 16"
    );
    let kinds = text(&output, "timeouts", "kind");
    assert_eq!(kinds.len() as u64, output.totals.timeouts);
    let ports = text(&output, "timeouts", "port");
    let lost = whole(&output, "timeouts", "lost_segments");
    let at = real(&output, "timeouts", "time_s");
    let rounds = real(&output, "timeouts", "round");
    let started = real(&output, "rounds", "started_s");
    let completed = real(&output, "rounds", "completed_s");
    for row in 0..kinds.len() {
        // Nothing else is congested, and a timer of 10 ms is never early.
        assert_eq!(
            ports[row], "switch->receiver",
            "{} at {}",
            kinds[row], at[row]
        );
        assert!(lost[row] > 0);
        let round = rounds[row] as usize;
        assert!(started[round] < at[row]);
        assert!(completed[round].is_nan() || at[row] < completed[round]);
    }
    assert!(kinds.iter().any(|kind| kind == "full-window"));
    let counts = whole(&output, "rounds", "timeouts");
    assert_eq!(counts.iter().sum::<u64>(), output.totals.timeouts);
}

#[test]
fn idle_time_is_shared_and_never_more_than_there_was() {
    let output = result(INCAST, &[]);
    let idle: f64 = real(&output, "timeouts", "idle_s").iter().sum();
    let waited = real(&output, "timeouts", "waited_s");
    for (idle, waited) in real(&output, "timeouts", "idle_s").iter().zip(&waited) {
        assert!((0.0..=waited + 1e-12).contains(idle), "{idle} of {waited}");
    }
    let of_rounds: f64 = real(&output, "rounds", "idle_s").iter().sum();
    assert!(idle > 0.0 && idle <= of_rounds);
    // Busy and idle together are the run: each byte at the client's link takes its time.
    let ip: u64 = {
        let hosts = text(&output, "goodput", "host");
        let bytes = whole(&output, "goodput", "ip_bytes");
        let of_client = hosts
            .iter()
            .zip(bytes)
            .filter(|(host, _)| *host == "receiver");
        of_client.map(|(_, bytes)| bytes).sum()
    };
    // Gaps of less than two packets do not count: the rest within 2 %.
    assert_near(of_rounds + ip as f64 * 8e-9, 2.0, 0.04);
}

#[test]
fn timeouts_are_told_where_asked_for_and_change_nothing() {
    let with = result(INCAST, &[]);
    let without = result(INCAST, &[("measure.timeouts", "false")]);
    assert_eq!(with.digest, without.digest);
    assert!(without.tables.iter().all(|table| table.name != "timeouts"));
}

#[test]
fn idle_links_can_be_left_out() {
    let with = result(INCAST, &[]);
    let without = result(INCAST, &[("measure.receiver_idle", "false")]);
    assert_eq!(with.digest, without.digest);
    for name in ["timeouts", "rounds"] {
        let columns = |output: &Output| -> Vec<String> {
            let found = output.tables.iter().find(|table| table.name == name);
            let columns = &found.expect("both were measured").columns;
            columns.iter().map(|(column, _)| column.clone()).collect()
        };
        let mut shorter = columns(&with);
        shorter.retain(|column| column != "idle_s");
        assert_eq!(columns(&without), shorter);
        assert!(shorter.len() < columns(&with).len());
    }
}
