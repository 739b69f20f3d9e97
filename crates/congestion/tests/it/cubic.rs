//! CUBIC against RFC 9438, number by number.

use incastle_congestion::{
    AckSample, Controller, Cubic, CubicConfig, Echo, LimitedBy, NewRenoConfig, Phase, Reaction,
};
use incastle_units::{Bytes, Span, Time};

use crate::support::{Sender, cwnd, sample, ssthresh};

const MSS: u64 = 1000;

/// A controller with a window of `segments`, all of them outstanding, at a round-trip time.
fn at(segments: u64, rtt: Span) -> (Sender, Cubic) {
    let defaults = CubicConfig::new(Bytes::new(MSS));
    let mut control = Cubic::new(CubicConfig {
        window: NewRenoConfig {
            initial_window: Bytes::new(segments * MSS),
            ..defaults.window
        },
        ..defaults
    });
    let mut sender = Sender {
        smoothed_rtt: Some(rtt),
        ..Sender::default()
    };
    sender.send(&mut control, segments * MSS);
    (sender, control)
}

/// The window in segments, to a thousandth.
fn window(control: &Cubic) -> f64 {
    cwnd(control) as f64 / MSS as f64
}

/// One ACK for one segment at `seconds` from the start.
fn ack_at(sender: &mut Sender, control: &mut Cubic, seconds: f64) -> f64 {
    sender.now = Time::ZERO + Span::from_secs_lossy(seconds);
    sender.send(control, MSS);
    sender.ack(control, MSS, Echo::Clear);
    window(control)
}

#[test]
fn a_reaction_keeps_seven_tenths_of_the_flight() {
    let (mut sender, mut control) = at(100, Span::from_ms(100));
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (70 * MSS, Some(70 * MSS))
    );

    let (mut sender, mut control) = at(100, Span::from_ms(100));
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(
        (cwnd(&control), ssthresh(&control)),
        (70 * MSS, Some(70 * MSS))
    );
    assert_eq!(
        sender.ack(&mut control, MSS, Echo::Congestion),
        Reaction::Ignored
    );
    // A loss of the same window adds nothing.
    assert_eq!(sender.lose(&mut control), Reaction::Ignored);
    assert_eq!(cwnd(&control), 70 * MSS);
}

/// Loses at 100 segments, then takes the first ACK of the stage at t = 0. The cubic starts at 70
/// segments; Reno's estimate, 70 + 0.529412 / 70 = 70.007563, is above it.
fn after_a_loss_at_100() -> (Sender, Cubic) {
    let (mut sender, mut control) = at(100, Span::from_ms(100));
    sender.lose(&mut control);
    sender.send(&mut control, 1000 * MSS);
    let start = ack_at(&mut sender, &mut control, 0.0);
    assert!((start - 70.007).abs() < 2e-3, "{start}");
    (sender, control)
}

#[test]
fn the_cubic_is_concave_then_convex() {
    let (mut sender, mut control) = after_a_loss_at_100();
    // K = cbrt((100 - 70) / 0.4) = cbrt(75) = 4.217163 s. One segment at t = 1 s, RTT 0.1 s:
    // target = W_cubic(1.1) = 100 + 0.4 (1.1 - 4.217163)^3 = 87.884575;
    // 70.007563 + (87.884575 - 70.007563) / 70.007563 = 70.262921.
    let one = ack_at(&mut sender, &mut control, 1.0);
    assert!((one - 70.262).abs() < 2e-3, "{one}");
    // At t = 5.9 s the target, 100 + 0.4 (6.0 - 4.217163)^3 = 102.266703, exceeds W_max:
    // 70.262921 + (102.266703 - 70.262921) / 70.262921 = 70.718407.
    let late = ack_at(&mut sender, &mut control, 5.9);
    assert!((late - 70.718).abs() < 2e-3, "{late}");
}

#[test]
fn one_ack_never_aims_beyond_half_as_much_again() {
    let (mut sender, mut control) = after_a_loss_at_100();
    // At 100 s the cubic is far above: target = 1.5 cwnd, half a segment per segment.
    let late = ack_at(&mut sender, &mut control, 100.0);
    assert!((late - 70.507).abs() < 2e-3, "{late}");
}

#[test]
fn at_short_round_trips_it_follows_reno() {
    // RTT 100 us: in a few milliseconds the cubic has not moved. W_est grows by
    // 3 (1 - 0.7) / (1 + 0.7) = 0.529412 segments per window.
    let (mut sender, mut control) = at(20, Span::from_us(100));
    sender.lose(&mut control);
    assert_eq!(cwnd(&control), 14 * MSS);
    // A first ACK for a whole window of 14 (it covers 20): 14 + 0.529412.
    sender.ack(&mut control, 20 * MSS, Echo::Clear);
    assert!(
        (window(&control) - 14.529).abs() < 2e-3,
        "{}",
        window(&control)
    );
    // 14 single ACKs: each adds 0.529412 / cwnd, about 0.50 in all.
    for _ in 0..14 {
        ack_at(&mut sender, &mut control, 0.0001);
    }
    assert!(
        (window(&control) - 15.030).abs() < 5e-3,
        "{}",
        window(&control)
    );
}

#[test]
fn once_reno_is_back_at_the_old_window_it_grows_by_one() {
    let (mut sender, mut control) = at(20, Span::from_us(100));
    sender.lose(&mut control);
    sender.ack(&mut control, 20 * MSS, Echo::Clear);
    // 6 segments at about 0.53 per window: after 14 windows of 20 ACKs W_est is beyond 20.
    while window(&control) < 20.0 {
        ack_at(&mut sender, &mut control, 0.002);
    }
    let before = window(&control);
    for _ in 0..20 {
        ack_at(&mut sender, &mut control, 0.002);
    }
    // alpha = 1: 20 ACKs at a window just above 20 add just under one segment.
    let grown = window(&control) - before;
    assert!((0.95..1.0).contains(&grown), "{grown}");
}

#[test]
fn fast_convergence_aims_lower_after_a_second_early_loss() {
    let run = |fast_convergence| {
        let (mut sender, _) = at(100, Span::from_ms(100));
        let defaults = CubicConfig::new(Bytes::new(MSS));
        let mut control = Cubic::new(CubicConfig {
            window: NewRenoConfig {
                initial_window: Bytes::new(100 * MSS),
                ..defaults.window
            },
            fast_convergence,
            ..defaults
        });
        // 100 -> 70 (W_max = 100), then 70 -> 49 below it.
        sender.lose(&mut control);
        let partial = AckSample {
            phase: Phase::Recovery,
            ..sample(30 * MSS, Echo::Clear)
        };
        sender.ack_with(&mut control, partial);
        sender.lose(&mut control);
        assert_eq!(cwnd(&control), 49 * MSS);
        // The full ACK does not grow the window; the next one begins the stage at t = 0:
        // 49 + 0.529412 / 49 = 49.010804. Then one at t = 1 s.
        sender.send(&mut control, 1000 * MSS);
        sender.ack(&mut control, 70 * MSS, Echo::Clear);
        ack_at(&mut sender, &mut control, 0.0);
        ack_at(&mut sender, &mut control, 1.0)
    };
    // Without: W_max = 70, K = cbrt(21 / 0.4) = 3.744436; target = 70 + 0.4 (1.1 - 3.744436)^3
    // = 62.602938; 49.010804 + 13.592134 / 49.010804 = 49.288134.
    assert!((run(false) - 49.288).abs() < 2e-3, "{}", run(false));
    // With: W_max = 70 x 0.85 = 59.5, K = cbrt(10.5 / 0.4) = 2.971961; target = 56.876081;
    // 49.010804 + 7.865277 / 49.010804 = 49.171285.
    assert!((run(true) - 49.171).abs() < 2e-3, "{}", run(true));
}

#[test]
fn a_loss_right_at_the_plateau_leaves_it_there() {
    let (mut sender, mut control) = at(100, Span::from_ms(100));
    sender.time_out(&mut control, 0);
    sender.ack(&mut control, 100 * MSS, Echo::Clear);
    while cwnd(&control) < 70 * MSS {
        ack_at(&mut sender, &mut control, 0.0);
    }
    // The stage begins with W_max = 70, and one byte does not make the window longer.
    sender.send(&mut control, 70 * MSS);
    sender.ack(&mut control, 1, Echo::Clear);
    assert_eq!(cwnd(&control), 70 * MSS);
    // Section 4.7: only cwnd < W_max gives way. 48,999 of the 69,999 bytes in flight are left.
    sender.lose(&mut control);
    assert_eq!(cwnd(&control), 48_999);
    sender.send(&mut control, 1000 * MSS);
    ack_at(&mut sender, &mut control, 0.0);
    // As without fast convergence above: W_max = 70, not 59.5.
    let one = ack_at(&mut sender, &mut control, 1.0);
    assert!((one - 49.288).abs() < 2e-3, "{one}");
}

#[test]
fn after_a_timeout_the_plateau_is_where_slow_start_ended() {
    let (mut sender, mut control) = at(10, Span::from_ms(100));
    sender.time_out(&mut control, 0);
    assert_eq!((cwnd(&control), ssthresh(&control)), (MSS, Some(7 * MSS)));
    sender.ack(&mut control, 10 * MSS, Echo::Clear);
    sender.send(&mut control, 1000 * MSS);
    // Slow start from 1 (+ 2 by the ACK above, L = 2 in the open phase) to 7.
    for _ in 0..4 {
        ack_at(&mut sender, &mut control, 0.0);
    }
    assert_eq!(cwnd(&control), 7 * MSS);
    // K = 0, W_max = 7: W_cubic(0.1) = 7 + 0.4 x 0.001 = 7.0004, and Reno's estimate, 7 + 0.529412 / 7
    // = 7.0756, is above W_cubic(0) = 7.
    let first = ack_at(&mut sender, &mut control, 0.0);
    assert!((first - 7.075).abs() < 2e-3, "{first}");
    // At t = 1 s: target = 7 + 0.4 x 1.1^3 = 7.5324; (7.5324 - 7.0756) / 7.0756 = 0.0646.
    let second = ack_at(&mut sender, &mut control, 1.0);
    assert!((second - first - 0.0646).abs() < 2e-3, "{second}");
}

#[test]
fn a_loss_after_a_mark_of_the_same_window_leaves_the_plateau() {
    let (mut sender, mut control) = at(100, Span::from_ms(100));
    sender.ack(&mut control, MSS, Echo::Congestion);
    assert_eq!(sender.lose(&mut control), Reaction::Ignored);
    sender.send(&mut control, 1000 * MSS);
    // W_max = 100 still, not 0.85 x 70: as after a loss alone.
    ack_at(&mut sender, &mut control, 0.0);
    let one = ack_at(&mut sender, &mut control, 1.0);
    assert!((one - 70.262).abs() < 2e-3, "{one}");
}

#[test]
fn time_in_which_the_window_was_not_used_does_not_count() {
    let (mut sender, mut control) = after_a_loss_at_100();
    let start = cwnd(&control);
    // Ten seconds limited by the application, then one ACK at t = 1 s of use: as in the test above.
    sender.now = Time::ZERO + Span::from_secs(10);
    let idle = AckSample {
        limited_by: LimitedBy::Application,
        ..sample(MSS, Echo::Clear)
    };
    sender.ack_with(&mut control, idle);
    assert_eq!(cwnd(&control), start);
    let one = ack_at(&mut sender, &mut control, 11.0);
    assert!((one - 70.262).abs() < 2e-3, "{one}");
}

#[test]
fn idle_time_does_not_count_either() {
    let (mut sender, mut control) = after_a_loss_at_100();
    // Everything is acknowledged; ten seconds later the flow sends again, and one ACK comes one
    // second after that.
    let rest = sender.snd_nxt - sender.snd_una;
    let idle = AckSample {
        limited_by: LimitedBy::Application,
        ..sample(rest, Echo::Clear)
    };
    sender.ack_with(&mut control, idle);
    sender.now = Time::ZERO + Span::from_secs(10);
    sender.send(&mut control, 70 * MSS);
    let one = ack_at(&mut sender, &mut control, 11.0);
    assert!((one - 70.262).abs() < 2e-3, "{one}");
}

#[test]
fn after_a_needless_timeout_the_plateau_is_the_restored_window() {
    let (mut sender, mut control) = at(100, Span::from_ms(100));
    let before = control.state();
    sender.time_out(&mut control, 0);
    assert_eq!(cwnd(&control), MSS);
    control.restore(&before);
    assert_eq!((cwnd(&control), ssthresh(&control)), (100 * MSS, None));
}
