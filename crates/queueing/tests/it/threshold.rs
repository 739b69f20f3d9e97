//! Threshold marking: the rule itself, and RED's special case of it.

use incastle_queueing::{
    Arrival, Discipline, DropCause, DropTail, Marker, QueueConfig, QueueState, Red, RedConfig,
    Threshold, ThresholdConfig, Verdict,
};
use incastle_units::{Amount, Bytes, Ecn, Packets, Rate, Span, Time};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const CODEPOINTS: [Ecn; 3] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ce];

fn packets(count: u64) -> Amount {
    Amount::Packets(Packets::new(count))
}

fn bytes(count: u64) -> Amount {
    Amount::Bytes(Bytes::new(count))
}

fn state(waiting_packets: u64, waiting_bytes: u64) -> QueueState {
    QueueState {
        now: Time::ZERO,
        waiting_packets: Packets::new(waiting_packets),
        waiting_bytes: Bytes::new(waiting_bytes),
        idle_since: None,
    }
}

fn arrival(ecn: Ecn) -> Arrival {
    Arrival {
        size: Bytes::new(1_500),
        ecn,
    }
}

fn judge(discipline: &mut dyn Discipline, queue: &QueueState, ecn: Ecn) -> Verdict {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    discipline.on_arrival(queue, &arrival(ecn), &mut rng)
}

fn threshold(marking_threshold: Amount, drop_not_ect: bool) -> Threshold {
    Threshold::new(ThresholdConfig {
        marking_threshold,
        drop_not_ect,
    })
}

#[test]
fn a_packet_is_marked_when_more_than_k_wait() {
    // K = 20: the packet that finds 20 waiting is the 21st and passes; the next one is marked.
    let mut marker = threshold(packets(20), false);
    assert_eq!(
        judge(&mut marker, &state(20, 30_000), Ecn::Ect0),
        Verdict::Admit
    );
    assert_eq!(
        judge(&mut marker, &state(21, 31_500), Ecn::Ect0),
        Verdict::Mark
    );
    // 20 packets of 1500 B are 30000 B, whatever number of packets they are in.
    let mut marker = threshold(bytes(30_000), false);
    assert_eq!(
        judge(&mut marker, &state(750, 30_000), Ecn::Ect0),
        Verdict::Admit
    );
    assert_eq!(
        judge(&mut marker, &state(4, 30_001), Ecn::Ect0),
        Verdict::Mark
    );
}

#[test]
fn packets_without_ecn_pass_unless_they_are_to_be_dropped() {
    let above = state(21, 31_500);
    for (drop_not_ect, verdict) in [
        (false, Verdict::Admit),
        (true, Verdict::Drop(DropCause::NotEcnCapable)),
    ] {
        let mut marker = threshold(packets(20), drop_not_ect);
        assert_eq!(judge(&mut marker, &above, Ecn::NotEct), verdict);
        assert_eq!(judge(&mut marker, &above, Ecn::Ce), Verdict::Mark);
        assert_eq!(
            judge(&mut marker, &state(20, 30_000), Ecn::NotEct),
            Verdict::Admit
        );
    }
}

#[test]
fn by_default_packets_without_ecn_pass() {
    let config = ThresholdConfig::new(packets(65));
    assert!(!config.drop_not_ect);
    assert_eq!(config.marking_threshold, packets(65));
}

#[test]
fn configurations_build_what_they_name() {
    let rate = Rate::from_bits_per_second(10_000_000_000);
    let above = state(66, 99_000);
    let cases = [
        (QueueConfig::DropTail, Verdict::Admit),
        (
            QueueConfig::Threshold(ThresholdConfig::new(packets(65))),
            Verdict::Mark,
        ),
        // One sample of 66 moves the average to 0.002 x 66 = 0.132, below min = 5.
        (QueueConfig::Red(RedConfig::default()), Verdict::Admit),
    ];
    for (config, verdict) in cases {
        assert_eq!(config.check(), Ok(()));
        assert_eq!(judge(&mut config.build(rate), &above, Ecn::Ect0), verdict);
    }
}

#[test]
fn custom_disciplines_get_every_call() {
    /// Marks everything after a refusal.
    struct AfterRefusal(bool);
    impl Discipline for AfterRefusal {
        fn on_arrival(&mut self, _: &QueueState, _: &Arrival, _: &mut dyn Rng) -> Verdict {
            if self.0 {
                Verdict::Mark
            } else {
                Verdict::Admit
            }
        }
        fn on_refused(&mut self, _: &QueueState, _: &Arrival) {
            self.0 = true;
        }
    }
    let mut marker = Marker::Custom(Box::new(AfterRefusal(false)));
    let queue = state(0, 0);
    assert_eq!(judge(&mut marker, &queue, Ecn::Ect0), Verdict::Admit);
    marker.on_refused(&queue, &arrival(Ecn::Ect0));
    assert_eq!(judge(&mut marker, &queue, Ecn::Ect0), Verdict::Mark);
}

/// One step of a random sequence.
#[derive(Debug, Clone, Copy)]
struct Step {
    /// The packets that it finds.
    waiting: u64,
    ecn: Ecn,
    /// How long the port was idle, in picoseconds.
    idle: Option<u64>,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0_u64..60,
        prop::sample::select(CODEPOINTS.to_vec()),
        prop::option::weighted(0.2, 0_u64..5_000_000),
    );
    let step = step.prop_map(|(waiting, ecn, idle)| Step { waiting, ecn, idle });
    prop::collection::vec(step, 1..200)
}

fn queue_at(now: Time, step: Step) -> QueueState {
    // An idle port has an empty queue.
    let idle = step.idle;
    let waiting = if idle.is_some() { 0 } else { step.waiting };
    QueueState {
        now,
        waiting_packets: Packets::new(waiting),
        waiting_bytes: Bytes::new(waiting * 700),
        idle_since: idle.map(|ps| Time::from_ps(now.as_ps() - ps)),
    }
}

proptest! {
    /// Marks only what is capable, and only above K; drops only on request; drop-tail does nothing.
    #[test]
    fn threshold_keeps_its_rule_over_any_sequence(
        k in 0_u64..50, in_bytes: bool, drop_not_ect: bool, steps in steps(),
    ) {
        let marking_threshold = if in_bytes { bytes(k * 700) } else { packets(k) };
        let mut marker = threshold(marking_threshold, drop_not_ect);
        for step in steps {
            let queue = queue_at(Time::from_ps(5_000_000), step);
            let verdict = judge(&mut marker, &queue, step.ecn);
            let expected = match (queue.exceeds(marking_threshold), step.ecn, drop_not_ect) {
                (true, Ecn::Ect0 | Ecn::Ce, _) => Verdict::Mark,
                (true, Ecn::NotEct, true) => Verdict::Drop(DropCause::NotEcnCapable),
                _ => Verdict::Admit,
            };
            prop_assert_eq!(verdict, expected);
            prop_assert_eq!(judge(&mut DropTail, &queue, step.ecn), Verdict::Admit);
        }
    }

    /// RED with min = max = K + 1 and weight 1 is threshold marking, idle times included.
    #[test]
    fn red_without_memory_is_the_threshold(k in 0_u64..50, in_bytes: bool, steps in steps()) {
        let amount = |count| if in_bytes { bytes(count) } else { packets(count) };
        let config = RedConfig {
            min_th: amount(k + 1),
            max_th: amount(k + 1),
            w_q: 1.0,
            ..RedConfig::default()
        };
        let mut red = Red::new(&config, Rate::from_bits_per_second(10_000_000_000));
        let mut marker = threshold(amount(k), false);
        let mut now = Time::ZERO + Span::from_us(5);
        for step in steps {
            now += Span::from_us(1);
            let queue = queue_at(now, step);
            // RED drops what it cannot mark; the threshold lets it pass.
            let ecn = if step.ecn == Ecn::NotEct { Ecn::Ect0 } else { step.ecn };
            prop_assert_eq!(judge(&mut red, &queue, ecn), judge(&mut marker, &queue, ecn));
        }
    }
}
