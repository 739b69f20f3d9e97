//! How the rate comes back: fast recovery, active and hyper-active increase, release.

use incastle_congestion::RateLimiter;

use super::{Bench, GBIT, exact, ms, rate};

#[test]
fn a_time_stage_alone_leaves_the_target() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    bench.expire();
    assert_eq!(bench.stages(), (0, 1));
    // (507,812,500 + 1e9) / 2 = 753,906,250; x 0.875 = 659,667,968.75. The byte stage is still 0.
    bench.notify(16);
    assert_eq!(
        (bench.rates(), bench.stages()),
        ((659_667_968, GBIT), (0, 0))
    );
}

#[test]
fn eight_periods_bring_one_notification_back_to_line_rate() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    // Fast recovery: the distance of 492,187,500 halves five times, to 15,380,859.375.
    bench.expire_times(5);
    assert_eq!((bench.rates(), bench.now), ((984_619_140, GBIT), ms(75.0)));
    // The sixth period, still a full one, is active increase, M = 6 > 5 >= m = 0:
    // (984,619,140.625 + 1,005,000,000) / 2, after which the target is capped.
    bench.expire();
    assert_eq!((bench.rates(), bench.now), ((994_809_570, GBIT), ms(90.0)));
    // Those after it are halved. (994,809,570.3125 + 1.005e9) / 2 = 999,904,785.16.
    bench.expire();
    assert_eq!((bench.rates(), bench.now), ((999_904_785, GBIT), ms(97.5)));
    // Below line rate an empty queue changes nothing.
    bench.rest();
    assert!(bench.is_active());
    // (999,904,785.16 + 1.005e9) / 2 is beyond the line rate.
    bench.expire();
    assert_eq!((bench.rates(), bench.now), ((GBIT, GBIT), ms(105.0)));
    // At line rate it goes on as long as something waits, and is released when nothing does.
    assert_eq!(bench.point.rate(), Some(rate(GBIT)));
    bench.rest();
    assert_eq!((bench.point.rate(), bench.point.next_timer()), (None, None));
    assert_eq!((bench.rates(), bench.stages()), ((GBIT, GBIT), (0, 0)));
}

#[test]
fn at_line_rate_a_notification_sets_the_target_anew() {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    bench.expire_times(8);
    bench.send(99);
    // Not released; the byte stage is 0, but the rate is the line's: the byte counter is full again.
    bench.notify(16);
    assert_eq!(
        (bench.rates(), bench.stages()),
        ((875_000_000, GBIT), (0, 0))
    );
    bench.send(99);
    assert_eq!(bench.stages(), (0, 0));
    bench.send(1);
    assert_eq!(bench.stages(), (1, 0));
}

/// A reaction point whose target is 753,906,250 on a line of 1 Gbit/s, in recovery from
/// 753,906,250 x 65/128 = 382,843,017.6.
fn recovering() -> Bench {
    let mut bench = Bench::new(exact(GBIT));
    bench.notify(63);
    bench.send(100);
    bench.notify(63);
    assert_eq!(bench.rates(), (382_843_017, 753_906_250));
    bench
}

#[test]
fn five_byte_cycles_recover_and_the_next_ones_probe_at_half_their_length() {
    let mut bench = recovering();
    // 371,063,232.42 / 32 = 11,595,726.01 below the target, which stays.
    bench.send(500);
    assert_eq!(bench.stages(), (5, 0));
    assert_eq!(bench.rates(), (742_310_523, 753_906_250));
    // The sixth cycle has 150,000 B. 753,906,250 + 5,000,000; (742,310,523.99 + it) / 2.
    bench.send(99);
    assert_eq!(bench.stages(), (5, 0));
    bench.send(1);
    assert_eq!(bench.stages(), (6, 0));
    assert_eq!(bench.rates(), (750_608_386, 758_906_250));
    // The seventh and eighth have 75,000 B.
    bench.send(49);
    assert_eq!(bench.stages(), (6, 0));
    bench.send(1);
    assert_eq!((bench.stages(), bench.rates().1), ((7, 0), 763_906_250));
    bench.send(50);
    assert_eq!((bench.stages(), bench.rates().1), ((8, 0), 768_906_250));
}

#[test]
fn five_cycles_of_each_kind_are_still_fast_recovery() {
    let mut bench = recovering();
    bench.send(500);
    bench.expire_times(5);
    // M = m = 5: 371,063,232.42 / 1024 = 362,366.44 below the target.
    assert_eq!(bench.stages(), (5, 5));
    assert_eq!(bench.rates(), (753_543_883, 753_906_250));
}

#[test]
fn hyper_active_increase_begins_when_both_stages_are_past_recovery() {
    // 10 Gbit/s: after a notification of 63, 5,078,125,000; after a byte cycle, 7,539,062,500,
    // which the second notification makes the target.
    let mut bench = Bench::new(exact(10 * GBIT));
    bench.notify(63);
    bench.send(100);
    bench.notify(63);
    let mut target = 7_539_062_500;
    assert_eq!(bench.rates().1, target);
    // Byte stage 6, time stage 0: R_AI.
    bench.send(600);
    target += 5_000_000;
    assert_eq!((bench.stages(), bench.rates().1), ((6, 0), target));
    // Time stages 1 to 5 with M = 6: R_AI each.
    bench.expire_times(5);
    target += 5 * 5_000_000;
    assert_eq!((bench.stages(), bench.rates().1), ((6, 5), target));
    // m = 6: R_HAI x 1, by the timer ...
    bench.expire();
    target += 50_000_000;
    assert_eq!((bench.stages(), bench.rates().1), ((6, 6), target));
    // ... and by the next byte cycle, m = min(7, 6).
    bench.send(50);
    target += 50_000_000;
    assert_eq!((bench.stages(), bench.rates().1), ((7, 6), target));
    // m = 7: R_HAI x 2.
    bench.expire();
    target += 100_000_000;
    assert_eq!((bench.stages(), bench.rates().1), ((7, 7), target));
}

#[test]
fn a_target_that_is_out_of_date_is_divided_when_recovery_begins() {
    // (65/128)^4 x 1e9 = 66,498,760: the target of 1e9 is more than ten times that.
    // 1e9 / 8 = 125,000,000; (66,498,760.1 + 125,000,000) / 2 = 95,749,380.1.
    let mut by_bytes = Bench::new(exact(GBIT));
    by_bytes.notify_times(4, 63);
    assert_eq!(by_bytes.rates(), (66_498_760, GBIT));
    by_bytes.send(100);
    assert_eq!(by_bytes.rates(), (95_749_380, 125_000_000));
    let mut by_time = Bench::new(exact(GBIT));
    by_time.notify_times(4, 63);
    by_time.expire();
    assert_eq!(by_time.rates(), (95_749_380, 125_000_000));

    // (65/128)^3 x 1e9 = 130,951,404: less than ten times.
    let mut near = Bench::new(exact(GBIT));
    near.notify_times(3, 63);
    near.expire();
    assert_eq!(near.rates(), (565_475_702, GBIT));

    // One increase is enough: 1e9 / 8 = 125 M, (5 M + 125 M) / 2 = 65 M. The first stage of the
    // timer finds a target of less than ten times that.
    let mut least = Bench::new(exact(GBIT));
    least.notify_times(20, 63);
    least.send(100);
    assert_eq!(least.rates(), (65_000_000, 125_000_000));
    least.expire();
    assert_eq!((least.stages(), least.rates().1), ((1, 1), 125_000_000));
}
