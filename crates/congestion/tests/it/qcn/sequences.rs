//! Random operations against a model that counts independently.

use incastle_congestion::{AdaptiveIncrease, RateLimiter, ReactionPointConfig};
use incastle_units::{Bytes, Span, Time};
use proptest::prelude::*;

use super::{Bench, GBIT, PERIOD, rate};
use crate::support::Constant;

/// An operation on a limiter.
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
        move |((line, rpg_min_rate, increase), (hyper, rpg_threshold, adaptive))| {
            let line = [1_000_000, GBIT, 10 * GBIT, 40 * GBIT][line];
            ReactionPointConfig {
                rpg_min_rate: rate(rpg_min_rate),
                increase: rate(increase),
                rpg_hai_rate: rate(hyper),
                rpg_threshold,
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
        if stage > config.rpg_threshold { 2 } else { 1 }
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

/// The invariants of the rates.
fn check_rates(bench: &Bench, config: &ReactionPointConfig) -> Result<(), TestCaseError> {
    let (current, target) = bench.rates();
    let line = config.line_rate.bits_per_second();
    let minimum = config.rpg_min_rate.bits_per_second().min(line);
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

/// Applies an operation to the reaction point; returns whether it may have lowered the rate.
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
