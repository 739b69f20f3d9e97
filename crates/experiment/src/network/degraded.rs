//! Degraded links: from the entries of `[network.degraded]` to the periods and rates of a direction.

use incastle_engine::network::{
    Degradation, GilbertElliott, Jitter, JitterDistribution, Loss, RateChange,
};
use incastle_scenario::language::degraded::{self as language, Degraded};
use incastle_scenario::language::network::Network;
use incastle_scenario::topology::layout::{End, Link};
use incastle_units::{Rate, Span, Time};

/// The rates of a direction of a link.
pub(crate) struct Rates {
    pub(crate) initial: Rate,
    pub(crate) changes: Vec<RateChange>,
}

/// The rates of the direction of a link from a node: the lower of the scheduled and the degraded one.
pub(crate) fn rates(from: End, link: &Link, network: &Network) -> Rates {
    let mut instants: Vec<Span> = link.schedule.iter().map(|(at, _)| *at).collect();
    for one in entries(from, link, network) {
        instants.extend(one.rate.map(|_| one.from));
        instants.extend(one.rate.and(one.until));
    }
    instants.sort_unstable();
    instants.dedup();
    let initial = rate_at(Span::ZERO, from, link, network);
    let later = instants.into_iter().filter(|at| *at > Span::ZERO);
    let changes = later.map(|at| RateChange {
        at: Time::ZERO + at,
        rate: rate_at(at, from, link, network),
    });
    Rates {
        initial,
        changes: changes.collect(),
    }
}

fn rate_at(at: Span, from: End, link: &Link, network: &Network) -> Rate {
    let scheduled = link.schedule.iter().rfind(|(since, _)| *since <= at);
    let scheduled = scheduled.map_or(link.rate, |(_, rate)| *rate);
    let mut entries = entries(from, link, network);
    let present = entries.find(|one| one.from <= at && one.until.is_none_or(|until| at < until));
    let degraded = present.and_then(|one| one.rate);
    degraded.map_or(scheduled, |rate| rate.min(scheduled))
}

/// Losses and delays of packets on the direction of a link from a node.
pub(super) fn degradations(from: End, link: &Link, network: &Network) -> Vec<Degradation> {
    let entries = entries(from, link, network).filter(|one| one.affects_packets());
    entries.map(|one| degradation(one, link)).collect()
}

/// The entries for a direction, in order of time.
fn entries<'a>(
    from: End,
    link: &'a Link,
    network: &'a Network,
) -> impl Iterator<Item = &'a Degraded> {
    let direction = usize::from(from != link.ends.0);
    let of_direction = link
        .degraded
        .iter()
        .filter(move |by| by.directions[direction]);
    of_direction.map(|by| &network.degraded[by.entry].1)
}

fn degradation(entry: &Degraded, link: &Link) -> Degradation {
    let delay = entry.delay.unwrap_or(link.delay);
    Degradation {
        from: Time::ZERO + entry.from,
        until: entry.until.map_or(Time::NEVER, |until| Time::ZERO + until),
        extra_delay: delay.saturating_sub(link.delay),
        jitter: (entry.jitter > Span::ZERO).then_some(Jitter {
            mean: entry.jitter,
            distribution: entry
                .jitter_distribution
                .map_or_else(Default::default, distribution),
        }),
        reorder: entry.reorder,
        loss: entry.loss.as_ref().map(loss),
        bit_error_rate: entry.bit_error_rate,
    }
}

fn loss(loss: &language::Loss) -> Loss {
    match loss {
        language::Loss::Independent(share) => Loss::Independent(share.fraction()),
        language::Loss::Bursts(bursts) => Loss::Bursts(GilbertElliott {
            good_to_bad: bursts.good_to_bad.fraction(),
            bad_to_good: bursts.bad_to_good.fraction(),
            loss_in_bad: bursts.loss_in_bad.fraction(),
            loss_in_good: bursts.loss_in_good.fraction(),
        }),
    }
}

const fn distribution(distribution: language::JitterDistribution) -> JitterDistribution {
    match distribution {
        language::JitterDistribution::Uniform => JitterDistribution::Uniform,
        language::JitterDistribution::Normal => JitterDistribution::Normal,
        language::JitterDistribution::Exponential => JitterDistribution::Exponential,
        language::JitterDistribution::Pareto => JitterDistribution::Pareto,
    }
}
