//! Pools of delays, to draw from for flows at links that were not simulated.
//!
//! Section 3.4 of the NSDI paper puts the delays at a link into buckets by the size of flows. Here the fluid
//! determines whether a flow had a bottleneck. Every other flow has a situation at each link: idle, busy, or full
//! of others. A draw for such a flow at a link is from flows in the same situation and of about the same
//! size. Their ports have the same rate and discipline, in any tier.
//!
//! A flow with a bottleneck draws once, from flows with a bottleneck, of about its size and its time in the
//! fluid. The time that packets add depends on that: it is more for short times, and less for long ones. It
//! is not scaled: it comes from queues met once, which do not grow with the size of a flow.
//!
//! The delay of a flow that the end of the scenario cut off is only known to be longer than the time that it had.
//! If it is drawn, one of the longer ones is drawn in its place (redistribution to the right, B. Efron, "The two
//! sample problem with censored data", 1967). Delays are then distributed as in E. Kaplan, P. Meier,
//! "Nonparametric estimation from incomplete observations", JASA 53 (1958).

use std::collections::BTreeMap;

use incastle_engine::core::Digest;
use incastle_units::{Span, Time};

use crate::clusters::{Clusters, PortKind};
use crate::crossings::{Directed, FlowAtHop};
use crate::delays::{Delays, difference};
use crate::paces::Decomposition;
use crate::watch::{BUSY, FULL};

/// The number of flows to draw from, where there are as many: more would include other sizes where samples are few.
const ENOUGH: usize = 10;

/// The situations of a flow at a link.
const SITUATIONS: usize = 4;

/// The situation of flows with a bottleneck.
const BOTTLENECKED: usize = 3;

/// The simulated links, and their delays.
#[derive(Clone, Copy)]
pub(super) struct Simulated<'a> {
    pub(super) clusters: &'a Clusters,
    /// By link.
    pub(super) delays: &'a BTreeMap<usize, Delays>,
    /// By flow: its time alone under its own transport.
    pub(super) ideals: &'a [Option<Span>],
}

/// The properties by which flows at links are matched.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traits {
    /// Idle, busy, full, or with a bottleneck somewhere.
    situation: usize,
    packets: u64,
    /// Packets that it could have sent in addition without bottlenecks.
    missed: f64,
}

/// A flow to draw.
struct Sample {
    traits: Traits,
    /// If it was not complete, a lower bound: the delay with which it would be complete at the end of the scenario.
    delay: i64,
    is_complete: bool,
    /// Links that its link represents.
    weight: u64,
}

/// The flows at simulated links behind one kind of port, by situation.
#[derive(Default)]
pub(super) struct Pool {
    situations: [Drawer; SITUATIONS],
}

/// Flows in ascending order of their packets.
#[derive(Default)]
struct Drawer {
    samples: Vec<Sample>,
    /// Sums of weights up to each.
    weights: Vec<u64>,
}

impl Traits {
    /// The traits of a flow at a link of its path.
    pub(super) fn of(decomposition: Decomposition<'_>, at: FlowAtHop) -> Self {
        let Decomposition { whole, paces } = decomposition;
        let flow = at.flow;
        let situation = match paces.mark(whole, at) {
            _ if paces.bottlenecks().timed_at(flow).is_some() => BOTTLENECKED,
            mark if mark & FULL != 0 => 2,
            mark if mark & BUSY != 0 => 1,
            _ => 0,
        };
        Self {
            situation,
            packets: whole.packets(flow),
            missed: paces.missed(whole, flow),
        }
    }

    /// The distance of flows with a bottleneck: the product of two ratios.
    fn distance(&self, other: &Self) -> f64 {
        self.in_size(other) * ratio(1.0 + self.missed, 1.0 + other.missed)
    }

    fn in_size(&self, other: &Self) -> f64 {
        ratio(self.packets as f64, other.packets as f64)
    }
}

/// At least one.
fn ratio(a: f64, b: f64) -> f64 {
    a.max(b) / a.min(b)
}

/// The pools of all kinds of ports.
pub(super) fn pools(
    decomposition: Decomposition<'_>,
    simulated: Simulated<'_>,
) -> BTreeMap<PortKind, Pool> {
    let Decomposition { whole, paces } = decomposition;
    let Simulated {
        clusters,
        delays,
        ideals,
    } = simulated;
    // The delay of a flow that is complete at the end of the scenario.
    let end = Time::ZERO + whole.scenario.duration();
    let had_time = |flow: usize| {
        let fluid = whole.flows[flow].at.saturating_add(ideals[flow]?);
        Some(difference(end, fluid.saturating_add(paces.longer(flow))))
    };
    let mut pools: BTreeMap<PortKind, Pool> = BTreeMap::new();
    for links in clusters.of_class() {
        for &(link, weight) in links {
            let Some(delays) = delays.get(&link) else {
                continue;
            };
            let flows = whole.crossings.on(link).iter();
            for (&flow, &delay) in flows.zip(&delays.of_flows) {
                let flow = flow as usize;
                let hop = whole.crossings.place(flow, link);
                if paces
                    .bottlenecks()
                    .timed_at(flow)
                    .is_some_and(|timed| timed != hop)
                {
                    continue;
                }
                let direction = whole.crossings.direction(flow, link);
                let kind = clusters.port_kind(Directed { link, direction });
                let pool = pools.entry(kind).or_default();
                let traits = Traits::of(decomposition, FlowAtHop { flow, hop });
                pool.situations[traits.situation].samples.push(Sample {
                    traits,
                    delay: delay.or_else(|| had_time(flow)).unwrap_or(i64::MIN),
                    is_complete: delay.is_some(),
                    weight,
                });
            }
        }
    }
    for pool in pools.values_mut() {
        pool.situations.iter_mut().for_each(Drawer::sort);
    }
    pools
}

/// The delay of a flow like this one at a port of this kind. Without suitable flows at such ports, at ports of
/// the nearest rate; zero without any at all. Absent if it would not be complete.
pub(super) fn draw(
    pools: &BTreeMap<PortKind, Pool>,
    kind: PortKind,
    traits: &Traits,
    random: u64,
) -> Option<i64> {
    let own = pools.get(&kind).and_then(|pool| pool.suited(traits));
    let drawer = own.or_else(|| {
        let mut others: Vec<(&PortKind, &Pool)> = pools.iter().collect();
        others.sort_by_key(|(other, _)| (other.0.abs_diff(kind.0), **other));
        others.into_iter().find_map(|(_, pool)| pool.suited(traits))
    });
    drawer.map_or(Some(0), |drawer| drawer.draw(traits, random))
}

impl Pool {
    /// The flows to draw from for one like this: those of its situation. Without any, those of the nearest other
    /// situation without a bottleneck, for a flow without one.
    fn suited(&self, traits: &Traits) -> Option<&Drawer> {
        let own = traits.situation;
        let near = (0..SITUATIONS).flat_map(|far| [own.checked_sub(far), Some(own + far)]);
        let alike = |near: &usize| (*near == BOTTLENECKED) == (own == BOTTLENECKED);
        let mut known = near.flatten().filter(alike);
        known.find_map(|near| {
            self.situations
                .get(near)
                .filter(|drawer| !drawer.samples.is_empty())
        })
    }
}

impl Drawer {
    fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.traits.packets);
        let mut sum = 0;
        self.weights.push(0);
        for sample in &self.samples {
            sum += sample.weight;
            self.weights.push(sum);
        }
    }

    fn draw(&self, traits: &Traits, random: u64) -> Option<i64> {
        if traits.situation == BOTTLENECKED {
            let nearest = self.nearest(traits);
            return or_longer(drawn(&nearest, random), || nearest.clone(), random);
        }
        let (from, to) = self.window(traits.packets);
        let (first, last) = (self.weights[from], self.weights[to]);
        let place = first + share(random, last - first);
        let sample = self.weights.partition_point(|weight| *weight <= place) - 1;
        let all = || self.samples[from..to].iter().collect();
        or_longer(&self.samples[sample], all, random)
    }

    /// The flows nearest in size and missed packets, the nearest first.
    fn nearest(&self, traits: &Traits) -> Vec<&Sample> {
        let begin = self
            .samples
            .partition_point(|sample| sample.traits.packets < traits.packets);
        let (below, above) = self.samples.split_at(begin);
        let (mut below, mut above) = (below.iter().rev().peekable(), above.iter().peekable());
        let mut nearest: Vec<(f64, &Sample)> = Vec::with_capacity(ENOUGH + 1);
        let in_size = |sample: &&Sample| traits.in_size(&sample.traits);
        loop {
            let sides = (below.peek().map(in_size), above.peek().map(in_size));
            let (next, sample) = match sides {
                (Some(next), other) if other.is_none_or(|other| next <= other) => {
                    (next, below.next())
                }
                (_, Some(next)) => (next, above.next()),
                _ => break,
            };
            let last = nearest.get(ENOUGH - 1).map_or(f64::INFINITY, |last| last.0);
            if next >= last {
                break;
            }
            let sample = sample.expect("it was seen");
            let distance = traits.distance(&sample.traits);
            if distance >= last {
                continue;
            }
            let place = nearest.partition_point(|near| near.0 <= distance);
            nearest.insert(place, (distance, sample));
            nearest.truncate(ENOUGH);
        }
        nearest.into_iter().map(|near| near.1).collect()
    }

    /// The flows of the same size, and if they are too few, as many next to them on either side.
    fn window(&self, packets: u64) -> (usize, usize) {
        let from = self
            .samples
            .partition_point(|sample| sample.traits.packets < packets);
        let to = self
            .samples
            .partition_point(|sample| sample.traits.packets <= packets);
        let more = ENOUGH.saturating_sub(to - from).div_ceil(2);
        (
            from.saturating_sub(more),
            (to + more).min(self.samples.len()),
        )
    }
}

/// One of some, weighted by the links that it represents.
fn drawn<'a>(samples: &[&'a Sample], random: u64) -> &'a Sample {
    let sum = samples.iter().map(|sample| sample.weight).sum();
    let mut place = share(random, sum);
    let drawn = samples.iter().find(|sample| {
        let found = place < sample.weight;
        place = place.saturating_sub(sample.weight);
        found
    });
    drawn.expect("a place is below the sum of weights")
}

/// The delay of a drawn flow. If it was not complete, that of one of those with a longer delay;
/// absent where there are none.
fn or_longer<'a>(
    first: &'a Sample,
    all: impl FnOnce() -> Vec<&'a Sample>,
    mut random: u64,
) -> Option<i64> {
    if first.is_complete {
        return Some(first.delay);
    }
    let (mut sample, mut longer) = (first, all());
    while !sample.is_complete {
        longer.retain(|other| other.delay > sample.delay);
        if longer.is_empty() {
            return None;
        }
        let mut digest = Digest::default();
        digest.mix(random, sample.traits.packets);
        random = digest.value();
        sample = drawn(&longer, random);
    }
    Some(sample.delay)
}

/// A random share of the total.
fn share(random: u64, whole: u64) -> u64 {
    ((u128::from(random) * u128::from(whole)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(situation: usize, packets: u64, missed: f64) -> Traits {
        Traits {
            situation,
            packets,
            missed,
        }
    }

    /// A pool of delays and weights.
    fn pool(samples: &[(Traits, i64, u64)]) -> Pool {
        let mut pool = Pool::default();
        for &(traits, delay, weight) in samples {
            pool.situations[traits.situation].samples.push(Sample {
                traits,
                delay,
                is_complete: true,
                weight,
            });
        }
        pool.situations.iter_mut().for_each(Drawer::sort);
        pool
    }

    /// A draw at ports of one rate, if there are any like it.
    fn drawn(pools: &BTreeMap<PortKind, Pool>, rate: u64, wanted: &Traits) -> Option<i64> {
        draw(pools, (rate, None, None), wanted, u64::MAX / 2)
    }

    #[test]
    fn what_is_drawn_is_of_the_same_situation_or_the_nearest() {
        let one = pool(&[(traits(0, 1, 0.0), 10, 1), (traits(2, 1, 0.0), 30, 1)]);
        let pools = BTreeMap::from([((10, None, None), one)]);
        let found = |situation| drawn(&pools, 10, &traits(situation, 1, 0.0));
        assert_eq!([0, 2].map(found), [Some(10), Some(30)]);
        // As near to both: the lesser.
        assert_eq!(found(1), Some(10));
        // No flow had a bottleneck.
        assert_eq!(found(BOTTLENECKED), Some(0));
    }

    #[test]
    fn ports_of_the_nearest_rate_stand_in() {
        let held = pool(&[(traits(BOTTLENECKED, 1, 0.0), 10, 1)]);
        let others = [20, 90].map(|delay| pool(&[(traits(1, 1, 0.0), delay, 1)]));
        let rates = [10, 20, 90].map(|rate| (rate, None, None));
        let pools: BTreeMap<PortKind, Pool> = rates
            .into_iter()
            .zip([held].into_iter().chain(others))
            .collect();
        assert_eq!(drawn(&pools, 10, &traits(0, 1, 0.0)), Some(20));
        assert_eq!(
            drawn(&pools, 60, &traits(0, 1, 0.0)),
            Some(90),
            "of no such rate"
        );
        assert_eq!(drawn(&pools, 90, &traits(BOTTLENECKED, 1, 0.0)), Some(10));
    }

    #[test]
    fn sizes_next_to_a_size_join_until_there_are_enough() {
        let sizes =
            |packets: u64, count| std::iter::repeat_n((traits(0, packets, 0.0), 0, 1), count);
        let few: Vec<_> = sizes(1, 30)
            .chain(sizes(5, 4))
            .chain(sizes(9, 30))
            .collect();
        let drawer = &pool(&few).situations[0];
        assert_eq!(drawer.window(1), (0, 30), "enough of the same");
        assert_eq!(drawer.window(5), (27, 37), "6 more, half on either side");
        assert_eq!(drawer.window(100), (59, 64), "none above");
    }

    #[test]
    fn flows_that_were_held_up_alike_are_drawn() {
        // Flow number n of 100 packets has missed n; as many flows of 400 packets have missed 7 each.
        let some = (0..40_u32).map(|missed| (traits(BOTTLENECKED, 100, f64::from(missed)), 0, 1));
        let others = (0..40_u32).map(|_| (traits(BOTTLENECKED, 400, 7.0), 0, 1));
        let all: Vec<_> = others.chain(some).collect();
        let drawer = &pool(&all).situations[BOTTLENECKED];
        let missed = |wanted: Traits| {
            let nearest = drawer.nearest(&wanted).into_iter();
            let mut missed: Vec<u64> = nearest.map(|sample| sample.traits.missed as u64).collect();
            missed.sort_unstable();
            missed
        };
        // 14 / 8 is less than 8 / 4: 13 is nearer than 3.
        assert_eq!(
            missed(traits(BOTTLENECKED, 100, 7.0)),
            [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
        );
        assert_eq!(
            missed(traits(BOTTLENECKED, 300, 7.0)),
            [7; ENOUGH],
            "the larger are nearer"
        );
    }

    /// Delays of some flows, each complete or not, drawn many times: the share of each in %.
    fn shares(samples: &[(i64, bool)]) -> Vec<(Option<i64>, u64)> {
        let mut pool = Pool::default();
        let wanted = traits(BOTTLENECKED, 7, 1.0);
        for &(delay, is_complete) in samples {
            pool.situations[BOTTLENECKED].samples.push(Sample {
                traits: wanted,
                delay,
                is_complete,
                weight: 1,
            });
        }
        pool.situations.iter_mut().for_each(Drawer::sort);
        let mut counts: BTreeMap<Option<i64>, u64> = BTreeMap::new();
        for turn in 0..30_000_u64 {
            let mut digest = Digest::default();
            digest.mix(turn, 0);
            let drawn = pool.situations[BOTTLENECKED].draw(&wanted, digest.value());
            *counts.entry(drawn).or_default() += 1;
        }
        let shares = counts.into_iter();
        shares
            .map(|(delay, count)| (delay, (count + 150) / 300))
            .collect()
    }

    #[test]
    fn a_flow_that_was_cut_off_is_one_of_those_with_longer_delays() {
        // Kaplan and Meier: a fifth each at 10 and 15. The fifth of 20 is cut off: 30 and 40 get half of it each.
        let some = |last| [(10, true), (15, true), (20, false), (30, true), (40, last)];
        let known = [
            (Some(10), 20),
            (Some(15), 20),
            (Some(30), 30),
            (Some(40), 30),
        ];
        assert_eq!(shares(&some(true)), known);
        // With the last one cut off as well, longer delays are unknown.
        let known = [(None, 30), (Some(10), 20), (Some(15), 20), (Some(30), 30)];
        assert_eq!(shares(&some(false)), known);
    }

    #[test]
    fn a_link_is_drawn_as_often_as_it_stands_for_others() {
        for situation in [1, BOTTLENECKED] {
            let pool = pool(&[
                (traits(situation, 7, 1.0), 1, 3),
                (traits(situation, 7, 1.0), 2, 1),
            ]);
            let wanted = traits(situation, 7, 1.0);
            let drawer = pool.suited(&wanted).expect("there are two");
            let drawn = (0..4_u64).map(|quarter| drawer.draw(&wanted, (quarter << 62) + 1));
            let drawn: Vec<Option<i64>> = drawn.collect();
            assert_eq!(drawn, [Some(1), Some(1), Some(1), Some(2)]);
        }
    }
}
