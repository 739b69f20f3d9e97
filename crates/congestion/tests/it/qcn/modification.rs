//! Modification IV: an increase that remembers feedback, in both readings.

use incastle_congestion::{AdaptiveIncrease, RateLimiter, ReactionPointConfig};

use super::{Bench, GBIT, exact, ms, rate};

/// Modification IV in the open: no fast recovery, so that the first cycle already probes.
fn adaptive(adaptive: AdaptiveIncrease) -> Bench {
    Bench::new(ReactionPointConfig {
        adaptive,
        rpg_threshold: 0,
        ..exact(10 * GBIT)
    })
}

#[test]
fn reading_a_divides_the_increase_by_scaled_feedback() {
    let mut bench = adaptive(AdaptiveIncrease::Scaled);
    // 32 / 64 = 0.5: below 1 R_AI is whole. 1e10 x 0.75 = 7.5e9; the target would be 10.005e9:
    // (7.5 + 10.005) / 2 = 8.7525e9.
    bench.notify(32);
    assert_eq!(bench.memory().to_bits(), 0.5_f64.to_bits());
    bench.send(100);
    assert_eq!(bench.rates(), (8_752_500_000, 10 * GBIT));
    // Four more: 2.5. Byte stage 1, M = 1 > 0 >= m = 0: 5 M / 2.5 = 2 M.
    bench.notify_times(4, 32);
    assert_eq!(bench.memory().to_bits(), 2.5_f64.to_bits());
    bench.send(100);
    assert_eq!(bench.rates().1, 8_754_500_000);
    // The timer takes 1 away, then m = 1: 50 M x 1 / 1.5 = 33,333,333.
    bench.expire();
    assert_eq!(bench.memory().to_bits(), 1.5_f64.to_bits());
    assert_eq!(bench.rates().1, 8_787_833_333);
    // 0.5: whole again, and then nothing is left.
    bench.expire();
    assert_eq!(bench.rates().1, 8_837_833_333);
    bench.expire();
    assert_eq!(bench.memory().to_bits(), 0.0_f64.to_bits());
}

#[test]
fn reading_b_divides_the_increase_by_a_sixty_fourth_of_raw_feedback() {
    let mut bench = adaptive(AdaptiveIncrease::Raw);
    bench.notify(32);
    bench.send(100);
    // 32 / 64 is below 1: R_AI is whole, not doubled.
    assert_eq!(bench.rates(), (8_752_500_000, 10 * GBIT));
    // 5 x 32 = 160: 160 / 64 = 2.5, as in reading A.
    bench.notify_times(4, 32);
    assert_eq!(bench.memory().to_bits(), 160.0_f64.to_bits());
    bench.send(100);
    assert_eq!(bench.rates().1, 8_754_500_000);
    // The timer takes 1 of 160 away: 50 M x 64 / 159 = 20,125,786.2.
    bench.expire();
    assert_eq!(bench.memory().to_bits(), 159.0_f64.to_bits());
    assert_eq!(bench.rates().1, 8_774_625_786);
}

#[test]
fn the_memory_is_bounded() {
    // 63/64 x 64 = 63 is reached by the 64th notification, 63 x 64 = 4032 too.
    for (reading, before, bound) in [
        (AdaptiveIncrease::Scaled, 62.015_625, 63.0),
        (AdaptiveIncrease::Raw, 3_969.0, 4_032.0),
        (AdaptiveIncrease::Off, 0.0, 0.0),
    ] {
        let mut bench = adaptive(reading);
        bench.notify_times(63, 63);
        assert_eq!(f64::to_bits(before), bench.memory().to_bits());
        bench.notify(63);
        assert_eq!(f64::to_bits(bound), bench.memory().to_bits());
        bench.notify(63);
        assert_eq!(f64::to_bits(bound), bench.memory().to_bits());
    }
}

#[test]
fn the_memory_survives_a_release_and_fades_with_time() {
    let config = ReactionPointConfig {
        adaptive: AdaptiveIncrease::Scaled,
        rpg_threshold: 0,
        rpg_hai_rate: rate(1000 * GBIT),
        ..exact(GBIT)
    };
    let mut bench = Bench::new(config);
    // 4 x 48/64 = 3; R_HAI of 1000 Gbit/s, halved, brings the rate back at the second cycle.
    bench.notify_times(4, 48);
    bench.send(100);
    bench.expire();
    assert_eq!(
        (bench.rates(), bench.memory().to_bits()),
        ((GBIT, GBIT), 2.0_f64.to_bits())
    );
    // Past recovery the period is a half one: the next expiry comes at 22.5 ms.
    bench.rest();
    assert_eq!(bench.point.rate(), None);
    assert_eq!(bench.point.next_timer(), Some(ms(22.5)));
    // Released, it goes on at its full period.
    bench.expire();
    assert_eq!(bench.memory().to_bits(), 1.0_f64.to_bits());
    assert_eq!((bench.point.rate(), bench.stages()), (None, (0, 0)));
    assert_eq!(bench.point.next_timer(), Some(ms(37.5)));
    // A notification finds what is left, and starts the timer anew.
    bench.now = ms(30.0);
    bench.notify(48);
    assert_eq!(bench.memory().to_bits(), 1.75_f64.to_bits());
    assert_eq!(bench.rates(), (625_000_000, GBIT));
    assert_eq!(bench.point.next_timer(), Some(ms(45.0)));
    // Back, released; the last of the memory ends the timer.
    bench.send(100);
    bench.expire();
    bench.rest();
    assert_eq!(bench.memory().to_bits(), 0.75_f64.to_bits());
    bench.expire();
    assert_eq!(bench.memory().to_bits(), 0.0_f64.to_bits());
    assert_eq!((bench.point.rate(), bench.point.next_timer()), (None, None));
}
