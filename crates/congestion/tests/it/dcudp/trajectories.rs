//! The law in the long run, against theory.

use incastle_congestion::{DcudpConfig, DcudpGrowth, Echo};
use incastle_units::Span;

use super::{Connection, PS, config, packets};

/// One flow whose packets are all acknowledged together, once per round trip of 100 us; the ACK has ECE
/// where the window exceeds `k` packets. Gives the windows of n round trips.
fn windows(config: DcudpConfig, k: f64, round_trips: usize) -> Vec<f64> {
    let mut connection = Connection::new(config);
    let mut window = config.interface.bytes_per_second_lossy() / PS as f64 * 1e-4;
    (0..round_trips)
        .map(|_| {
            let echo = if window > k {
                Echo::Congestion
            } else {
                Echo::Clear
            };
            connection.ack(echo);
            if let Some(rates) = connection.control.rates() {
                window = rates.data * 1e-4;
            }
            window
        })
        .collect()
}

/// C RTT = 1000 packets.
fn fast(growth: DcudpGrowth) -> DcudpConfig {
    DcudpConfig {
        growth,
        interface: packets(10_000_000),
        ..config()
    }
}

#[test]
fn under_marks_without_end_each_round_trip_takes_a_packet() {
    // p = 1: W^2 / (W + 1) = W - 1 + 1 / (W + 1). From 1000 down to 1, no further.
    let windows = windows(fast(DcudpGrowth::PerSecond), 0.0, 1100);
    for pair in windows.windows(2) {
        let exact = pair[0] - 1.0 + 1.0 / (pair[0] + 1.0);
        assert!((pair[1] - exact.max(1.0)).abs() < 1e-9, "{pair:?}");
    }
    // Without the last term it would be 1000 - n; that adds up to ln(1000 / W).
    assert!(
        (windows[899] - 100.0 - libm::log(10.0)).abs() < 0.1,
        "{}",
        windows[899]
    );
    assert!((windows[1099] - 1.0).abs() < 1e-12);
}

/// In balance what marks take, p each for the fraction p of all ACKs, is what the others give, g each:
/// p^2 = (1 - p) g. The window then is a rotation of the interval from K - p to K + g, uniform on it:
/// its mean is K + (g - p) / 2.
#[test]
fn the_sawtooth_has_the_mean_of_the_theory() {
    let k = 900.0;
    for (growth, g, round_trips) in [
        (DcudpGrowth::PerRtt, 1.0_f64, 40_000),
        (DcudpGrowth::PerSecond, 1e-4, 4_000_000),
    ] {
        // 0.618 (the golden ratio), and 0.00995.
        let p = f64::midpoint(-g, (g * g + 4.0 * g).sqrt());
        let windows = windows(fast(growth), k, round_trips);
        let half = &windows[round_trips / 2..];
        let marked = half.iter().filter(|window| **window > k).count() as f64;
        let fraction = marked / half.len() as f64;
        let mean = half.iter().sum::<f64>() / half.len() as f64;
        println!(
            "g {g}: p {fraction:.5} / {p:.5}, mean - K {:.5} / {:.5}",
            mean - k,
            (g - p) / 2.0
        );
        assert!((fraction / p - 1.0).abs() < 0.02, "{fraction} {p}");
        assert!((mean - k - (g - p) / 2.0).abs() < 0.02 * p, "{mean}");
    }
}

#[test]
fn marks_alone_leave_the_difference_of_two_windows() {
    let mut flows = [Connection::new(config()), Connection::new(config())];
    flows[1].ack(Echo::Congestion);
    for flow in &mut flows {
        flow.sender.smoothed_rtt = Some(Span::from_ms(1));
    }
    // Windows of 100 and 90.909, all marked, 60 times: each loses 60 but for ln(W / W'):
    // 40 + ln(101 / 41) = 40.90 and 30.91 + ln(92 / 32) = 31.97. 9.09 apart at first, 8.93 now.
    for _ in 0..60 {
        for flow in &mut flows {
            flow.ack(Echo::Congestion);
        }
    }
    let window = |flow: &Connection| flow.control.rates().expect("congestion mode").data * 1e-3;
    let (larger, smaller) = (window(&flows[0]), window(&flows[1]));
    assert!((larger - 40.90).abs() < 0.03, "{larger}");
    assert!((smaller - 31.97).abs() < 0.03, "{smaller}");
}
