//! The trajectories of the controllers: unchanged to the last digit, and in agreement with the
//! theory of one flow, where there is one.

use incastle_cases::assert_snapshot;
use incastle_congestion::{Algorithm, Dctcp, DctcpConfig};
use incastle_units::{Bytes, Span, Time};

use crate::support::pipe::{Link, MSS, Pipe, Row};
use crate::support::trajectory::csv;

/// After a deliberate change: `cargo run -p incastle-xtask snapshots`, and read the difference.
#[test]
fn the_trajectories_are_those_of_the_snapshot() {
    assert_snapshot(&csv(), include_str!("../snapshots/trajectory.csv"));
}

/// alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, by bisection.
fn exact_alpha(w: f64) -> f64 {
    let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * middle * (1.0 - middle / 4.0) < right {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The average period of the sawtooth: greatest queue, amplitude in packets, period in seconds,
/// alpha.
struct Sawtooth {
    q_max: u64,
    amplitude: f64,
    period_s: f64,
    alpha: f64,
}

/// Takes the second half of a run apart at its reactions.
fn sawtooth(rows: &[Row]) -> Sawtooth {
    let rows = &rows[rows.len() / 2..];
    let cuts: Vec<usize> = (1..rows.len())
        .filter(|&i| rows[i].cwnd < rows[i - 1].cwnd)
        .collect();
    let teeth: Vec<&[Row]> = cuts
        .windows(2)
        .map(|pair| &rows[pair[0]..pair[1]])
        .collect();
    let count = teeth.len() as f64;
    let swing = |tooth: &&[Row]| {
        let queues = tooth.iter().map(|row| row.queue);
        queues.clone().max().unwrap_or(0) - queues.min().unwrap_or(0)
    };
    Sawtooth {
        q_max: rows.iter().map(|row| row.queue).max().unwrap_or(0),
        amplitude: teeth.iter().map(swing).sum::<u64>() as f64 / count,
        period_s: (rows[cuts[cuts.len() - 1]].time - rows[cuts[0]].time).as_secs_lossy() / count,
        alpha: rows.iter().filter_map(|row| row.alpha).sum::<f64>() / rows.len() as f64,
    }
}

/// One flow at 10 Gbit/s and 100 us for 100 ms: C RTT = 83.3 packets.
fn one_flow(marking_threshold: u64) -> Vec<Row> {
    let link = Link {
        service: Span::from_ns(1200),
        rtt: Span::from_ns(98_800),
        marking_threshold,
        capacity: 10_000,
    };
    let config = DctcpConfig::new(Bytes::new(MSS));
    let pipe = Pipe::new(link, Algorithm::Dctcp(Dctcp::new(config)));
    pipe.run(Time::ZERO + Span::from_ms(100))
}

#[test]
fn one_dctcp_flow_has_the_sawtooth_of_the_theory() {
    for k in [40_u64, 65] {
        let measured = sawtooth(&one_flow(k));
        let w = 100.0 / 1.2 + k as f64;
        let alpha = exact_alpha(w);
        let amplitude = (w + 1.0) * alpha / 2.0;
        // In round trips with the mean queue in them.
        let rtt = 100e-6 + (k as f64 + 1.0 - amplitude / 2.0) * 1.2e-6;
        let q_max = k + 1;
        let ratios = (
            measured.amplitude / amplitude,
            measured.period_s / (amplitude * rtt),
            measured.alpha / alpha,
        );
        println!(
            "K {k}: Q_max {} / {q_max}, A {:.1} / {amplitude:.1}, period {:.2} / {:.2} ms, alpha {:.3} / {alpha:.3}",
            measured.q_max,
            measured.amplitude,
            measured.period_s * 1e3,
            amplitude * rtt * 1e3,
            measured.alpha,
        );
        assert!(
            measured.q_max.abs_diff(q_max) <= 2,
            "K {k}: {}",
            measured.q_max
        );
        assert!((0.65..=1.1).contains(&ratios.0), "K {k}: {ratios:?}");
        assert!((0.85..=1.35).contains(&ratios.1), "K {k}: {ratios:?}");
        assert!((0.97..=1.05).contains(&ratios.2), "K {k}: {ratios:?}");
    }
}

/// RFC 8257, section 3.3, counted from the packets: an observation window ends with the first ACK
/// beyond the data sent when it began. Then alpha <- (1 - g) alpha + g F, g = 1/16. F is the fraction
/// of the packets acknowledged that had found more than K packets waiting.
#[test]
fn alpha_follows_the_marks_of_each_window_along_its_trajectory() {
    for k in [40_u64, 65] {
        let rows = one_flow(k);
        let (mut alpha, mut first, mut window_end, mut windows) = (1.0, 0, 0, 0);
        let mut sent = rows.iter().peekable();
        let acked = rows[rows.len() - 1].acked as usize;
        for una in 0..=acked {
            if una > window_end {
                let marked = rows[first..una].iter().filter(|row| row.queue > k).count();
                let fraction = marked as f64 / (una - first) as f64;
                alpha = alpha * (15.0 / 16.0) + fraction / 16.0;
                first = una;
                window_end = rows.partition_point(|row| row.acked < una as u64);
                windows += 1;
            }
            while let Some(row) = sent.next_if(|row| row.acked == una as u64) {
                let difference = row.alpha.expect("DCTCP has an alpha") - alpha;
                assert!(difference.abs() < 1e-12, "K {k}, packet {una}");
            }
        }
        assert!(sent.next().is_none(), "every packet was looked at");
        // A window is a round trip of 100 us and the queue's wait.
        assert!((500..1000).contains(&windows), "{windows} windows");
    }
}
