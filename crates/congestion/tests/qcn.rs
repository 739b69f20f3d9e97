//! QCN's reaction point: each rule with its numbers worked out by hand, and random operations
//! against a model that counts independently.

mod support;

use incastle_congestion::{
    AdaptiveIncrease, Feedback, RateLimiter, ReactionPoint, ReactionPointConfig,
};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use support::Constant;

const GBIT: u64 = 1_000_000_000;
const PERIOD: Span = Span::from_ms(15);

const fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits)
}

/// The defaults without jitter.
fn exact(line: u64) -> ReactionPointConfig {
    ReactionPointConfig {
        jitter: 0.0,
        ..ReactionPointConfig::new(rate(line))
    }
}

/// A reaction point with a clock.
struct Bench {
    point: ReactionPoint,
    now: Time,
    rng: Constant,
}

impl Bench {
    fn new(config: ReactionPointConfig) -> Self {
        Self {
            point: ReactionPoint::new(config),
            now: Time::ZERO,
            rng: Constant::HALF,
        }
    }

    fn notify(&mut self, psi: u8) {
        self.point.on_cnm(self.now, Feedback { psi }, &mut self.rng);
    }

    fn notify_times(&mut self, count: u32, psi: u8) {
        for _ in 0..count {
            self.notify(psi);
        }
    }

    /// Sends frames of 1500 B.
    fn send(&mut self, frames: u32) {
        for _ in 0..frames {
            self.point
                .on_sent(self.now, Bytes::new(1500), &mut self.rng);
        }
    }

    /// Lets the timer expire.
    fn expire(&mut self) {
        self.now = self.point.next_timer().expect("armed");
        self.point.on_timer(self.now, &mut self.rng);
    }

    fn expire_times(&mut self, count: u32) {
        for _ in 0..count {
            self.expire();
        }
    }

    fn rest(&mut self) {
        self.point.on_idle(self.now);
    }

    /// Current and target.
    fn rates(&self) -> (u64, u64) {
        let state = self.point.state();
        (
            state.current.bits_per_second(),
            state.target.bits_per_second(),
        )
    }

    fn stages(&self) -> (u32, u32) {
        let state = self.point.state();
        (state.byte_stage, state.time_stage)
    }

    fn memory(&self) -> f64 {
        self.point.state().memory
    }

    fn is_active(&self) -> bool {
        self.point.rate().is_some()
    }
}

fn ms(ms: f64) -> Time {
    Time::ZERO + Span::from_secs_lossy(ms / 1e3)
}

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

    // Once is all: 1e9 / 8 = 125 M, (5 M + 125 M) / 2 = 65 M, and the first stage of the timer
    // finds a target of less than ten times that.
    let mut least = Bench::new(exact(GBIT));
    least.notify_times(20, 63);
    least.send(100);
    assert_eq!(least.rates(), (65_000_000, 125_000_000));
    least.expire();
    assert_eq!((least.stages(), least.rates().1), ((1, 1), 125_000_000));
}

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

/// Modification IV in the open: no fast recovery, so that the first cycle already probes.
fn adaptive(adaptive: AdaptiveIncrease) -> Bench {
    Bench::new(ReactionPointConfig {
        adaptive,
        fast_recovery_cycles: 0,
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
        fast_recovery_cycles: 0,
        hyper_increase: rate(1000 * GBIT),
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

#[test]
#[should_panic(expected = "feedback has six bits")]
fn feedback_beyond_six_bits_is_a_defect() {
    Bench::new(exact(GBIT)).notify(64);
}

#[test]
#[should_panic(expected = "timer > 0")]
fn a_timer_of_nothing_is_a_defect() {
    Bench::new(ReactionPointConfig {
        timer: Span::ZERO,
        ..exact(GBIT)
    });
}

/// What may happen to a limiter.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Notify { psi: u8 },
    Send { frames: u32, size: u64 },
    Expire,
    Early { part: u8 },
    Rest,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        3 => (0_u8..64).prop_map(|psi| Operation::Notify { psi }),
        5 => (1_u32..120, 64_u64..9000).prop_map(|(frames, size)| Operation::Send { frames, size }),
        6 => Just(Operation::Expire),
        1 => (0_u8..100).prop_map(|part| Operation::Early { part }),
        4 => Just(Operation::Rest),
    ]
}

const READINGS: [AdaptiveIncrease; 3] = [
    AdaptiveIncrease::Off,
    AdaptiveIncrease::Scaled,
    AdaptiveIncrease::Raw,
];

fn configs(jitter: f64) -> impl Strategy<Value = ReactionPointConfig> {
    let rates = (0_usize..4, 1_u64..2_000_000_000, 0_u64..100_000_000);
    let rest = (
        0_u64..1_000_000_000,
        0_u32..7,
        prop::sample::select(&READINGS[..]),
    );
    (rates, rest).prop_map(
        move |((line, minimum_rate, increase), (hyper, fast_recovery_cycles, adaptive))| {
            let line = [1_000_000, GBIT, 10 * GBIT, 40 * GBIT][line];
            ReactionPointConfig {
                minimum_rate: rate(minimum_rate),
                increase: rate(increase),
                hyper_increase: rate(hyper),
                fast_recovery_cycles,
                adaptive,
                jitter,
                ..ReactionPointConfig::new(rate(line))
            }
        },
    )
}

/// Counters, stages and memory, counted without a look at any rate but "at line rate".
#[derive(Default)]
struct Model {
    active: bool,
    stages: (u32, u32),
    left: u64,
    timer: Option<Time>,
    /// In 1/64 for reading A, in 1 for reading B.
    memory: u32,
}

impl Model {
    fn shortened(stage: u32, config: &ReactionPointConfig) -> u64 {
        if stage > config.fast_recovery_cycles {
            2
        } else {
            1
        }
    }

    fn notify(&mut self, at_line_rate: bool, psi: u8, now: Time, config: &ReactionPointConfig) {
        if psi == 0 {
            return;
        }
        if !self.active || at_line_rate || self.stages.0 > 0 {
            self.left = 150_000;
        }
        (self.active, self.stages) = (true, (0, 0));
        self.timer = Some(now + PERIOD);
        if config.adaptive != AdaptiveIncrease::Off {
            self.memory = (self.memory + u32::from(psi)).min(63 * 64);
        }
    }

    fn send(&mut self, size: u64, config: &ReactionPointConfig) {
        if self.active && self.left <= size {
            self.stages.0 += 1;
            self.left = 150_000 / Self::shortened(self.stages.0, config);
        } else {
            self.left = self.left.saturating_sub(size);
        }
    }

    fn expire(&mut self, now: Time, config: &ReactionPointConfig) {
        let one = if config.adaptive == AdaptiveIncrease::Scaled {
            64
        } else {
            1
        };
        self.memory = self.memory.saturating_sub(one);
        self.stages.1 += u32::from(self.active);
        let period = PERIOD / Self::shortened(self.stages.1, config);
        self.timer = (self.active || self.memory > 0).then_some(now + period);
    }

    fn rest(&mut self, at_line_rate: bool) {
        if self.active && at_line_rate {
            (self.active, self.stages) = (false, (0, 0));
            self.timer = self.timer.filter(|_| self.memory > 0);
        }
    }

    fn memory(&self, reading: AdaptiveIncrease) -> f64 {
        let unit = if reading == AdaptiveIncrease::Scaled {
            64.0
        } else {
            1.0
        };
        f64::from(self.memory) / unit
    }
}

/// What holds of the rates whatever happens.
fn check_rates(bench: &Bench, config: &ReactionPointConfig) -> Result<(), TestCaseError> {
    let (current, target) = bench.rates();
    let line = config.line_rate.bits_per_second();
    let minimum = config.minimum_rate.bits_per_second().min(line);
    prop_assert!((minimum..=line).contains(&current), "{current}");
    prop_assert!((current..=line).contains(&target), "{target}");
    prop_assert!(bench.is_active() || (current, target) == (line, line));
    prop_assert!(
        bench
            .point
            .rate()
            .is_none_or(|rate| rate.bits_per_second() == current)
    );
    Ok(())
}

/// Applies an operation to the reaction point; answers whether it may have lowered the rate.
fn apply(bench: &mut Bench, operation: Operation) -> bool {
    match operation {
        Operation::Notify { psi } => bench.notify(psi),
        Operation::Send { frames, size } => {
            for _ in 0..frames {
                bench
                    .point
                    .on_sent(bench.now, Bytes::new(size), &mut bench.rng);
            }
        }
        Operation::Expire => {
            if bench.point.next_timer().is_some() {
                bench.expire();
            }
        }
        Operation::Early { part } => {
            if let Some(expiry) = bench.point.next_timer() {
                let left = expiry.saturating_since(bench.now);
                bench.now += Span::from_ps(left.as_ps() / 100 * u64::from(part));
                let stages = bench.stages();
                bench.point.on_timer(bench.now, &mut bench.rng);
                assert_eq!(bench.stages(), stages);
            }
        }
        Operation::Rest => bench.rest(),
    }
    matches!(operation, Operation::Notify { .. })
}

proptest! {
    /// Without jitter: stages, timer, memory and activity are those of the model.
    #[test]
    fn stages_follow_an_independent_count(
        config in configs(0.0),
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        let mut bench = Bench::new(config);
        let mut model = Model::default();
        for operation in operations {
            let before = bench.rates().0;
            let at_line_rate = bench.point.rate().is_none_or(|rate| rate == config.line_rate);
            let may_fall = apply(&mut bench, operation);
            match operation {
                Operation::Notify { psi } => model.notify(at_line_rate, psi, bench.now, &config),
                Operation::Send { frames, size } => {
                    (0..frames).for_each(|_| model.send(size, &config));
                }
                Operation::Expire if model.timer.is_some() => model.expire(bench.now, &config),
                Operation::Expire | Operation::Early { .. } => {}
                Operation::Rest => model.rest(at_line_rate),
            }
            check_rates(&bench, &config)?;
            let after = bench.rates().0;
            prop_assert!(after >= before || may_fall && after >= before / 2);
            prop_assert_eq!(bench.is_active(), model.active);
            prop_assert_eq!(bench.stages(), model.stages);
            prop_assert_eq!(bench.point.next_timer(), model.timer);
            prop_assert_eq!(bench.memory().to_bits(), model.memory(config.adaptive).to_bits());
        }
    }

    /// With jitter: the same bounds, and every period drawn from its interval.
    #[test]
    fn jitter_keeps_every_bound(
        config in configs(0.15),
        operations in prop::collection::vec((operation(), any::<u64>()), 1..300),
    ) {
        let mut bench = Bench::new(config);
        for (operation, draw) in operations {
            bench.rng = Constant(draw);
            let timer = bench.point.next_timer();
            apply(&mut bench, operation);
            check_rates(&bench, &config)?;
            let drawn = bench.point.next_timer().filter(|_| bench.point.next_timer() != timer);
            if let Some(expiry) = drawn {
                let stage = bench.stages().1;
                let nominal = PERIOD.as_secs_lossy() / Model::shortened(stage, &config) as f64;
                let stretch = (expiry - bench.now).as_secs_lossy() / nominal;
                prop_assert!((0.85 - 1e-9..=1.15).contains(&stretch), "{stretch}");
            }
        }
    }
}
