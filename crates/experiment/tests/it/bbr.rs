//! BBR in whole networks.

use incastle_experiment::Output;

use crate::common::{LONG_PATH_GOODPUT, long_flow, long_path, of_port, real, result, whole};

/// The link with a buffer of 1 MB and one flow.
fn link() -> String {
    long_path("1 s", "buffer = '1 MB'") + &long_flow("first", 0, "bbr")
}

/// The share of the link that each flow gets.
fn shares(output: &Output) -> Vec<f64> {
    let goodput = real(output, "flows", "goodput_bit_s");
    goodput
        .into_iter()
        .map(|rate| rate / LONG_PATH_GOODPUT)
        .collect()
}

/// The part of the rate that BBR aims for: it paces 1 % below the bandwidth, and drains for a while after each
/// probe.
const AIM: f64 = 0.95;

#[test]
fn alone_it_fills_the_link_with_a_short_queue() {
    let output = result(&link(), &[]);
    assert!(shares(&output)[0] > AIM, "{:?}", shares(&output));
    // 125 KB are 83 packets; a probe fills a part of that again, for a few of some fifty round trips.
    let queue = of_port(&output, "switch->receiver", "mean_queue_packets");
    assert!(queue < 0.1 * 83.0, "{queue}");
    assert_eq!(whole(&output, "flows", "drops"), [0]);
}

/// Section 5.3.4: every five seconds there is half of the bandwidth-delay product in flight for 200 ms.
#[test]
fn it_probes_the_round_trip_every_five_seconds_and_returns() {
    let output = result(&link(), &[]);
    let times = real(&output, "windows", "time_s");
    let windows = real(&output, "windows", "cwnd_bytes");
    // Rows are changes: from a low window to the next other one.
    let rows = (1..times.len()).filter(|&row| times[row] > 1.0);
    let low = |row: usize| windows[row] < 0.6 * 125e3;
    let edges = rows.filter(|&row| low(row) != low(row - 1));
    let edges: Vec<f64> = edges.map(|row| times[row]).collect();
    // 30 s have five.
    assert_eq!(edges.len(), 10, "{edges:?}");
    for probe in edges.chunks(2) {
        let held = probe[1] - probe[0];
        assert!((0.2..0.25).contains(&held), "{held}");
    }
    for two in edges.windows(3).step_by(2) {
        let apart = two[2] - two[0];
        assert!((5.0..5.5).contains(&apart), "{apart}");
    }
}

#[test]
fn two_flows_share_the_link() {
    for buffer in ["1 MB", "60 KB"] {
        let both = link() + &long_flow("second", 1, "bbr");
        let output = result(&both, &[("switch.buffer", buffer)]);
        let shares = shares(&output);
        assert!(shares[0] + shares[1] > AIM, "{buffer}: {shares:?}");
        assert!(
            shares.iter().all(|share| *share > 0.4),
            "{buffer}: {shares:?}"
        );
        assert_eq!(whole(&output, "flows", "timeouts"), [0, 0], "{buffer}");
    }
}

/// Section 3.1: full throughput at average losses of up to 1 %. CUBIC takes each loss for congestion.
#[test]
fn random_loss_leaves_most_of_the_link_where_cubic_loses_it() {
    let share = |congestion| {
        let sets = [
            ("network.degraded.bad.between", "['switch', 'receiver']"),
            ("network.degraded.bad.direction", "'forward'"),
            ("network.degraded.bad.loss", "1 %"),
            ("transport.preset", "linux"),
            ("flows.first.transport.congestion", congestion),
        ];
        let output = result(&link(), &sets);
        assert_eq!(whole(&output, "flows", "timeouts"), [0], "{congestion}");
        shares(&output)[0]
    };
    let (bbr, cubic) = (share("bbr"), share("cubic"));
    assert!(bbr > 0.75, "{bbr}");
    assert!(cubic < 0.2, "{cubic}");
}
