//! QCN's reaction point (IEEE 802.1Qau) as a `RateLimiter`: notifications, byte and time stages,
//! jittered periods, release at line rate.

use incastle_congestion::{Feedback, RateLimiter};
use incastle_units::{Bytes, Rate, Span, Time, random};
use rand_core::Rng;

use crate::support::Constant;

const LINE: f64 = 1e9;
const MINIMUM: f64 = 5e6;
const R_AI: f64 = 5e6;
const R_HAI: f64 = 50e6;
const BYTES: f64 = 150_000.0;
const PERIOD: Span = Span::from_ms(15);
const CYCLES: u32 = 5;

/// Present while the limiter is active.
struct Active {
    current: f64,
    target: f64,
    byte_stage: u32,
    bytes_left: f64,
    time_stage: u32,
    timer: Time,
}

#[derive(Default)]
struct ReactionPoint {
    active: Option<Active>,
}

fn jitter(rng: &mut dyn Rng) -> f64 {
    0.85 + 0.3 * random::uniform(rng)
}

/// A counter or a period is halved once its stage is past the fast-recovery cycles.
fn shortened(stage: u32) -> f64 {
    if stage > CYCLES { 0.5 } else { 1.0 }
}

impl Active {
    fn raise(&mut self, stage: u32) {
        let (least, most) = (
            self.byte_stage.min(self.time_stage),
            self.byte_stage.max(self.time_stage),
        );
        let increase = if most <= CYCLES {
            0.0
        } else if least <= CYCLES {
            R_AI
        } else {
            R_HAI * f64::from(least - CYCLES)
        };
        if stage == 1 && self.target > 10.0 * self.current {
            self.target /= 8.0;
        } else {
            self.target += increase;
        }
        self.target = self.target.min(LINE);
        self.current = f64::midpoint(self.current, self.target);
    }
}

impl RateLimiter for ReactionPoint {
    fn on_cnm(&mut self, now: Time, feedback: Feedback, rng: &mut dyn Rng) {
        let active = self.active.get_or_insert(Active {
            current: LINE,
            target: LINE,
            byte_stage: 0,
            bytes_left: BYTES,
            time_stage: 0,
            timer: now,
        });
        if active.current >= LINE || active.byte_stage != 0 {
            active.target = active.current;
            active.bytes_left = BYTES;
        }
        (active.byte_stage, active.time_stage) = (0, 0);
        let kept = (1.0 - f64::from(feedback.psi) / 128.0).max(0.5);
        active.current = (active.current * kept).max(MINIMUM);
        active.timer = now + PERIOD.scale_lossy(jitter(rng));
    }

    fn on_sent(&mut self, _now: Time, size: Bytes, rng: &mut dyn Rng) {
        let Some(active) = &mut self.active else {
            return;
        };
        active.bytes_left -= size.count() as f64;
        if active.bytes_left <= 0.0 {
            active.byte_stage += 1;
            active.bytes_left = BYTES * shortened(active.byte_stage) * jitter(rng);
            active.raise(active.byte_stage);
        }
    }

    fn on_timer(&mut self, now: Time, rng: &mut dyn Rng) {
        if let Some(active) = &mut self.active {
            active.time_stage += 1;
            let period = shortened(active.time_stage) * jitter(rng);
            active.timer = now + PERIOD.scale_lossy(period);
            active.raise(active.time_stage);
        }
    }

    fn on_idle(&mut self, _now: Time) {
        // The last bit per second is never reached by halving a distance.
        if self
            .active
            .as_ref()
            .is_some_and(|active| active.current > LINE - 1.0)
        {
            self.active = None;
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.active.as_ref().map(|active| active.timer)
    }

    fn rate(&self) -> Option<Rate> {
        let active = self.active.as_ref()?;
        Some(Rate::from_bits_per_second(active.current as u64))
    }
}

fn rate(limiter: &ReactionPoint) -> u64 {
    limiter.rate().expect("active").bits_per_second()
}

#[test]
fn notifications_bytes_and_time_move_the_rate() {
    let (mut limiter, mut rng) = (ReactionPoint::default(), Constant::HALF);
    let cnm = |psi| Feedback { psi };
    assert_eq!((limiter.rate(), limiter.next_timer()), (None, None));

    // psi = 63 at line rate: 1e9 (1 - 63/128) = 507,812,500, target 1e9; the timer in 15 ms.
    limiter.on_cnm(Time::ZERO, cnm(63), &mut rng);
    assert_eq!(rate(&limiter), 507_812_500);
    assert_eq!(limiter.next_timer(), Some(Time::ZERO + PERIOD));
    // A second one in the same byte cycle leaves the target: 507,812,500 x 0.5 (psi = 64 would be
    // the floor of 0.5; 32 is 0.75): 380,859,375.
    limiter.on_cnm(Time::ZERO, cnm(32), &mut rng);
    assert_eq!(rate(&limiter), 380_859_375);

    // 100 frames of 1500 B end the first byte cycle: (380,859,375 + 1e9) / 2 = 690,429,687.
    for _ in 0..100 {
        limiter.on_sent(Time::ZERO, Bytes::new(1500), &mut rng);
    }
    assert_eq!(rate(&limiter), 690_429_687);
    // The timer: (690,429,687.5 + 1e9) / 2 = 845,214,843.
    let due = limiter.next_timer().expect("armed");
    limiter.on_timer(due, &mut rng);
    assert_eq!(rate(&limiter), 845_214_843);
    // A notification now, after a byte stage: target = current; psi = 16: x 0.875 = 739,562,988.
    limiter.on_cnm(due, cnm(16), &mut rng);
    assert_eq!(rate(&limiter), 739_562_988);
    assert_eq!(
        limiter.active.as_ref().map(|a| a.target),
        Some(845_214_843.75)
    );
}

#[test]
fn the_sixth_period_is_active_increase_and_line_rate_releases() {
    let (mut limiter, mut rng) = (ReactionPoint::default(), Constant::HALF);
    limiter.on_cnm(Time::ZERO, Feedback { psi: 63 }, &mut rng);
    // A second notification after one stage sets the target to 753,906,250.
    limiter.on_timer(Time::ZERO, &mut rng);
    for _ in 0..100 {
        limiter.on_sent(Time::ZERO, Bytes::new(1500), &mut rng);
    }
    limiter.on_cnm(Time::ZERO, Feedback { psi: 63 }, &mut rng);
    let target = limiter.active.as_ref().map(|a| a.target).expect("active");
    for _ in 0..5 {
        limiter.on_timer(Time::ZERO, &mut rng);
    }
    assert_eq!(limiter.active.as_ref().map(|a| a.target), Some(target));
    // Sixth timer: M = 6 > 5 >= m = 0: the target grows by R_AI, the next period is halved.
    limiter.on_timer(Time::ZERO, &mut rng);
    assert_eq!(
        limiter.active.as_ref().map(|a| a.target),
        Some(target + R_AI)
    );
    assert_eq!(limiter.next_timer(), Some(Time::ZERO + PERIOD / 2));

    // Below line rate an empty queue changes nothing; at line rate it releases the limiter.
    limiter.on_idle(Time::ZERO);
    assert!(limiter.rate().is_some());
    for _ in 0..200 {
        limiter.on_timer(Time::ZERO, &mut rng);
    }
    limiter.on_idle(Time::ZERO);
    assert_eq!((limiter.rate(), limiter.next_timer()), (None, None));
}
