//! RED: the formulas, the spacing of marks, idle time, and the average's path.

use std::fmt::Write;

use incastle_cases::assert_snapshot;
use incastle_queueing::{
    Arrival, Discipline, DropCause, QueueState, Red, RedAction, RedConfig, RedError, Verdict,
};
use incastle_units::{Amount, Bytes, Ecn, Packets, Rate, Span, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

/// 1500 B take 12 us.
const RATE: Rate = Rate::from_bits_per_second(1_000_000_000);

const fn packets(count: u64) -> Amount {
    Amount::Packets(Packets::new(count))
}

fn queue(waiting: u64) -> QueueState {
    QueueState {
        now: Time::ZERO,
        waiting_packets: Packets::new(waiting),
        waiting_bytes: Bytes::new(waiting * 1_500),
        idle_since: None,
    }
}

fn full_size(ecn: Ecn) -> Arrival {
    Arrival {
        size: Bytes::new(1_500),
        ecn,
    }
}

fn source(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn close(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 1e-12
}

/// RED whose average is the queue itself, so that a test can put it where it likes.
fn without_memory(config: RedConfig) -> Red {
    let config = RedConfig { w_q: 1.0, ..config };
    Red::new(&config, RATE)
}

#[test]
fn the_average_is_exponentially_weighted() {
    let config = RedConfig {
        w_q: 0.25,
        ..RedConfig::default()
    };
    let mut red = Red::new(&config, RATE);
    let mut rng = source(1);
    // 0 -> 0.25 x 4 = 1 -> 0.75 x 1 + 0.25 x 8 = 2.75 -> 0.75 x 2.75 + 0 = 2.0625
    for (waiting, average) in [(4, 1.0), (8, 2.75), (0, 2.0625)] {
        red.on_arrival(&queue(waiting), &full_size(Ecn::Ect0), &mut rng);
        assert!(close(red.average(), average), "{}", red.average());
    }
    // A packet that the buffer refuses is an arrival like any other: 0.75 x 2.0625 + 0.25 x 16.
    red.on_refused(&queue(16), &full_size(Ecn::Ect0));
    assert!(close(red.average(), 5.546_875), "{}", red.average());
}

#[test]
fn idle_time_counts_as_the_packets_it_could_have_sent() {
    let config = RedConfig {
        w_q: 0.25,
        ..RedConfig::default()
    };
    let mut red = Red::new(&config, RATE);
    let mut rng = source(1);
    red.on_arrival(&queue(4), &full_size(Ecn::Ect0), &mut rng);
    assert!(close(red.average(), 1.0));
    // Idle for 24 us = 2 packets of 1500 B at 1 Gbit/s: 0.75^2 x 1, then the sample 0: x 0.75.
    let idle = QueueState {
        now: Time::ZERO + Span::from_us(30),
        idle_since: Some(Time::ZERO + Span::from_us(6)),
        ..queue(0)
    };
    red.on_arrival(&idle, &full_size(Ecn::Ect0), &mut rng);
    assert!(close(red.average(), 0.421_875), "{}", red.average());
}

#[test]
fn marking_begins_at_min_and_is_certain_from_max() {
    let mut red = without_memory(RedConfig::default());
    let mut rng = source(1);
    let mut marks = |waiting, rng: &mut Xoshiro256PlusPlus| {
        let mut verdict = || red.on_arrival(&queue(waiting), &full_size(Ecn::Ect0), rng);
        (0..1_000).filter(|_| verdict() == Verdict::Mark).count()
    };
    assert_eq!(marks(4, &mut rng), 0);
    // At min itself p_b is zero.
    assert_eq!(marks(5, &mut rng), 0);
    assert!((1..1_000).contains(&marks(14, &mut rng)));
    assert_eq!(marks(15, &mut rng), 1_000);
}

/// Half-way between min = 5 and max = 15 with max_p = 1/8, p_b is 1/16.
const SIXTEENTH: RedConfig = RedConfig {
    min_th: packets(5),
    max_th: packets(15),
    max_p: 0.125,
    w_q: 1.0,
    gentle: false,
    action: RedAction::Mark,
    mean_packet_size: Bytes::new(1_500),
};

#[test]
fn gaps_between_marks_are_uniform() {
    // The n-th packet after a mark has count n: p_a = (1/16) / (1 - n/16) = 1 / (16 - n). The gap is
    // therefore 1, 2, ..., 15 with probability 1/15 each, by figure 2.
    let mut red = without_memory(SIXTEENTH);
    let mut rng = source(7);
    let (mut gaps, mut gap) = ([0_i32; 16], 0);
    while gaps.iter().sum::<i32>() < 15_000 {
        gap += 1;
        if red.on_arrival(&queue(10), &full_size(Ecn::Ect0), &mut rng) == Verdict::Mark {
            gaps[gap] += 1;
            gap = 0;
        }
    }
    // Five standard deviations: 5 sqrt(15000 x 1/15 x 14/15) = 153.
    let uniform = gaps[1..].iter().all(|count| (count - 1_000).abs() < 153);
    assert!(gaps[0] == 0 && uniform, "{gaps:?}");
}

#[test]
fn below_min_the_count_starts_anew() {
    // A packet at count 0 is marked with probability 1/16, one at count 15 for certain.
    let mut red = without_memory(SIXTEENTH);
    let mut rng = source(7);
    let mut marked = 0;
    for _ in 0..16_000 {
        red.on_arrival(&queue(0), &full_size(Ecn::Ect0), &mut rng);
        if red.on_arrival(&queue(10), &full_size(Ecn::Ect0), &mut rng) == Verdict::Mark {
            marked += 1;
        }
    }
    // Five standard deviations: 5 sqrt(16000 x 1/16 x 15/16) = 153.
    assert!((847..1_153).contains(&marked), "{marked}");
}

#[test]
fn what_cannot_be_marked_is_dropped() {
    let early = Verdict::Drop(DropCause::Early);
    for (action, ecn, verdict) in [
        (RedAction::Mark, Ecn::Ect0, Verdict::Mark),
        (RedAction::Mark, Ecn::Ce, Verdict::Mark),
        (RedAction::Mark, Ecn::NotEct, early),
        (RedAction::MarkBelowMax, Ecn::Ect0, early),
        (RedAction::Drop, Ecn::Ect0, early),
    ] {
        let mut red = without_memory(RedConfig {
            action,
            ..RedConfig::default()
        });
        assert_eq!(
            red.on_arrival(&queue(15), &full_size(ecn), &mut source(1)),
            verdict
        );
    }
}

#[test]
fn below_max_a_chosen_packet_is_marked_where_at_max_it_is_dropped() {
    // At 14, p_b = 0.9 x max_p with max_p = 1: the second packet at the latest is chosen.
    let mut red = without_memory(RedConfig {
        action: RedAction::MarkBelowMax,
        max_p: 1.0,
        ..RedConfig::default()
    });
    let mut rng = source(1);
    let mut verdict = |waiting| red.on_arrival(&queue(waiting), &full_size(Ecn::Ect0), &mut rng);
    let below = [verdict(14), verdict(14)];
    assert!(below.contains(&Verdict::Mark), "{below:?}");
    assert!(!below.contains(&Verdict::Drop(DropCause::Early)));
    assert_eq!(verdict(15), Verdict::Drop(DropCause::Early));
}

/// The number of marks in 10^5 packets of `size` at this queue.
fn share_marked(config: RedConfig, waiting: u64, size: u64) -> f64 {
    let mut red = without_memory(config);
    let mut rng = source(3);
    let packet = Arrival {
        size: Bytes::new(size),
        ecn: Ecn::Ect0,
    };
    let mut verdict = || red.on_arrival(&queue(waiting), &packet, &mut rng);
    let marks = (0..100_000).filter(|_| verdict() == Verdict::Mark).count();
    marks as f64 / 1e5
}

#[test]
fn small_packets_are_marked_less_in_byte_mode_only() {
    // Gaps uniform on 1..=15: one mark in 8. At half the size p_b = 1/32, gaps on 1..=31: one in 16.
    let in_bytes = RedConfig {
        min_th: Amount::Bytes(Bytes::new(7_500)),
        max_th: Amount::Bytes(Bytes::new(22_500)),
        ..SIXTEENTH
    };
    for (config, size, share) in [
        (SIXTEENTH, 1_500, 0.125),
        (SIXTEENTH, 750, 0.125),
        (in_bytes, 1_500, 0.125),
        (in_bytes, 750, 0.0625),
    ] {
        // Five standard errors of the count of marks in 10^5 packets are below 0.0035.
        let measured = share_marked(config, 10, size);
        assert!((measured - share).abs() < 0.0035, "{measured} for {share}");
    }
}

#[test]
fn gentle_rises_to_certainty_at_twice_max() {
    let gentle = RedConfig {
        max_th: packets(16),
        gentle: true,
        ..SIXTEENTH
    };
    // At 18: p_b = 1/8 + 7/8 x 2/16 = 0.234375. Gaps of 1, 2 and 3 have probability p_b / (1 - p_b) =
    // 0.306 each, 4 has the remaining 0.082. The mean is 6 x 0.306 + 4 x 0.082 = 2.163.
    let measured = share_marked(gentle, 18, 1_500);
    assert!((measured - 1.0 / 2.163).abs() < 0.0035, "{measured}");
    let abrupt = RedConfig {
        gentle: false,
        ..gentle
    };
    for (config, waiting) in [(abrupt, 16), (abrupt, 18), (gentle, 32), (gentle, 40)] {
        assert!(close(share_marked(config, waiting, 1_500), 1.0));
    }
}

#[test]
fn senseless_parameters_are_refused() {
    let standard = RedConfig::default();
    assert_eq!(standard.check(), Ok(()));
    let bytes = |count| Amount::Bytes(Bytes::new(count));
    #[rustfmt::skip]
    let cases = [
        (RedConfig { min_th: bytes(5), ..standard }, RedError::MixedUnits),
        (RedConfig { min_th: packets(16), ..standard }, RedError::MinAboveMax),
        (RedConfig { min_th: packets(0), max_th: packets(0), ..standard }, RedError::MaxIsZero),
        (RedConfig { max_p: 0.0, ..standard }, RedError::MaxP(0.0)),
        (RedConfig { max_p: 1.5, ..standard }, RedError::MaxP(1.5)),
        (RedConfig { w_q: 0.0, ..standard }, RedError::Weight(0.0)),
        (RedConfig { w_q: -1.0, ..standard }, RedError::Weight(-1.0)),
        (RedConfig { mean_packet_size: Bytes::ZERO, ..standard }, RedError::MeanPacketIsZero),
    ];
    for (config, error) in cases {
        assert_eq!(config.check(), Err(error));
    }
    let text = RedError::Weight(1.5).to_string();
    assert_eq!(text, "RED's `w_q` must be above 0 and at most 1, not 1.5");
    let nan = RedConfig {
        max_p: f64::NAN,
        ..standard
    };
    assert!(matches!(nan.check(), Err(RedError::MaxP(_))));
}

#[test]
#[should_panic(expected = "RED's parameters were checked")]
fn unchecked_parameters_are_a_defect() {
    let config = RedConfig {
        w_q: 2.0,
        ..RedConfig::default()
    };
    let _ = Red::new(&config, RATE);
}

/// A queue that rises to 40 packets and falls again three times, arrivals 12 us apart, with 6 ms of
/// silence between. The average lags behind, and decays in the silence. As comma-separated values
/// that a plotting program reads.
fn average_over_three_bursts() -> String {
    let mut red = Red::new(&RedConfig::default(), RATE);
    let mut rng = source(1);
    let mut lines = String::from("time_s,queue_packets,average_packets\n");
    let mut now = Time::ZERO;
    let mut idle_since = Some(Time::ZERO);
    for _ in 0..3 {
        for arrival in 0..=2_000_u64 {
            let waiting = arrival.min(2_000 - arrival) / 25;
            let state = QueueState {
                now,
                idle_since: idle_since.take(),
                ..queue(waiting)
            };
            red.on_arrival(&state, &full_size(Ecn::Ect0), &mut rng);
            if arrival % 100 == 0 {
                let average = red.average();
                let time = now.as_secs_lossy();
                writeln!(lines, "{time:.6},{waiting},{average:.9}").expect("text grows");
            }
            now += Span::from_us(12);
        }
        idle_since = Some(now);
        now += Span::from_ms(6);
    }
    lines
}

#[test]
fn the_average_takes_its_recorded_path() {
    let path = average_over_three_bursts();
    assert_snapshot(&path, include_str!("../data/red-average.csv"));
}

#[test]
fn the_average_follows_a_step_as_a_power() {
    // avg after n samples of q = (1 - (1 - w)^n) q: at w = 0.002 and n = 1000 that is
    // 0.86494 q (0.998^1000 = 0.135065).
    let mut red = Red::new(&RedConfig::default(), RATE);
    for _ in 0..1_000 {
        red.on_arrival(&queue(40), &full_size(Ecn::Ect0), &mut source(1));
    }
    assert!(
        (red.average() - 40.0 * (1.0 - 0.135_065)).abs() < 1e-4,
        "{}",
        red.average()
    );
}

fn actions() -> impl Strategy<Value = RedAction> {
    prop::sample::select(vec![
        RedAction::Mark,
        RedAction::MarkBelowMax,
        RedAction::Drop,
    ])
}

prop_compose! {
    fn configs()(
        min in 0_u64..40, width in 0_u64..40, max_p in 0.001..=1.0, w_q in 0.0001..=1.0,
        gentle: bool, action in actions(), in_bytes: bool, mean_packet_size in 1_u64..9_000,
    ) -> RedConfig {
        let amount = |count: u64| {
            if in_bytes { Amount::Bytes(Bytes::new(count * 1_500)) } else { packets(count) }
        };
        RedConfig {
            min_th: amount(min),
            max_th: amount((min + width).max(1)),
            max_p, w_q, gentle, action,
            mean_packet_size: Bytes::new(mean_packet_size),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Arrival { waiting: u64, size: u64, ecn: Ecn },
    Refused { waiting: u64 },
    Silence { ps: u64 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ce]);
    let arrival = (0_u64..100, 40_u64..9_000, ecn);
    let step = prop_oneof![
        8 => arrival.prop_map(|(waiting, size, ecn)| Step::Arrival { waiting, size, ecn }),
        1 => (0_u64..100).prop_map(|waiting| Step::Refused { waiting }),
        1 => (0_u64..1_000_000_000_000).prop_map(|ps| Step::Silence { ps }),
    ];
    prop::collection::vec(step, 1..300)
}

fn threshold_of(amount: Amount) -> f64 {
    match amount {
        Amount::Packets(packets) => packets.count() as f64,
        Amount::Bytes(bytes) => bytes.count() as f64,
    }
}

/// The invariants of every verdict, at the average that led to it.
fn check_verdict(
    config: &RedConfig,
    average: f64,
    ecn: Ecn,
    verdict: Verdict,
) -> Result<(), TestCaseError> {
    let marks = match config.action {
        RedAction::Mark => true,
        RedAction::MarkBelowMax => average < threshold_of(config.max_th),
        RedAction::Drop => false,
    };
    let may_mark = marks && ecn.is_capable();
    match verdict {
        Verdict::Mark => prop_assert!(may_mark),
        Verdict::Drop(cause) => prop_assert!(!may_mark && cause == DropCause::Early),
        Verdict::Admit => {}
    }
    let certain = threshold_of(config.max_th) * if config.gentle { 2.0 } else { 1.0 };
    if average < threshold_of(config.min_th) {
        prop_assert_eq!(verdict, Verdict::Admit);
    } else if average >= certain {
        prop_assert_ne!(verdict, Verdict::Admit);
    }
    Ok(())
}

proptest! {
    #[test]
    fn invariants_hold_over_any_sequence(config in configs(), steps in steps(), seed: u64) {
        let mut red = Red::new(&config, RATE);
        let mut rng = source(seed);
        let (mut now, mut idle_since, mut longest) = (Time::ZERO, Some(Time::ZERO), 0_u64);
        for step in steps {
            let before = red.average();
            let (waiting, packet) = match step {
                Step::Silence { ps } => {
                    idle_since = idle_since.or(Some(now));
                    now += Span::from_ps(ps);
                    continue;
                }
                Step::Refused { waiting } => (waiting, None),
                Step::Arrival { waiting, size, ecn } => {
                    (waiting, Some(Arrival { size: Bytes::new(size), ecn }))
                }
            };
            let idle = idle_since.take();
            let waiting = if idle.is_some() { 0 } else { waiting };
            let state = QueueState { now, idle_since: idle, ..queue(waiting) };
            match packet {
                None => red.on_refused(&state, &full_size(Ecn::Ect0)),
                Some(packet) => {
                    let verdict = red.on_arrival(&state, &packet, &mut rng);
                    check_verdict(&config, red.average(), packet.ecn, verdict)?;
                }
            }
            // The average stays between zero and the longest queue, and does not grow in silence.
            longest = longest.max(waiting * 1_500);
            prop_assert!(red.average() >= 0.0 && red.average() <= longest as f64);
            prop_assert!(idle.is_none() || red.average() <= before);
        }
    }

    /// The same seed gives the same verdicts.
    #[test]
    fn verdicts_are_a_function_of_the_seed(config in configs(), seed: u64) {
        let verdicts = || {
            let (mut red, mut rng) = (Red::new(&config, RATE), source(seed));
            let mut judge = |n| red.on_arrival(&queue(n % 80), &full_size(Ecn::Ect0), &mut rng);
            (0..500_u64).map(&mut judge).collect::<Vec<_>>()
        };
        prop_assert_eq!(verdicts(), verdicts());
    }
}
