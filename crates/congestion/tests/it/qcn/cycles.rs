//! The byte counter and the timer: their lengths, their jitter, their limits.

use incastle_congestion::{RateLimiter, ReactionPointConfig};
use incastle_units::{Bytes, Span};

use super::{Bench, GBIT, exact, ms, rate};
use crate::support::Constant;

#[test]
fn counters_and_periods_are_jittered() {
    let config = ReactionPointConfig::new(rate(GBIT));
    // The least draw is 1 - 0.15 of 15 ms, the greatest 1 + 0.15, less 2^-53.
    for (draw, period, frames) in [(0, 12.75, 85), (u64::MAX, 17.25, 115)] {
        let mut bench = Bench::new(config);
        bench.rng = Constant(draw);
        bench.notify(63);
        let error = bench.point.next_timer().expect("armed").as_secs_lossy() - period / 1e3;
        assert!(error.abs() < 1e-12, "{error}");
        // The first byte counter is not drawn: 150,000 B. The second is: 127,500 or 172,500 B.
        bench.send(99);
        assert_eq!(bench.stages(), (0, 0));
        bench.send(1);
        assert_eq!(bench.stages(), (1, 0));
        bench.send(frames - 1);
        assert_eq!(bench.stages(), (1, 0));
        bench.send(1);
        assert_eq!(bench.stages(), (2, 0));
    }
}

#[test]
fn a_frame_that_overshoots_ends_one_cycle_and_the_next_begins_full() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    let jumbo = Bytes::new(149_000);
    bench.point.on_sent(bench.now, jumbo, &mut bench.rng);
    bench.point.on_sent(bench.now, jumbo, &mut bench.rng);
    assert_eq!(bench.stages(), (1, 0));
    // 148,000 B beyond the first counter are not counted to the second.
    bench.send(99);
    assert_eq!(bench.stages(), (1, 0));
    bench.send(1);
    assert_eq!(bench.stages(), (2, 0));
}

#[test]
fn a_timer_that_is_called_too_early_does_nothing() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    bench.point.on_timer(ms(14.999), &mut bench.rng);
    assert_eq!(bench.stages(), (0, 0));
    bench.point.on_timer(ms(15.0), &mut bench.rng);
    assert_eq!(bench.stages(), (0, 1));
}

#[test]
#[should_panic(expected = "timer > 0")]
fn a_timer_of_nothing_is_a_defect() {
    Bench::new(ReactionPointConfig {
        timer: Span::ZERO,
        ..exact(GBIT)
    });
}
