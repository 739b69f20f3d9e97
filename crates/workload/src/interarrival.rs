//! Random gaps between the instants at which flows, requests and datagrams begin.

use incastle_scenario::language::flows;
use incastle_units::{Span, random};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The gaps between random instants.
#[derive(Clone, Copy)]
pub(crate) struct Interarrival {
    mean: Span,
    /// The parameter of log-normal gaps; absent for a Poisson process.
    sigma: Option<f64>,
}

impl Interarrival {
    pub(crate) fn new(per_second: f64, gaps: &flows::InterarrivalDistribution) -> Self {
        Self {
            mean: Span::from_secs_lossy(1.0 / per_second).max(Span::from_ps(1)),
            sigma: match gaps {
                flows::InterarrivalDistribution::Exponential(_) => None,
                flows::InterarrivalDistribution::LogNormal(log_normal) => Some(log_normal.sigma),
            },
        }
    }

    /// The next gap, at least 1 ps.
    pub(crate) fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> Span {
        let Some(sigma) = self.sigma else {
            return exponential_span(self.mean, rng);
        };
        let gap = self.mean.scale_lossy(random::log_normal(sigma, rng));
        gap.max(Span::from_ps(1))
    }
}

/// A span from U(0, ...) with the exponential distribution of this mean, at least 1 ps.
pub(crate) fn exponential_span(mean: Span, rng: &mut Xoshiro256PlusPlus) -> Span {
    mean.scale_lossy(random::exponential(rng))
        .max(Span::from_ps(1))
}
