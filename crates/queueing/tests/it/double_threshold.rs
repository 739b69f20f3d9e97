//! The relay: its crossings in both orders of the thresholds, and the threshold as its special case.

use incastle_cases::cases;
use incastle_queueing::{
    Arrival, Discipline, DoubleThreshold, DoubleThresholdConfig, DoubleThresholdError, DropCause,
    QueueConfig, QueueError, QueueState, Threshold, ThresholdConfig, Verdict,
};
use incastle_units::{Amount, Bytes, Ecn, Packets, Rate, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

fn packets(count: u64) -> Amount {
    Amount::Packets(Packets::new(count))
}

fn bytes(count: u64) -> Amount {
    Amount::Bytes(Bytes::new(count))
}

fn relay(start: u64, stop: u64) -> DoubleThreshold {
    DoubleThreshold::new(DoubleThresholdConfig::new(packets(start), packets(stop)))
}

/// A queue of packets of 1500 B.
fn queue(waiting: u64) -> QueueState {
    QueueState {
        now: Time::ZERO,
        waiting_packets: Packets::new(waiting),
        waiting_bytes: Bytes::new(waiting * 1500),
        idle_since: None,
    }
}

fn arrival(ecn: Ecn) -> Arrival {
    Arrival {
        size: Bytes::new(1500),
        ecn,
    }
}

fn judge(discipline: &mut impl Discipline, waiting: u64, ecn: Ecn) -> Verdict {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    discipline.on_arrival(&queue(waiting), &arrival(ecn), &mut rng)
}

/// Which of the arrivals that find these queues are marked: `x`, or `.`.
fn marks(relay: &mut DoubleThreshold, queues: &[u64]) -> String {
    queues
        .iter()
        .map(|&waiting| match judge(relay, waiting, Ecn::Ect0) {
            Verdict::Mark => 'x',
            _ => '.',
        })
        .collect()
}

#[test]
fn with_start_above_stop_marking_holds_on_below_its_start() {
    // As printed: on above 35, off at 30 or below.
    let mut relay = relay(35, 30);
    // Upwards across stop: nothing. Upwards across start: on.
    assert_eq!(marks(&mut relay, &[29, 30, 31, 34, 35, 36, 37]), ".....xx");
    // Downwards across start: nothing. Downwards across stop: off.
    assert_eq!(marks(&mut relay, &[36, 35, 34, 31, 30, 29]), "xxxx..");
    // Between the two the relay stays as it is: off, and after a crossing of start on.
    assert_eq!(marks(&mut relay, &[31, 35, 31, 36, 31, 35, 31]), "...xxxx");
    // One gap between arrivals may hide several crossings.
    assert_eq!(marks(&mut relay, &[0, 50, 0, 33, 50, 33]), ".x..xx");
}

#[test]
fn with_start_below_stop_marking_begins_and_ends_early() {
    // DT-DCTCP: on above 30 rising, off at 35 falling.
    let mut relay = relay(30, 35);
    // Upwards across start: on; across stop: on still.
    assert_eq!(marks(&mut relay, &[29, 30, 31, 35, 36, 40]), "..xxxx");
    // Downwards across stop: off; across start: off still.
    assert_eq!(marks(&mut relay, &[36, 35, 34, 31, 30, 0]), "x.....");
    // A queue that never comes to stop: off when it falls to start.
    assert_eq!(marks(&mut relay, &[31, 35, 31, 30, 31, 30]), "xxx.x.");
}

#[test]
fn with_start_below_stop_a_queue_that_turns_round_between_them_is_marked_from_stop_on() {
    let mut relay = relay(30, 35);
    // Off falling, and no crossing of start since: but above both thresholds.
    assert_eq!(marks(&mut relay, &[36, 34, 31, 34, 35, 36, 37]), "x....xx");
    // Falling to start and rising again begins anew.
    assert_eq!(marks(&mut relay, &[35, 30, 31]), "..x");
}

#[test]
fn refused_packets_move_the_relay_too() {
    let mut relay = relay(35, 30);
    relay.on_refused(&queue(36), &arrival(Ecn::Ect0));
    assert!(relay.is_marking());
    assert_eq!(marks(&mut relay, &[31]), "x");
}

#[test]
fn packets_without_ecn_pass_unless_they_are_to_be_dropped() {
    for (drop_not_ect, verdict) in [
        (false, Verdict::Admit),
        (true, Verdict::Drop(DropCause::NotEcnCapable)),
    ] {
        let mut relay = DoubleThreshold::new(DoubleThresholdConfig {
            drop_not_ect,
            ..DoubleThresholdConfig::AS_PRINTED
        });
        assert_eq!(judge(&mut relay, 35, Ecn::NotEct), Verdict::Admit);
        assert_eq!(judge(&mut relay, 36, Ecn::NotEct), verdict);
        assert_eq!(judge(&mut relay, 31, Ecn::Ce), Verdict::Mark);
        assert_eq!(judge(&mut relay, 30, Ecn::NotEct), Verdict::Admit);
    }
}

#[test]
fn the_readings_have_their_numbers() {
    let numbers = |config: DoubleThresholdConfig| (config.k1, config.k2);
    let reading = [
        (DoubleThresholdConfig::AS_PRINTED, (35, 30)),
        (DoubleThresholdConfig::DT_DCTCP, (30, 35)),
        (DoubleThresholdConfig::AROUND_K, (15, 25)),
    ];
    for (config, (start, stop)) in reading {
        assert_eq!(numbers(config), (packets(start), packets(stop)));
        assert!(!config.drop_not_ect);
    }
}

#[test]
fn thresholds_of_two_units_are_refused() {
    let mixed = DoubleThresholdConfig::new(packets(30), bytes(50_000));
    assert_eq!(
        QueueConfig::DoubleThreshold(mixed).check(),
        Err(QueueError::DoubleThreshold(
            DoubleThresholdError::MixedUnits
        ))
    );
    let config = QueueConfig::DoubleThreshold(DoubleThresholdConfig::DT_DCTCP);
    assert_eq!(config.check(), Ok(()));
    let mut marker = config.build(Rate::from_bits_per_second(1_000_000_000));
    assert_eq!(judge(&mut marker, 31, Ecn::Ect0), Verdict::Mark);
    marker.on_refused(&queue(36), &arrival(Ecn::Ect0));
    assert_eq!(judge(&mut marker, 33, Ecn::Ect0), Verdict::Admit);
}

/// The queues that arrivals find: a random walk, with jumps.
fn trace() -> impl Strategy<Value = Vec<u64>> {
    let step = prop_oneof![
        8 => (-3_i64..=3).prop_map(Ok),
        1 => (0_u64..60).prop_map(Err),
    ];
    prop::collection::vec(step, 1..400).prop_map(|steps| {
        let mut waiting = 0_u64;
        let follow = |step| {
            waiting = match step {
                Ok(delta) => waiting.saturating_add_signed(delta),
                Err(jump) => jump,
            };
            waiting
        };
        steps.into_iter().map(follow).collect()
    })
}

fn ecn() -> impl Strategy<Value = Ecn> {
    prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ce])
}

/// The relay in words, from the whole past: who was crossed last, and in which direction.
fn expected(start: u64, stop: u64, past: &[u64]) -> bool {
    let now = *past.last().expect("there is an arrival");
    let (low, high) = (start.min(stop), start.max(stop));
    if now <= low || now > high {
        return now > high;
    }
    // The last arrival that found the queue outside of the band; before the first it was empty.
    let outside = past.iter().rev().find(|&&q| q <= low || q > high);
    let from_below = outside.is_none_or(|&q| q <= low);
    from_below == (start < stop)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1024)))]

    /// start = stop = K is the threshold K, verdict by verdict.
    #[test]
    fn equal_thresholds_are_one(
        k in 0_u64..50, in_bytes: bool, drop_not_ect: bool,
        trace in trace(), ecns in prop::collection::vec(ecn(), 400),
    ) {
        let amount = if in_bytes { bytes(k * 1500) } else { packets(k) };
        let mut relay = DoubleThreshold::new(DoubleThresholdConfig {
            k1: amount,
            k2: amount,
            drop_not_ect,
        });
        let mut marker = Threshold::new(ThresholdConfig { marking_threshold: amount, drop_not_ect });
        for (&waiting, &ecn) in trace.iter().zip(&ecns) {
            prop_assert_eq!(
                judge(&mut relay, waiting, ecn),
                judge(&mut marker, waiting, ecn)
            );
        }
    }

    /// Above both thresholds on, below both off, between them by the side that the queue came from.
    #[test]
    fn the_relay_keeps_its_rule_over_any_trace(
        start in 0_u64..50, stop in 0_u64..50, in_bytes: bool, trace in trace(),
    ) {
        let amount = |count: u64| if in_bytes { bytes(count * 1500) } else { packets(count) };
        let mut relay = DoubleThreshold::new(DoubleThresholdConfig::new(amount(start), amount(stop)));
        for (index, &waiting) in trace.iter().enumerate() {
            let verdict = judge(&mut relay, waiting, Ecn::Ect0);
            let marks = expected(start, stop, &trace[..=index]);
            prop_assert_eq!(verdict == Verdict::Mark, marks);
            prop_assert_eq!(relay.is_marking(), marks);
        }
    }
}
