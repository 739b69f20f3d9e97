//! Random degradations of a link.

use incastle_engine::network::{Degradation, GilbertElliott, Jitter, JitterDistribution, Loss};
use incastle_units::{Span, Time};
use proptest::prelude::*;

/// The periods in which a link is degraded, within the first 30 ms; often none.
pub(crate) fn degradations() -> impl Strategy<Value = Vec<Degradation>> {
    let periods = prop::collection::vec((0..8_000_u64, 1..20_000_u64, effects()), 1..4);
    let periods = periods.prop_map(|periods| {
        let mut now = 0;
        let periods = periods.into_iter().map(|(gap, length, effects)| {
            let from = now + gap;
            now = from + length;
            Degradation {
                from: Time::ZERO + Span::from_us(from),
                until: Time::ZERO + Span::from_us(now),
                ..effects
            }
        });
        periods.collect()
    });
    prop_oneof![5 => Just(Vec::new()), 2 => periods]
}

fn effects() -> impl Strategy<Value = Degradation> {
    let probability = || prop_oneof![Just(0.0), 0.0..0.2_f64];
    let bursts = (probability(), 0.01..1.0_f64, 0.0..=1.0_f64, probability());
    let loss = prop_oneof![
        probability().prop_map(Loss::Independent),
        bursts.prop_map(|(good_to_bad, bad_to_good, loss_in_bad, loss_in_good)| {
            Loss::Bursts(GilbertElliott {
                good_to_bad,
                bad_to_good,
                loss_in_bad,
                loss_in_good,
            })
        }),
    ];
    let distribution = prop_oneof![
        Just(JitterDistribution::Uniform),
        Just(JitterDistribution::Normal),
        Just(JitterDistribution::Exponential),
        Just(JitterDistribution::Pareto),
    ];
    let jitter = (0..200_u64, distribution).prop_map(|(mean, distribution)| Jitter {
        mean: Span::from_us(mean),
        distribution,
    });
    let bit_errors = prop_oneof![Just(0.0), 1e-7..1e-5_f64];
    (
        prop::option::of(loss),
        prop::option::of(jitter),
        0..100_u64,
        any::<bool>(),
        bit_errors,
    )
        .prop_map(
            |(loss, jitter, extra_delay, reorder, bit_error_rate)| Degradation {
                extra_delay: Span::from_us(extra_delay),
                jitter,
                reorder,
                loss,
                bit_error_rate,
                ..Degradation::none(Time::ZERO, Time::NEVER)
            },
        )
}
