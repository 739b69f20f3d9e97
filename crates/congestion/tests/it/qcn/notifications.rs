//! The effect of a notification on the rate.

use incastle_congestion::{RateLimiter, ReactionPointConfig};
use incastle_units::{Span, Time};

use super::{Bench, GBIT, PERIOD, exact, ms, rate};

#[test]
fn a_flow_without_notifications_is_never_limited() {
    let mut bench = Bench::new(ReactionPointConfig::new(rate(GBIT)));
    for _ in 0..1000 {
        bench.send(1000);
        bench.now += PERIOD;
        bench.point.on_timer(bench.now, &mut bench.rng);
        bench.rest();
        assert_eq!((bench.point.rate(), bench.point.next_timer()), (None, None));
    }
    // A notification that carries no feedback is none.
    bench.notify(0);
    assert_eq!((bench.point.rate(), bench.point.next_timer()), (None, None));
    assert_eq!((bench.rates(), bench.stages()), ((GBIT, GBIT), (0, 0)));
}

#[test]
fn a_notification_takes_its_part_of_the_rate() {
    // 1e9 (1 - psi / 128): 127/128, 112/128, 65/128.
    for (psi, current) in [(1, 992_187_500), (16, 875_000_000), (63, 507_812_500)] {
        let mut bench = Bench::new(exact(GBIT));
        bench.notify(psi);
        assert_eq!((bench.rates(), bench.stages()), ((current, GBIT), (0, 0)));
        assert_eq!(bench.point.rate(), Some(rate(current)));
        assert_eq!(bench.point.next_timer(), Some(Time::ZERO + PERIOD));
    }
}

#[test]
fn no_notification_takes_more_than_the_minimum_decrease() {
    // G_d = 1/64 would leave 1 - 63/64 = 1/64; half is kept.
    let mut bench = Bench::new(ReactionPointConfig {
        gain: 1.0 / 64.0,
        ..exact(GBIT)
    });
    bench.notify(63);
    assert_eq!(bench.rates().0, 500_000_000);
}

#[test]
fn no_notification_goes_below_the_minimum_rate() {
    let mut bench = Bench::new(exact(GBIT));
    // (65/128)^7 = 0.0087083, the eighth would leave 4.4 Mbit/s.
    bench.notify_times(7, 63);
    assert_eq!(bench.rates().0 / 1000, 8_708);
    bench.notify(63);
    assert_eq!(bench.rates(), (5_000_000, GBIT));
    bench.notify(63);
    assert_eq!(bench.rates(), (5_000_000, GBIT));

    // A line that is slower than the minimum stays at its own rate.
    let mut slow = Bench::new(exact(1_000_000));
    slow.notify(63);
    assert_eq!(slow.rates(), (1_000_000, 1_000_000));
}

#[test]
fn only_the_first_notification_of_a_byte_cycle_sets_the_target() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    bench.send(99);
    bench.now += Span::from_ms(10);
    // 148,500 of 150,000 B are sent. 507,812,500 x 0.75; the target stays, the timer starts anew.
    bench.notify(32);
    assert_eq!(bench.rates(), (380_859_375, GBIT));
    assert_eq!(bench.point.next_timer(), Some(ms(25.0)));
    // So does the byte counter: the next frame ends the cycle. (380,859,375 + 1e9) / 2.
    bench.send(1);
    assert_eq!(bench.stages(), (1, 0));
    assert_eq!(bench.rates(), (690_429_687, GBIT));

    // After a byte cycle the present rate is the target, and the counter is full again:
    // 690,429,687.5 x 0.75 = 517,822,265.6.
    bench.send(50);
    bench.notify(32);
    assert_eq!(bench.rates(), (517_822_265, 690_429_687));
    bench.send(99);
    assert_eq!(bench.stages(), (0, 0));
    bench.send(1);
    assert_eq!(bench.stages(), (1, 0));
}

#[test]
#[should_panic(expected = "feedback has six bits")]
fn feedback_beyond_six_bits_is_a_defect() {
    Bench::new(exact(GBIT)).notify(64);
}
