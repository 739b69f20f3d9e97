//! The window rule of Linux against `tcp_slow_start`, `tcp_cong_avoid_ai`, `tcp_reno_ssthresh` and
//! `tcp_enter_loss` of Linux 6.18, number by number.

use incastle_congestion::{
    AckSample, Cubic, CubicConfig, Echo, NewReno, NewRenoConfig, Reaction, WindowRule,
};
use incastle_units::{Bytes, Span};

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

fn config(initial: u64) -> NewRenoConfig {
    NewRenoConfig {
        initial_window: Bytes::new(initial * MSS),
        abc_limit: u32::MAX,
        rule: WindowRule::Linux,
        ..NewRenoConfig::new(Bytes::new(MSS))
    }
}

/// An ACK of this number of segments.
fn segments(count: u64) -> AckSample<'static> {
    AckSample {
        segments: count as u32,
        ..sample(count * MSS, Echo::Clear)
    }
}

/// A controller in congestion avoidance with a window of 5 segments; 20 are outstanding, which this rule never reads.
fn avoiding() -> (Sender, NewReno) {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config(11)));
    sender.send(&mut control, 11 * MSS);
    let marked = AckSample {
        echo: Echo::Congestion,
        ..segments(1)
    };
    assert_eq!(sender.ack_with(&mut control, marked), Reaction::Reduced);
    // 11 / 2 = 5, in whole segments.
    assert_eq!(cwnd(&control), 5 * MSS);
    assert_eq!(ssthresh(&control), Some(5 * MSS));
    sender.send(&mut control, 10 * MSS);
    (sender, control)
}

#[test]
fn a_window_of_acknowledged_segments_adds_one() {
    let (mut sender, mut control) = avoiding();
    let grown: Vec<u64> = [2, 2, 1, 2, 2, 1, 1]
        .into_iter()
        .map(|count| {
            sender.ack_with(&mut control, segments(count));
            cwnd(&control) / MSS
        })
        .collect();
    // Five segments, then six.
    assert_eq!(grown, [5, 5, 6, 6, 6, 6, 7]);
}

#[test]
fn credit_of_a_larger_window_counts_as_one_segment() {
    let (mut sender, mut control) = avoiding();
    sender.ack_with(&mut control, segments(4));
    // An ACK of two windows and a half: 14 = 2 x 5 + 4.
    sender.ack_with(&mut control, segments(10));
    assert_eq!(cwnd(&control), 7 * MSS);
}

#[test]
fn slow_start_ends_at_ssthresh_and_the_rest_counts_for_avoidance() {
    let (mut sender, mut control) = avoiding();
    sender.time_out(&mut control, 0);
    // The window of data was reduced already: ssthresh stays.
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(5 * MSS)));
    sender.ack_with(&mut control, segments(3));
    assert_eq!(cwnd(&control), 4 * MSS);
    // One segment up to ssthresh, three of five for congestion avoidance.
    sender.ack_with(&mut control, segments(4));
    assert_eq!(cwnd(&control), 5 * MSS);
    sender.ack_with(&mut control, segments(2));
    assert_eq!(cwnd(&control), 6 * MSS);
}

#[test]
fn reports_without_acknowledged_data_grow_nothing() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config(10)));
    sender.send(&mut control, 10 * MSS);
    let reported = AckSample {
        segments: 1,
        ..sample(0, Echo::Clear)
    };
    sender.ack_with(&mut control, reported);
    assert_eq!(cwnd(&control), 10 * MSS);
}

#[test]
fn a_second_timeout_after_progress_reduces_again() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config(20)));
    sender.send(&mut control, 20 * MSS);
    sender.time_out(&mut control, 0);
    assert_eq!(ssthresh(&control), Some(10 * MSS));
    sender.ack_with(&mut control, segments(5));
    assert_eq!(cwnd(&control), 6 * MSS);
    sender.time_out(&mut control, 0);
    assert_eq!(ssthresh(&control), Some(3 * MSS));
}

#[test]
fn cubic_keeps_717_of_1024_of_the_window() {
    let mut control = Cubic::new(CubicConfig {
        window: config(30),
        ..CubicConfig::new(Bytes::new(MSS))
    });
    let mut sender = Sender::default();
    sender.send(&mut control, 30 * MSS);
    sender.lose(&mut control);
    assert_eq!(cwnd(&control), 21 * MSS);
}

#[test]
fn a_loss_halves_the_window_not_the_flight() {
    let (mut sender, mut control) = (Sender::default(), NewReno::new(config(15)));
    sender.send(&mut control, 4 * MSS);
    sender.lose(&mut control);
    assert_eq!(cwnd(&control), 7 * MSS);
}

#[test]
fn cubic_grows_by_whole_segments() {
    let mut control = Cubic::new(CubicConfig {
        window: config(10),
        ..CubicConfig::new(Bytes::new(MSS))
    });
    let mut sender = Sender::default();
    sender.send(&mut control, 10 * MSS);
    sender.lose(&mut control);
    // 10 x 0.7.
    assert_eq!(cwnd(&control), 7 * MSS);
    for _ in 0..40 {
        sender.now += Span::from_ms(100);
        sender.send(&mut control, 2 * MSS);
        sender.ack_with(&mut control, segments(2));
        assert_eq!(cwnd(&control) % MSS, 0);
    }
    assert!(cwnd(&control) > 7 * MSS);
}
