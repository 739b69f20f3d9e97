//! DualPI2 against RFC 9332, appendix A, number by number.

use incastle_queueing::{
    Dequeued, DropCause, DualHeads, DualLane, DualPi2, DualPi2Config, DualPi2Error, Verdict,
};
use incastle_units::{Bytes, Ecn, Packets, Span, Time};

const DROP: Verdict = Verdict::Drop(DropCause::Early);

fn ms(at: u64) -> Time {
    Time::ZERO + Span::from_ms(at)
}

/// Only classic packets wait, the first of them since `at`.
fn classic(at: Time) -> DualHeads {
    DualHeads {
        classic: Some(at),
        l4s: None,
    }
}

fn packet(lane: DualLane, ecn: Ecn, waited: Span) -> Dequeued {
    Dequeued {
        lane,
        ecn,
        waited,
        behind: Packets::new(10),
    }
}

/// A controller whose base probability is at least `p` after updates with a growing queue.
fn at_probability(p: f64) -> DualPi2 {
    let mut control = DualPi2::new(DualPi2Config::default());
    let mut period = 0;
    while control.base_probability() < p {
        period += 1;
        control.advance(ms(15 * period), classic(Time::ZERO));
    }
    control
}

#[test]
fn the_base_probability_follows_the_error_and_the_change_of_the_delay() {
    // Tupdate = min(15 ms, 100 ms / 3) = 15 ms; alpha = 0.1 x 0.015 / 0.1^2 = 0.15 / s; beta = 0.3 / 0.1 = 3 / s.
    let mut control = DualPi2::new(DualPi2Config::default());
    let near = |control: &DualPi2, p: f64| (control.base_probability() - p).abs() < 1e-12;
    control.advance(ms(14), classic(Time::ZERO));
    assert!(near(&control, 0.0));
    // At 15 ms the packet has waited for 15 ms: 0.15 x 0 + 3 x 0.015.
    control.advance(ms(15), classic(Time::ZERO));
    assert!(near(&control, 0.045));
    // At 30 ms: 30 ms, 0.045 + 0.15 x 0.015 + 3 x 0.015 = 0.09225.
    control.advance(ms(30), classic(Time::ZERO));
    assert!(near(&control, 0.092_25));
    // At 45 ms 5 ms: 0.09225 - 0.15 x 0.010 - 3 x 0.025 = 0.01575; at 60 ms nothing waits: less than 0.
    control.advance(ms(45), classic(ms(40)));
    assert!(near(&control, 0.015_75));
    control.advance(ms(60), DualHeads::default());
    assert!(near(&control, 0.0));
}

#[test]
fn the_longer_delay_of_both_queues_counts_and_updates_are_not_missed() {
    let heads = DualHeads {
        classic: Some(ms(10)),
        l4s: Some(Time::ZERO),
    };
    let mut at_once = DualPi2::new(DualPi2Config::default());
    at_once.advance(ms(100), heads);
    let mut stepwise = DualPi2::new(DualPi2Config::default());
    for at in 1..=100 {
        stepwise.advance(ms(at), heads);
    }
    let alone = DualHeads {
        classic: None,
        l4s: Some(Time::ZERO),
    };
    let mut l4s = DualPi2::new(DualPi2Config::default());
    l4s.advance(ms(100), alone);
    for other in [stepwise, l4s] {
        assert_eq!(
            at_once.base_probability().to_bits(),
            other.base_probability().to_bits()
        );
    }
    // A day of rest takes no time, and the updates keep their rhythm.
    let mut rested = DualPi2::new(DualPi2Config::default());
    rested.advance(ms(86_400_000), DualHeads::default());
    rested.advance(ms(86_400_014), classic(ms(86_400_000)));
    assert!(rested.base_probability() < f64::MIN_POSITIVE);
    rested.advance(ms(86_400_015), classic(ms(86_400_000)));
    assert!((rested.base_probability() - 0.045).abs() < 1e-12);
}

#[test]
fn classic_packets_are_marked_or_dropped_with_the_square_and_l4s_marked_with_twice_the_base() {
    let mut control = at_probability(0.1);
    let p = control.base_probability();
    let mut share = |lane, ecn, wanted| {
        let verdicts = (0..100_000).map(|_| control.judge(&packet(lane, ecn, Span::ZERO)));
        verdicts.filter(|verdict| *verdict == wanted).count() as f64 / 100_000.0
    };
    let near = |share: f64, wanted: f64| (share - wanted).abs() < 2e-5;
    assert!(near(share(DualLane::Classic, Ecn::NotEct, DROP), p * p));
    assert!(near(
        share(DualLane::Classic, Ecn::Ect0, Verdict::Mark),
        p * p
    ));
    assert!(near(
        share(DualLane::L4s, Ecn::Ect1, Verdict::Mark),
        2.0 * p
    ));
}

#[test]
fn an_l4s_packet_is_marked_for_its_own_delay_on_the_ramp() {
    let share_with = |config: DualPi2Config, waited: Span, behind: u64| {
        let mut control = DualPi2::new(config);
        let dequeued = Dequeued {
            behind: Packets::new(behind),
            ..packet(DualLane::L4s, Ecn::Ect1, waited)
        };
        let marks = (0..1_000).filter(|_| control.judge(&dequeued) == Verdict::Mark);
        marks.count()
    };
    let share = |waited, behind| share_with(DualPi2Config::default(), waited, behind);
    // 800 us and 400 us of ramp. The first of each thousand only fills the count.
    assert_eq!(share(Span::from_us(800), 10), 0);
    assert_eq!(share(Span::from_us(900), 10), 249);
    assert_eq!(share(Span::from_us(1_000), 10), 499);
    assert_eq!(share(Span::from_us(1_200), 10), 999);
    assert_eq!(share(Span::from_ms(50), 10), 999);
    // Not with one packet behind it.
    assert_eq!(share(Span::from_ms(50), 1), 0);
    assert_eq!(share(Span::from_ms(50), 2), 999);
    // Without a ramp, figure 5 marks from the threshold on.
    let step = DualPi2Config {
        range: Span::ZERO,
        ..DualPi2Config::default()
    };
    assert_eq!(share_with(step, Span::from_us(799), 10), 0);
    assert_eq!(share_with(step, Span::from_us(800), 10), 999);
}

#[test]
fn overload_drops_what_it_would_mark() {
    // p_C >= 1 / 2^2 = 25 %: ECN is off in the classic queue, and p_CL >= 1 drops L4S packets likewise.
    let mut control = at_probability(0.5);
    let classic: Vec<Verdict> = (0..100)
        .map(|_| control.judge(&packet(DualLane::Classic, Ecn::Ect0, Span::ZERO)))
        .collect();
    assert!(!classic.contains(&Verdict::Mark));
    assert!(classic.iter().filter(|verdict| **verdict == DROP).count() >= 24);
    let l4s: Vec<Verdict> = (0..100)
        .map(|_| control.judge(&packet(DualLane::L4s, Ecn::Ect1, Span::ZERO)))
        .collect();
    let drops = l4s.iter().filter(|verdict| **verdict == DROP).count();
    let marks = l4s
        .iter()
        .filter(|verdict| **verdict == Verdict::Mark)
        .count();
    assert!(
        (20..60).contains(&drops) && drops + marks >= 99,
        "{drops} {marks}"
    );
}

#[test]
fn both_queues_share_the_line_by_their_weights() {
    let mut control = DualPi2::new(DualPi2Config::default());
    let heads = DualHeads {
        classic: Some(Time::ZERO),
        l4s: Some(Time::ZERO),
    };
    let mut sent = [0_u64; 2];
    for _ in 0..16_000 {
        let lane = control.select(heads).expect("both wait");
        // Classic packets are twice as long.
        let size = if lane == DualLane::L4s { 750 } else { 1_500 };
        sent[usize::from(lane == DualLane::L4s)] += size;
        control.charge(lane, Bytes::new(size), true);
    }
    let share = sent[0] as f64 / (sent[0] + sent[1]) as f64;
    assert!((share - 1.0 / 16.0).abs() < 1e-3, "{share}");
    assert_eq!(control.select(DualHeads::default()), None);
    let alone = classic(Time::ZERO);
    assert_eq!(control.select(alone), Some(DualLane::Classic));
    // Alone it earns and owes nothing.
    control.charge(DualLane::Classic, Bytes::new(1_500), false);
    assert_eq!(control.select(heads), Some(DualLane::L4s));
}

#[test]
fn packets_are_classified_by_the_second_bit_of_ecn() {
    for (ecn, lane) in [
        (Ecn::NotEct, DualLane::Classic),
        (Ecn::Ect0, DualLane::Classic),
        (Ecn::Ect1, DualLane::L4s),
        (Ecn::Ce, DualLane::L4s),
    ] {
        assert_eq!(DualLane::of(ecn), lane);
    }
}

#[test]
fn parameters_out_of_range_are_errors() {
    let base = DualPi2Config::default();
    assert_eq!(base.check(), Ok(()));
    for config in [
        DualPi2Config {
            target: Span::ZERO,
            ..base
        },
        DualPi2Config {
            rtt_max: Span::ZERO,
            ..base
        },
    ] {
        assert_eq!(config.check(), Err(DualPi2Error::NoTime));
    }
    for coupling in [0.5, f64::INFINITY] {
        let config = DualPi2Config { coupling, ..base };
        assert_eq!(config.check(), Err(DualPi2Error::Coupling(coupling)));
    }
    for classic_share in [0.0, 1.0, 1.5] {
        let config = DualPi2Config {
            classic_share,
            ..base
        };
        assert_eq!(config.check(), Err(DualPi2Error::Share(classic_share)));
    }
}
