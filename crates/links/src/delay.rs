//! Random delays of packets on a link, in addition to its own.
//!
//! They are never negative, so that no packet is faster than the link. Leaves out: delays that depend on those of the
//! packets before (other than to keep the order), distributions from measurements.

use incastle_units::{Span, random};
use rand_core::Rng;

/// The random delay that a link adds to each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jitter {
    /// Its mean.
    pub mean: Span,
    /// Its distribution.
    pub distribution: JitterDistribution,
}

/// The distribution of a random delay, with mean 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JitterDistribution {
    /// Uniform between 0 and 2.
    #[default]
    Uniform,
    /// Normal with the standard deviation 1/3, cut off at 0 and 2.
    Normal,
    /// Exponential.
    Exponential,
    /// Pareto's of the second kind (Lomax), which begins at 0, with the shape 3, which is also that of netem's table.
    Pareto,
}

impl Jitter {
    /// A draw.
    pub(crate) fn draw(&self, rng: &mut dyn Rng) -> Span {
        self.mean.scale_lossy(self.distribution.draw(rng))
    }
}

impl JitterDistribution {
    fn draw(self, rng: &mut dyn Rng) -> f64 {
        match self {
            Self::Uniform => 2.0 * random::uniform(rng),
            Self::Normal => loop {
                let draw = 1.0 + random::normal(rng) / 3.0;
                if (0.0..=2.0).contains(&draw) {
                    return draw;
                }
            },
            Self::Exponential => random::exponential(rng),
            // By inversion: P(X > x) = (1 + x / s)^-3 has the mean s / 2.
            Self::Pareto => 2.0 * (1.0 / libm::cbrt(1.0 - random::uniform(rng)) - 1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::random::{Purpose, Source, substream};

    use super::*;

    const DRAWS: usize = 400_000;

    /// Draws in order of size.
    fn draws(distribution: JitterDistribution) -> Vec<f64> {
        let mut rng = substream(1, Source::Port, 0, Purpose::Delay);
        let mut draws: Vec<f64> = (0..DRAWS).map(|_| distribution.draw(&mut rng)).collect();
        draws.sort_unstable_by(f64::total_cmp);
        draws
    }

    #[test]
    fn delays_have_their_mean_and_quartiles() {
        use JitterDistribution::{Exponential, Normal, Pareto, Uniform};
        // The third quartile of the normal distribution is 0.6745 deviations above the mean, that of Lomax
        // 2 (4^(1/3) - 1).
        let (ln_2, cbrt_4) = (std::f64::consts::LN_2, libm::cbrt(4.0));
        for (distribution, third_quartile) in [
            (Uniform, 1.5),
            (Normal, 1.0 + 0.6745 / 3.0),
            (Exponential, 2.0 * ln_2),
            (Pareto, 2.0 * (cbrt_4 - 1.0)),
        ] {
            let draws = draws(distribution);
            let mean = draws.iter().sum::<f64>() / DRAWS as f64;
            assert!((mean - 1.0).abs() < 0.02, "{distribution:?}: mean {mean}");
            let found = draws[DRAWS * 3 / 4];
            assert!(
                (found - third_quartile).abs() < 0.01,
                "{distribution:?}: {found}"
            );
            assert!(draws[0] >= 0.0);
        }
        let normal = draws(Normal);
        assert!(normal[DRAWS - 1] <= 2.0);
    }

    #[test]
    fn a_delay_has_the_unit_of_its_mean() {
        let mut rng = substream(1, Source::Port, 0, Purpose::Delay);
        let jitter = Jitter {
            mean: Span::from_us(10),
            distribution: JitterDistribution::Uniform,
        };
        assert!((0..1_000).all(|_| jitter.draw(&mut rng) <= Span::from_us(20)));
    }
}
