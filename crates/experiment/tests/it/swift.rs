//! Swift in whole networks: alone, sharing, and incasts of more flows than the path holds segments.

use incastle_experiment::Output;

use crate::common::{assert_near, leaf_spine, of_port, real, result, whole};

/// Long flows through 10 Gbit/s. A round trip without waiting is 8 us of delays, 1.2 us of the packet at the
/// bottleneck, 0.12 us at the sender and some for the ACK: 9.4 us. The target of one switch is 23 us.
const LONG: &str = r#"
[run]
duration = "40 ms"
[network]
topology = "star"
senders = 20
rate = "10 Gbit/s"
delay = "2 us"
[network.links.senders]
rate = "100 Gbit/s"
[switch]
buffer = "2 MB"
[measure]
warmup = "10 ms"
window = { every = "100 us" }
[transport]
preset = "ns-2-2010"
congestion = "swift"
[flows.long]
workload = "bulk"
from = "senders"
to = "receiver"
"#;

/// Goodput of each flow, and the mean delay of data there and back in us.
fn measured(senders: &str, sets: &[(&str, &str)]) -> (Vec<f64>, f64, Output) {
    let sets = [&[("network.senders", senders)], sets].concat();
    let output = result(LONG, &sets);
    let queue = of_port(&output, "switch->receiver", "mean_queue_packets");
    let goodput = real(&output, "flows", "goodput_bit_s");
    (goodput, 9.4 + 1.2 * queue, output)
}

fn total(output: &Output, column: &str) -> u64 {
    whole(output, "flows", column).iter().sum()
}

/// 1460 of 1500 bytes are data.
const FULL: f64 = 9.73e9;

#[test]
fn alone_it_fills_the_link_with_the_delay_at_the_target() {
    let (goodput, delay, output) = measured("1", &[]);
    assert!(goodput[0] > 0.995 * FULL, "{goodput:?}");
    // 23 us, and 32.66 / sqrt(22.9) - 3.27 = 3.6 us for a window of 22.9 segments.
    assert!((25.6..27.6).contains(&delay), "{delay}");
    assert_eq!(
        (total(&output, "drops"), total(&output, "timeouts")),
        (0, 0)
    );
    // Without flow scaling 23 us.
    let (goodput, delay, _) = measured("1", &[("transport.fs_range", "0 s")]);
    assert!(goodput[0] > 0.995 * FULL, "{goodput:?}");
    assert!((22.0..24.0).contains(&delay), "{delay}");
}

/// The paper's flow scaling: large windows have a lower target than small ones, so that shares converge, and
/// the queue grows less than the number of flows.
#[test]
fn flows_share_fairly_and_the_target_grows_with_their_number() {
    // 2: 13 segments each, 23 + 32.66 / sqrt(13) - 3.27 = 28.8 us. 20: 2.3 segments, 41.3 us.
    for (senders, least, target) in [("2", 0.99, 28.8), ("20", 0.9, 41.3)] {
        let (goodput, delay, output) = measured(senders, &[]);
        let sum: f64 = goodput.iter().sum();
        let squares: f64 = goodput.iter().map(|rate| rate * rate).sum();
        let jain = sum * sum / squares / goodput.len() as f64;
        assert!(sum > 0.995 * FULL, "{sum}");
        assert!(jain > 0.995, "{jain}");
        let worst = goodput.iter().copied().fold(f64::MAX, f64::min) * goodput.len() as f64 / sum;
        assert!(worst > least, "{worst}");
        // Additive increase of all flows together overshoots.
        assert!((0.97 * target..1.2 * target).contains(&delay), "{delay}");
        assert_eq!(
            (total(&output, "drops"), total(&output, "timeouts")),
            (0, 0)
        );
    }
}

#[test]
fn a_hundred_flows_have_windows_below_one_segment() {
    let sets = [("transport.initial_window", "1 packet")];
    let (goodput, delay, output) = measured("100", &sets);
    assert!(goodput.iter().sum::<f64>() > 0.995 * FULL, "{goodput:?}");
    // One segment each would be 120 us of queue.
    assert!((50.0..85.0).contains(&delay), "{delay}");
    let windows = real(&output, "windows", "cwnd_bytes");
    let below = windows.iter().filter(|cwnd| **cwnd < 1460.0).count();
    assert!(below * 2 > windows.len(), "{below} of {}", windows.len());
    assert_eq!(
        (total(&output, "drops"), total(&output, "timeouts")),
        (0, 0)
    );
}

/// Responses of 100 servers at once, three rounds.
const INCAST: &str = r#"
[run]
duration = "3 s"
stop = "when-done"
[network]
topology = "star"
senders = 100
rate = "10 Gbit/s"
delay = "2 us"
[switch.queue]
kind = "threshold"
marking_threshold = "20 packets"
[transport]
preset = "ns-2-2010"
initial_window = "1 packet"
[flows.incast]
workload = "barrier-incast"
from = "senders"
to = "receiver"
sru = "100 KB"
rounds = 3
"#;

fn incast(control: &str, buffer: &str) -> Output {
    let sets = [("transport.congestion", control), ("switch.buffer", buffer)];
    result(INCAST, &sets)
}

/// DCTCP's two segments for each of 100 flows fill a buffer of 200 packets.
#[test]
fn an_incast_has_no_timeouts_where_two_segments_of_each_flow_overflow_the_buffer() {
    let swift = incast("swift", "200 packets");
    assert_eq!((total(&swift, "drops"), total(&swift, "timeouts")), (0, 0));
    for goodput in real(&swift, "rounds", "goodput_bit_s") {
        assert!(goodput > 0.99 * FULL, "{goodput}");
    }
    assert!(total(&incast("dctcp", "200 packets"), "timeouts") > 0);
}

/// One segment of each flow overflows it, and one lost of a window of one is found by timeout alone.
#[test]
fn an_incast_has_timeouts_where_one_segment_of_each_flow_overflows_the_buffer() {
    for control in ["swift", "dctcp"] {
        assert!(total(&incast(control, "100 packets"), "timeouts") > 0);
    }
}

/// The target grows by the switches of each path: three between two leaves.
#[test]
fn the_target_has_the_hops_of_the_path() {
    // Two senders to the first host: on its own leaf, or on the other one.
    let text = |from: &str| {
        format!(
            "{}[measure]\nwindow = {{ every = \"100 us\" }}\n[flows.one]\nworkload = \"bulk\"\n\
             from = \"{from}\"\nto = \"host:0\"\n",
            leaf_spine(2, 1, 3)
        )
    };
    let sets = [
        ("transport.congestion", "swift"),
        ("transport.fs_range", "0 s"),
        ("transport.hop_scale", "10 us"),
    ];
    for (from, target) in [("host:1..2", 30e-6), ("host:3..4", 50e-6)] {
        let output = result(&text(from), &sets);
        let rtt = *real(&output, "windows", "rtt_s").last().expect("a window");
        // A packet takes 1.2 us.
        assert_near(rtt, target, 1.2e-6);
    }
}
