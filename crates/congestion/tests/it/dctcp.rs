//! DCTCP's sender against RFC 8257, number by number.

#![allow(
    clippy::float_cmp,
    reason = "alpha is exact to the bit: dyadic numbers, or untouched"
)]

use incastle_congestion::{Controller, Dctcp, DctcpConfig, Echo, NewRenoConfig, Reaction};
use incastle_units::Bytes;

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

fn config() -> DctcpConfig {
    DctcpConfig::new(Bytes::new(MSS))
}

fn starting_at(initial_alpha: f64) -> (Sender, Dctcp) {
    let control = Dctcp::new(DctcpConfig {
        initial_alpha,
        ..config()
    });
    (Sender::default(), control)
}

fn alpha(control: &Dctcp) -> f64 {
    control.state().alpha.expect("DCTCP has an alpha")
}

#[test]
fn the_defaults_are_those_of_rfc_8257() {
    let defaults = config();
    assert_eq!((defaults.g, defaults.initial_alpha), (0.0625, 1.0));
    assert_eq!(defaults.window.min_cwnd, Bytes::new(2 * MSS));
    assert!(!defaults.window.grow_on_ece);
}

#[test]
fn a_window_in_which_nothing_was_acknowledged_has_no_fraction() {
    let (mut sender, mut control) = starting_at(0.5);
    // Beyond the first window's end, 0, with nothing acknowledged: 0 / 0 has no value.
    sender.snd_una = 1;
    control.on_ack(&mut sender.cx(), &sample(0, Echo::Clear));
    assert_eq!(alpha(&control), 0.5);
}

#[test]
fn probes_see_the_window() {
    let (mut sender, mut control) = starting_at(1.0);
    sender.send(&mut control, 10 * MSS);
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(control.state().cwnd, Some(Bytes::new(cwnd(&control))));
}

#[test]
fn alpha_follows_the_marked_fraction_of_bytes_once_per_window() {
    let (mut sender, mut control) = starting_at(1.0);
    sender.send(&mut control, 10 * MSS);
    // The first ACK passes the first window's end, 0 (SND.UNA at the start): F = 0 / 1,
    // alpha = 15/16 x 1. The next window ends at 10 segments, SND.NXT.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(alpha(&control), 0.9375);
    // Segments 2 to 10 do not pass its end; SND.UNA = window_end is not beyond it.
    sender.send(&mut control, 10 * MSS);
    for marked in [false, false, true, true, true, false, false, false, false] {
        let echo = if marked {
            Echo::Congestion
        } else {
            Echo::Clear
        };
        sender.ack(&mut control, MSS, echo);
        assert_eq!(alpha(&control), 0.9375);
    }
    // The 11th does: 3 of 10 segments were acknowledged with ECE.
    // 15/16 x 0.9375 + 0.3 / 16 = 0.87890625 + 0.01875 = 0.89765625.
    sender.ack(&mut control, MSS, Echo::Clear);
    assert!((alpha(&control) - 0.897_656_25).abs() < 1e-15);
}

#[test]
fn the_fraction_counts_bytes_not_acks() {
    let (mut sender, mut control) = starting_at(0.0);
    sender.send(&mut control, 4 * MSS);
    sender.ack(&mut control, MSS, Echo::Clear);
    // One ACK of three segments with ECE, one ACK of one segment without, which ends the window:
    // F = 3 / 4; alpha = 0 + 0.75 / 16 = 0.046875.
    sender.send(&mut control, MSS);
    sender.ack(&mut control, 3 * MSS, Echo::Congestion);
    sender.ack(&mut control, MSS, Echo::Clear);
    assert_eq!(alpha(&control), 0.046_875);
}

#[test]
fn a_mark_cuts_by_half_of_alpha_once_per_window() {
    let (mut sender, mut control) = starting_at(0.5);
    sender.send(&mut control, 10 * MSS);
    // The first ACK ends the first window with F = 1: alpha = 15/16 x 0.5 + 1/16 = 0.53125. Then
    // the reaction: 10,000 (1 - 0.265625) = 7343.75, and ssthresh the same.
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(alpha(&control), 0.531_25);
    assert_eq!((cwnd(&control), ssthresh(&control)), (7343, Some(7343)));
    for _ in 0..9 {
        assert_eq!(
            sender.ack(&mut control, MSS, Echo::Congestion),
            Reaction::Ignored
        );
    }
    assert_eq!(cwnd(&control), 7343);
}

#[test]
fn alpha_zero_keeps_the_window_but_leaves_slow_start() {
    // The ns-2 patch starts with alpha = 0: with g = 1/16 the first reaction takes 1/32 at F = 1.
    let (mut sender, mut control) = starting_at(0.0);
    sender.send(&mut control, 10 * MSS);
    sender.ack(&mut control, MSS, Echo::Congestion);
    // alpha = 1/16; 10,000 (1 - 1/32) = 9687.5.
    assert_eq!((cwnd(&control), ssthresh(&control)), (9687, Some(9687)));
}

#[test]
fn growth_is_new_renos() {
    let (mut sender, mut control) = starting_at(1.0);
    sender.send(&mut control, 10 * MSS);
    for _ in 0..10 {
        sender.ack(&mut control, MSS, Echo::Clear);
    }
    assert_eq!(cwnd(&control), 20 * MSS);
}

#[test]
fn a_loss_halves_whatever_alpha_is_and_leaves_alpha_alone() {
    let (mut sender, mut control) = starting_at(0.1);
    sender.send(&mut control, 10 * MSS);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (5 * MSS, Some(5 * MSS))
    );
    assert_eq!(alpha(&control), 0.1);
    sender.time_out(&mut control, 0);
    assert_eq!((cwnd(&control), alpha(&control)), (MSS, 0.1));
}

#[test]
fn a_loss_in_a_window_that_was_cut_on_a_mark_completes_the_halving() {
    let (mut sender, mut control) = starting_at(0.0);
    sender.send(&mut control, 10 * MSS);
    sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!(cwnd(&control), 9687);
    // One reaction in all, that to the loss: half of the ten segments before the cut, not of 9687.
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (5 * MSS, Some(5 * MSS))
    );
    // After it, marks of the same window add nothing.
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Ignored
    );
    assert_eq!(cwnd(&control), 5 * MSS);
}

#[test]
fn the_window_falls_to_its_floor_and_no_further() {
    let run = |floor: u64| {
        let mut control = Dctcp::new(DctcpConfig {
            window: NewRenoConfig {
                min_cwnd: Bytes::new(floor * MSS),
                ..config().window
            },
            ..config()
        });
        let mut sender = Sender::default();
        // alpha = 1, every segment marked: every window is halved.
        for _ in 0..20 {
            sender.send(&mut control, MSS);
            sender.ack(&mut control, MSS, Echo::Congestion);
        }
        (cwnd(&control), ssthresh(&control))
    };
    assert_eq!(run(2), (2 * MSS, Some(2 * MSS)));
    // ns-2's floor; ssthresh keeps RFC 5681's two segments.
    assert_eq!(run(1), (MSS, Some(2 * MSS)));
}

#[test]
fn a_mark_does_not_raise_the_window_of_a_timeout_to_the_floor() {
    let (mut sender, mut control) = starting_at(1.0);
    sender.send(&mut control, 10 * MSS);
    sender.time_out(&mut control, 0);
    // The window of the timeout is over only when an ACK passes SND.NXT.
    sender.ack(&mut control, 10 * MSS, Echo::Congestion);
    sender.send(&mut control, MSS);
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(cwnd(&control), MSS);
}
