//! Swift against algorithm 1 of its paper, number by number.

use incastle_cases::cases;
use incastle_congestion::{
    AckSample, CongestionEvent, ControlState, Controller, Echo, LimitedBy, Phase, Reaction, Swift,
    SwiftConfig,
};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::support::{Sender, cwnd, sample};

const MSS: u64 = 1000;

fn start(segments: u64) -> (Sender, Swift) {
    let mut control = Swift::new(SwiftConfig {
        initial_window: Bytes::new(segments * MSS),
        hops: 2,
        ..SwiftConfig::new(Bytes::new(MSS))
    });
    let mut sender = Sender {
        smoothed_rtt: Some(Span::from_us(50)),
        now: Time::ZERO + Span::from_us(50),
        ..Sender::default()
    };
    sender.send(&mut control, 1000 * MSS);
    (sender, control)
}

fn ack(sender: &mut Sender, control: &mut Swift, us: u64) {
    let mut sample = sample(MSS, Echo::Clear);
    sample.rtt = Some(Span::from_us(us));
    sender.ack_with(control, sample);
}

#[test]
fn the_target_grows_as_the_window_falls() {
    // alpha = 100 / (1 / sqrt(0.1) - 1 / sqrt(100)) = 100 / 3.062278 = 32.6554 us; offset = -3.26554 us.
    // 100 segments and more: 20 us and two hops of 3 us. 10 segments: 26 + 10.32655 - 3.26554 = 33.0610 us.
    let target = |segments| start(segments).1.target().as_ps();
    assert_eq!(target(100), 26_000_000);
    assert_eq!(target(1000), 26_000_000);
    assert!(target(10).abs_diff(33_061_013) < 1_000, "{}", target(10));
}

#[test]
fn below_the_target_it_grows_by_one_segment_a_window() {
    let (mut sender, mut control) = start(100);
    // 100 + 1 / 100.
    ack(&mut sender, &mut control, 20);
    assert_eq!(cwnd(&control), 100_010);
}

#[test]
fn above_it_the_window_falls_by_the_excess_once_a_round_trip() {
    let (mut sender, mut control) = start(200);
    // 1 - 0.8 (52 - 26) / 52 = 0.6.
    ack(&mut sender, &mut control, 52);
    assert_eq!(cwnd(&control), 120_000);
    ack(&mut sender, &mut control, 52);
    assert_eq!(cwnd(&control), 120_000);
    // At most by half.
    sender.now += Span::from_us(50);
    ack(&mut sender, &mut control, 5_000);
    assert_eq!(cwnd(&control), 60_000);
}

#[test]
fn losses_halve_and_five_timeouts_reset_the_window() {
    let (mut sender, mut control) = start(200);
    assert_eq!(sender.lose(&mut control), Reaction::Reduced);
    assert_eq!(sender.lose(&mut control), Reaction::Ignored);
    assert_eq!(cwnd(&control), 100_000);
    for backoff in 0..5 {
        sender.now += Span::from_us(50);
        sender.time_out(&mut control, backoff);
    }
    // 0.001 segments.
    assert_eq!(cwnd(&control), 1);
}

#[test]
fn below_one_segment_the_rate_is_that_of_the_window() {
    let (mut sender, mut control) = start(1);
    assert_eq!(control.pacing(), None);
    for _ in 0..2 {
        sender.now += Span::from_us(50);
        ack(&mut sender, &mut control, 100_000);
    }
    // 0.25 x 1,000 B x 8 / 50 us = 40 Mbit/s.
    assert_eq!(
        control.pacing(),
        Some(Rate::from_bits_per_second(40_000_000))
    );
    // Growth by a whole segment per segment acknowledged.
    ack(&mut sender, &mut control, 1);
    assert_eq!(cwnd(&control), 1_250);
}

#[test]
fn small_windows_add_all_of_the_range_and_it_can_be_none() {
    let (mut sender, mut control) = start(1);
    // 1 segment: 26 + 32.6554 - 3.26554 = 55.3899 us.
    assert!(control.target().as_ps().abs_diff(55_389_900) < 1_000);
    for _ in 0..4 {
        sender.now += Span::from_us(50);
        ack(&mut sender, &mut control, 100_000);
    }
    // 1/16 of a segment is less than 0.1: 26 + 100 us.
    assert_eq!(control.target(), Span::from_us(126));
    let fixed = SwiftConfig {
        fs_range: Span::ZERO,
        ..SwiftConfig::new(Bytes::new(MSS))
    };
    assert_eq!(Swift::new(fixed).target(), Span::from_us(20));
}

#[test]
fn in_recovery_and_without_data_to_send_it_does_not_grow_but_falls() {
    let (mut sender, mut control) = start(200);
    let mut limited = sample(MSS, Echo::Clear);
    limited.rtt = Some(Span::from_us(10));
    for (limited_by, phase) in [
        (LimitedBy::Application, Phase::Open),
        (LimitedBy::Window, Phase::Recovery),
    ] {
        sender.ack_with(
            &mut control,
            AckSample {
                limited_by,
                phase,
                ..limited
            },
        );
        assert_eq!(cwnd(&control), 200_000);
    }
    let above = AckSample {
        rtt: Some(Span::from_us(52)),
        limited_by: LimitedBy::Application,
        phase: Phase::Recovery,
        ..limited
    };
    sender.ack_with(&mut control, above);
    assert_eq!(cwnd(&control), 120_000);
}

#[test]
fn an_ack_between_timeouts_begins_their_count_anew() {
    let (mut sender, mut control) = start(200);
    for round in 0..10 {
        sender.now += Span::from_us(50);
        sender.time_out(&mut control, 0);
        if round % 4 == 3 {
            // Without a sample.
            sender.ack(&mut control, MSS, Echo::Clear);
        }
    }
    // 200 / 2^10.
    assert_eq!(cwnd(&control), 195);
}

#[test]
fn a_needless_reaction_is_undone() {
    let (mut sender, mut control) = start(200);
    let before = control.state();
    sender.lose(&mut control);
    assert_eq!(cwnd(&control), 100_000);
    control.restore(&before);
    assert_eq!(cwnd(&control), 200_000);
    // A window that has grown since stays.
    control.restore(&ControlState::default());
    assert_eq!(cwnd(&control), 200_000);
}

#[test]
fn marks_and_idleness_change_nothing() {
    let (mut sender, mut control) = start(200);
    for event in [
        CongestionEvent::Ecn,
        CongestionEvent::IdleRestart,
        CongestionEvent::Over,
    ] {
        let reaction = control.on_congestion(&mut sender.cx(), event);
        assert_eq!((reaction, cwnd(&control)), (Reaction::Ignored, 200_000));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    /// The window stays within its limits, falls at most once per round trip and then by at most max_mdf, and
    /// the pacing rate exists below one segment alone.
    #[test]
    fn any_acks_losses_and_timeouts_keep_the_invariants(
        steps in prop::collection::vec((0_u8..8, 0_u64..300), 1..300),
    ) {
        let (mut sender, mut control) = start(20);
        let mut last: Option<Time> = None;
        for (kind, number) in steps {
            let before = cwnd(&control) as f64;
            match kind {
                0..=4 => ack(&mut sender, &mut control, number),
                5 => sender.now += Span::from_us(number),
                6 => { sender.lose(&mut control); }
                _ => { sender.time_out(&mut control, 0); }
            }
            sender.send(&mut control, MSS);
            let after = cwnd(&control) as f64;
            prop_assert!((1.0..=1e9).contains(&after));
            if after < before - 1.0 && after > 1.0 {
                prop_assert!(last.is_none_or(|at| sender.now - at >= Span::from_us(50)));
                prop_assert!(after >= 0.5 * before - 1.0);
                last = Some(sender.now);
            }
            prop_assert_eq!(control.pacing().is_some(), after < 1_000.0);
        }
    }
}
