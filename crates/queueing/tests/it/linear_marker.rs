//! DCQCN's marking between Kmin and Kmax, with the comparisons of HPCC's simulator, and its settings per priority.

use std::convert::Infallible;

use incastle_queueing::{
    Arrival, Discipline, LinearMarker, LinearMarkerConfig, LinearMarkerError, MarkAt, Priority,
    PriorityEcn, PriorityEcnConfig, QueueState, Verdict,
};
use incastle_units::{Bytes, Ecn, Packets, Time};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{SeedableRng, TryRng};

const fn config(k_min: u64, k_max: u64, p_max: f64) -> LinearMarkerConfig {
    LinearMarkerConfig {
        k_min: Bytes::new(k_min),
        k_max: Bytes::new(k_max),
        p_max,
    }
}

fn source() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

/// A source of one value of U[0, 1) that counts its draws.
struct Fixed {
    value: f64,
    draws: u32,
}

impl TryRng for Fixed {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("draws are of 64 bits")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.draws += 1;
        Ok(((self.value * (1_u64 << 53) as f64) as u64) << 11)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("draws are of 64 bits")
    }
}

/// The verdict on a packet, and the number of draws.
fn judged(marker: LinearMarker, queue: u64, value: f64) -> (bool, u32) {
    let mut rng = Fixed { value, draws: 0 };
    let verdict = marker.judge(Bytes::new(queue), Ecn::Ect0, &mut rng);
    (verdict == Verdict::Mark, rng.draws)
}

#[test]
fn the_probability_is_linear_between_the_thresholds() {
    // 0.2 (q - 100 KB) / 300 KB: 0.1 in the middle, 0.2 at Kmax, 1 above.
    let marker = LinearMarker::new(config(100_000, 400_000, 0.2));
    let p = |queue| marker.probability(Bytes::new(queue));
    assert_eq!((p(0), p(100_000), p(400_001)), (0.0, 0.0, 1.0));
    assert!((p(250_000) - 0.1).abs() < 1e-15);
    assert!((p(400_000) - 0.2).abs() < 1e-15);
    assert!((p(100_003) - 2e-6).abs() < 1e-18);
}

#[test]
fn comparisons_and_draws_are_those_of_hpcc_ns3() {
    // Above Kmax without a draw; above Kmin iff the draw is below p = 0.5 x 200 / 400 = 0.25; up to Kmin without a draw.
    let marker = LinearMarker::new(config(100, 500, 0.5));
    assert_eq!(judged(marker, 501, 0.999), (true, 0));
    assert_eq!(judged(marker, 500, 0.4999), (true, 1));
    assert_eq!(judged(marker, 500, 0.5), (false, 1));
    assert_eq!(judged(marker, 300, 0.2499), (true, 1));
    assert_eq!(judged(marker, 300, 0.25), (false, 1));
    assert_eq!(judged(marker, 101, 0.0), (true, 1));
    assert_eq!(judged(marker, 100, 0.0), (false, 0));
}

#[test]
fn one_threshold_is_a_step_without_draws() {
    let marker = LinearMarker::new(LinearMarkerConfig::step(Bytes::new(30_000)));
    assert_eq!(judged(marker, 30_000, 0.0), (false, 0));
    assert_eq!(judged(marker, 30_001, 0.999), (true, 0));
}

#[test]
fn the_share_of_marks_is_the_probability() {
    let marker = LinearMarker::new(config(5_000, 200_000, 0.01));
    let mut rng = source();
    // p = 0.01 x 97.5 / 195 = 0.005; five standard deviations of 200,000 draws: 5 sqrt(1000 x 0.995) = 158.
    let queue = Bytes::new(102_500);
    let marks = (0..200_000)
        .filter(|_| marker.judge(queue, Ecn::Ect1, &mut rng) == Verdict::Mark)
        .count();
    assert!(marks.abs_diff(1_000) < 158, "{marks}");
}

#[test]
fn packets_that_are_not_ecn_capable_pass_without_a_draw() {
    let marker = LinearMarker::new(config(0, 10, 1.0));
    let mut rng = source();
    let verdict = marker.judge(Bytes::new(11), Ecn::NotEct, &mut rng);
    assert_eq!(verdict, Verdict::Admit);
    let verdict = marker.judge(Bytes::new(5), Ecn::NotEct, &mut rng);
    assert_eq!(verdict, Verdict::Admit);
    assert_eq!(rng, source());
}

#[test]
fn as_a_discipline_it_judges_the_bytes_in_front() {
    let mut marker = LinearMarker::new(LinearMarkerConfig::step(Bytes::new(3_000)));
    let mut verdict = |waiting| {
        let queue = QueueState {
            now: Time::ZERO,
            waiting_packets: Packets::new(100),
            waiting_bytes: Bytes::new(waiting),
            idle_since: None,
        };
        let arrival = Arrival {
            size: Bytes::new(1_500),
            ecn: Ecn::Ect0,
        };
        marker.on_arrival(&queue, &arrival, &mut source())
    };
    assert_eq!(verdict(3_000), Verdict::Admit);
    assert_eq!(verdict(3_001), Verdict::Mark);
}

#[test]
fn senseless_thresholds_are_refused() {
    assert_eq!(config(5, 5, 1.0).check(), Ok(()));
    assert_eq!(
        config(6, 5, 1.0).check(),
        Err(LinearMarkerError::MinAboveMax)
    );
    for p_max in [0.0, -0.1, 1.1] {
        assert_eq!(
            config(1, 5, p_max).check(),
            Err(LinearMarkerError::PMax(p_max))
        );
    }
    assert!(config(1, 5, f64::NAN).check().is_err());
}

#[test]
fn each_priority_has_its_marker_at_one_moment() {
    let marker = config(100, 500, 0.5);
    let ecn = PriorityEcnConfig::hpcc_ns3(marker);
    assert_eq!(ecn.check(), Ok(()));
    let ports = PriorityEcn::new(&ecn);
    for one in Priority::ALL {
        assert_eq!(ports.marker(MarkAt::Enqueue, one), None);
        let expected = (one != Priority::ZERO).then(|| LinearMarker::new(marker));
        assert_eq!(ports.marker(MarkAt::Dequeue, one).copied(), expected);
    }
    let mut broken = PriorityEcnConfig::default();
    assert_eq!(broken.check(), Ok(()));
    let none = PriorityEcn::new(&broken);
    assert_eq!(none.marker(MarkAt::Enqueue, Priority::ZERO), None);
    broken.markers[7] = Some(config(6, 5, 1.0));
    assert_eq!(broken.check(), Err(LinearMarkerError::MinAboveMax));
}
