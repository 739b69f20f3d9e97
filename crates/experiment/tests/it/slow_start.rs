//! Slow start in whole networks: HyStart on a long fat path, and pacing.

use incastle_experiment::Output;

use crate::common::{assert_near, of_port, real, result, whole};

/// One CUBIC flow over 200 Mbit/s and 100 ms: 2.5 MB, and a buffer of as many.
const LONG_FAT: &str = r#"
[run]
duration = "4 s"
[network]
topology = "star"
senders = 1
rate = "200 Mbit/s"
delay = "25 ms"
[network.links.senders]
rate = "10 Gbit/s"
[switch]
buffer = "2.5 MB"
[transport]
congestion = "cubic"
[flows.long]
workload = "bulk"
from = "sender:0"
to = "receiver"
"#;

/// With the growth of RFC 9438: after slow start Linux's CUBIC grows by a twentieth per round trip until the first loss.
fn long_fat(slow_start: &str) -> Output {
    let sets = [
        ("transport.slow_start", slow_start),
        ("transport.window_rule", "rfc"),
    ];
    result(LONG_FAT, &sets)
}

fn drops(output: &Output) -> u64 {
    whole(output, "flows", "drops")[0]
}

#[test]
fn cubic_with_hystart_leaves_slow_start_on_a_long_fat_path_without_a_burst_of_losses() {
    let standard = drops(&long_fat("standard"));
    assert!(standard > 2_000, "{standard}");
    let output = long_fat("hystart");
    assert_eq!(drops(&output), 0);
    assert_eq!(whole(&output, "flows", "timeouts"), [0]);
    // HyStart++ slows down a round later: fewer losses.
    let plus_plus = drops(&long_fat("hystart++"));
    assert!(plus_plus * 3 < standard * 2, "{plus_plus}");
}

/// With pacing Linux waits for a train of a whole round trip instead of half of one: slow start ends with
/// 6.2 instead of 3.1 MB, and the path with its buffer holds 5 MB.
#[test]
fn hystart_with_pacing_ends_slow_start_a_round_later() {
    let sets = [
        ("transport.pacing", "true"),
        ("transport.slow_start", "hystart"),
    ];
    let lost = drops(&result(LONG_FAT, &sets));
    assert!((500..2_000).contains(&lost), "{lost}");
}

/// The greatest queue while one flow sends 100 kB through 1 Gbit/s, a round trip of 1 ms and less than its
/// 125 kB; its own link is ten times as fast.
fn greatest_queue(pacing: &str) -> f64 {
    let sets = [
        ("run.duration", "20 ms"),
        ("network.rate", "1 Gbit/s"),
        ("network.delay", "250 us"),
        ("flows.long.size", "100 kB"),
        ("transport.pacing", pacing),
    ];
    let output = result(LONG_FAT, &sets);
    assert!(real(&output, "flows", "completed_s")[0] < 0.02);
    of_port(&output, "switch->receiver", "max_queue_packets")
}

#[test]
fn pacing_spreads_the_windows_of_slow_start() {
    // The ACKs of a round leave two segments each, 12 us apart: half of the last window waits. At twice
    // the window per round trip, below 1 Gbit/s up to 62.5 kB, only the ten unpaced segments do.
    assert_near(greatest_queue("false"), 20.0, 1e-9);
    assert_near(greatest_queue("true"), 9.0, 1e-9);
}
