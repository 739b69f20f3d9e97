//! Random gaps between the instants at which flows, requests and datagrams begin.

use incastle_engine::core::Purpose;
use incastle_scenario::language::flows;
use incastle_units::{Span, Time, random};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::group::GroupContext;

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

/// The random instants at which a group begins its flows or incasts.
pub(crate) struct Arrivals {
    interarrival: Interarrival,
    rng: Xoshiro256PlusPlus,
    next: Time,
}

impl Arrivals {
    /// The first is one gap after the group's start.
    pub(crate) fn new(
        context: &GroupContext<'_>,
        per_second: f64,
        distribution: &flows::InterarrivalDistribution,
    ) -> Self {
        let mut arrivals = Self {
            interarrival: Interarrival::new(per_second, distribution),
            rng: context.stream(0, Purpose::Arrivals),
            next: Time::ZERO,
        };
        arrivals.advance(Time::ZERO.saturating_add(context.group.start));
        arrivals
    }

    /// The next instant.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// Draws the instant after `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        self.next = now.saturating_add(self.interarrival.draw(&mut self.rng));
    }
}

/// A span from U(0, ...) with the exponential distribution of this mean, at least 1 ps.
pub(crate) fn exponential_span(mean: Span, rng: &mut Xoshiro256PlusPlus) -> Span {
    mean.scale_lossy(random::exponential(rng))
        .max(Span::from_ps(1))
}
