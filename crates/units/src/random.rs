//! Numbers from a random source that the caller passes in, by exact arithmetic or `libm` only. A
//! draw is therefore the same on every machine. [`substream`] gives each source its generator.

mod substream;

pub use substream::{Purpose, Source, substream};

use rand_core::Rng;

/// A draw from U[0, 1), with 53 random bits.
pub fn uniform(rng: &mut dyn Rng) -> f64 {
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * UNIT
}

/// A draw from U{0, ..., bound - 1} with a negligible bias (below 2^-32 for bounds under 2^32).
/// `bound` must not be zero.
pub fn below(rng: &mut dyn Rng, bound: u64) -> u64 {
    assert!(bound > 0, "a draw below zero");
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A draw from the exponential distribution with mean 1.
pub fn exponential(rng: &mut dyn Rng) -> f64 {
    // 1 - U lies in (0, 1], so that the logarithm is finite.
    -libm::log(1.0 - uniform(rng))
}

/// A draw from the normal distribution with mean 0 and variance 1 (Box and Muller, "A note on the
/// generation of random normal deviates", 1958). The second of each pair is not used.
pub fn normal(rng: &mut dyn Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * libm::cos(2.0 * std::f64::consts::PI * uniform(rng))
}

/// A draw from the log-normal distribution with mean 1 whose logarithm has the standard deviation
/// `sigma`.
pub fn log_normal(sigma: f64, rng: &mut dyn Rng) -> f64 {
    // The mean of exp(sigma Z) is exp(sigma^2 / 2).
    libm::exp(sigma * normal(rng) - sigma * sigma / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    const DRAWS: u32 = 100_000;

    fn source() -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(1)
    }

    fn mean(mut draw: impl FnMut(&mut dyn Rng) -> f64) -> f64 {
        let mut rng = source();
        (0..DRAWS).map(|_| draw(&mut rng)).sum::<f64>() / f64::from(DRAWS)
    }

    #[test]
    fn uniform_draws_fill_the_unit_interval() {
        let mut rng = source();
        assert!((0..DRAWS).all(|_| (0.0..1.0).contains(&uniform(&mut rng))));
        // Five standard errors: 5 / sqrt(12 x 1e5) = 0.0046.
        assert!((mean(uniform) - 0.5).abs() < 0.0046);
    }

    #[test]
    fn draws_below_a_bound_take_every_value_equally() {
        let mut rng = source();
        let mut counts = [0_i32; 7];
        for _ in 0..70_000 {
            counts[below(&mut rng, 7) as usize] += 1;
        }
        // Five standard deviations: 5 sqrt(70000 x 1/7 x 6/7) = 463.
        assert!(
            counts.iter().all(|count| (count - 10_000).abs() < 463),
            "{counts:?}"
        );
        assert_eq!(below(&mut rng, 1), 0);
    }

    #[test]
    #[should_panic(expected = "a draw below zero")]
    fn a_draw_from_nothing_is_a_defect() {
        let _ = below(&mut source(), 0);
    }

    #[test]
    fn exponential_draws_have_mean_and_variance_one() {
        let square = |rng: &mut dyn Rng| {
            let draw = exponential(rng);
            draw * draw
        };
        // Five standard errors: of the mean 5 / sqrt(1e5) = 0.016, of the square 5 sqrt(20/1e5).
        assert!((mean(exponential) - 1.0).abs() < 0.016);
        assert!((mean(square) - 2.0).abs() < 0.071);
        let mut rng = source();
        assert!((0..DRAWS).all(|_| exponential(&mut rng) >= 0.0));
    }

    #[test]
    fn normal_draws_have_the_moments_of_their_distribution() {
        let power = |n| move |rng: &mut dyn Rng| libm::pow(normal(rng), n);
        // Five standard errors, of variances 1, 2 and 96: the moments of order 2n less the squares.
        assert!((mean(power(1.0))).abs() < 0.016);
        assert!((mean(power(2.0)) - 1.0).abs() < 0.023);
        assert!((mean(power(4.0)) - 3.0).abs() < 0.16);
    }

    #[test]
    fn log_normal_draws_have_mean_one() {
        // Variance e^0.25 - 1 = 0.284; five standard errors: 5 sqrt(0.284 / 1e5) = 0.0084.
        assert!((mean(|rng| log_normal(0.5, rng)) - 1.0).abs() < 0.0084);
        // The median lies below by the factor exp(-sigma^2 / 2).
        let mut rng = source();
        let below = (0..DRAWS).filter(|_| log_normal(2.0, &mut rng) < 0.135_335_283);
        // Five standard deviations: 5 sqrt(1e5) / 2 = 791.
        assert!(below.count().abs_diff(50_000) < 791);
    }

    /// Recorded once: a change here changes every result of every scenario.
    #[test]
    fn draws_are_the_same_on_every_machine() {
        let mut rng = source();
        let draws = [
            uniform(&mut rng),
            exponential(&mut rng),
            exponential(&mut rng),
        ];
        let recorded: [u64; 3] = [
            0x3fe9_f8ba_0fed_e078,
            0x3ff5_ff19_137a_42af,
            0x3fbb_03e5_6922_3ed7,
        ];
        assert_eq!(draws.map(f64::to_bits), recorded);
    }
}
