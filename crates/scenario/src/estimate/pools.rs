//! Delays to draw from, for flows at links that were not simulated.
//!
//! Section 3.4 of the NSDI paper puts the delays at a link into buckets by the size of flows. Here what is
//! drawn is only what packets add to the fluid, and the fluid knows of every flow at every link what that
//! link was to it: idle, busy, full of others, or what held it up. A draw is from flows to which their link
//! was the same, of about the same size, at ports of the same rate and discipline, whatever tier they are
//! in. It is not scaled: what packets add is queues met once, which do not grow with the size of a flow.

use std::collections::BTreeMap;

use super::clusters::{Clusters, PortKind};
use super::crossings::Directed;
use super::delays::Delays;
use super::paces::{BUSY, FULL, HELD_UP, Paces};
use super::surroundings::Whole;

/// Flows to draw from, where there are as many: more would reach to other sizes where samples are few.
const ENOUGH: usize = 20;

/// What a link can be to a flow.
const SITUATIONS: usize = 4;

/// A flow to draw.
struct Sample {
    packets: u64,
    /// Absent if it was not complete.
    delay: Option<i64>,
    /// Links that its link stands for.
    weight: u64,
}

/// The flows at simulated links that one kind of port feeds, by what their link was to them.
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

/// What a link was to a flow, by its mark: idle, busy, full, or what held it up.
pub(super) fn situation(mark: u8) -> usize {
    match mark {
        _ if mark & HELD_UP != 0 => 3,
        _ if mark & FULL != 0 => 2,
        _ if mark & BUSY != 0 => 1,
        _ => 0,
    }
}

/// The pools of all kinds of ports.
pub(super) fn pools(
    (whole, paces): (&Whole<'_>, &Paces),
    clusters: &Clusters,
    delays: &BTreeMap<usize, Delays>,
) -> BTreeMap<PortKind, Pool> {
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
                let direction = whole.crossings.direction(flow, link);
                let kind = clusters.port_kind(Directed { link, direction });
                let pool = pools.entry(kind).or_default();
                let drawer = &mut pool.situations[situation(paces.mark(whole, (flow, hop)))];
                drawer.samples.push(Sample {
                    packets: whole.packets(flow),
                    delay,
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

impl Pool {
    /// The delay of a flow of about this size in this situation; in the nearest one in which there are
    /// any.
    pub(super) fn draw(&self, situation: usize, packets: u64, random: u64) -> Option<i64> {
        let near =
            (0..SITUATIONS).flat_map(|far| [situation.checked_sub(far), Some(situation + far)]);
        let mut known = near.flatten().filter_map(|near| self.situations.get(near));
        let drawer = known.find(|drawer| !drawer.samples.is_empty());
        let drawer = drawer.expect("of each class and direction some links are simulated");
        drawer.draw(packets, random).delay
    }
}

impl Drawer {
    fn sort(&mut self) {
        self.samples.sort_by_key(|sample| sample.packets);
        let mut sum = 0;
        self.weights.push(0);
        for sample in &self.samples {
            sum += sample.weight;
            self.weights.push(sum);
        }
    }

    fn draw(&self, packets: u64, random: u64) -> &Sample {
        let (from, to) = self.window(packets);
        let (first, last) = (self.weights[from], self.weights[to]);
        let place = first + ((u128::from(random) * u128::from(last - first)) >> 64) as u64;
        &self.samples[self.weights.partition_point(|weight| *weight <= place) - 1]
    }

    /// Those of the same size, and if they are too few, as many next to them on either side.
    fn window(&self, packets: u64) -> (usize, usize) {
        let from = self
            .samples
            .partition_point(|sample| sample.packets < packets);
        let to = self
            .samples
            .partition_point(|sample| sample.packets <= packets);
        let more = ENOUGH.saturating_sub(to - from).div_ceil(2);
        (
            from.saturating_sub(more),
            (to + more).min(self.samples.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(samples: &[(usize, u64, i64, u64)]) -> Pool {
        let mut pool = Pool::default();
        for &(situation, packets, delay, weight) in samples {
            pool.situations[situation].samples.push(Sample {
                packets,
                delay: Some(delay),
                weight,
            });
        }
        pool.situations.iter_mut().for_each(Drawer::sort);
        pool
    }

    #[test]
    fn what_is_drawn_is_of_the_same_situation_or_the_nearest() {
        let pool = pool(&[(0, 1, 10, 1), (2, 1, 30, 1)]);
        let drawn = |situation| pool.draw(situation, 1, u64::MAX / 2);
        assert_eq!([0, 2, 3].map(drawn), [Some(10), Some(30), Some(30)]);
        // As near to both: the lesser.
        assert_eq!(drawn(1), Some(10));
    }

    #[test]
    fn sizes_next_to_a_size_join_until_there_are_enough() {
        let sizes = |packets: u64, count| std::iter::repeat_n((0, packets, 0, 1), count);
        let few: Vec<_> = sizes(1, 30)
            .chain(sizes(5, 4))
            .chain(sizes(9, 30))
            .collect();
        let drawer = &pool(&few).situations[0];
        assert_eq!(drawer.window(1), (0, 30), "enough of the same");
        assert_eq!(drawer.window(5), (22, 42), "16 more, half on either side");
        assert_eq!(drawer.window(100), (54, 64), "none above");
    }

    #[test]
    fn a_link_is_drawn_as_often_as_it_stands_for_others() {
        let pool = pool(&[(1, 7, 1, 3), (1, 7, 2, 1)]);
        let drawn = (0..4_u64).map(|quarter| pool.draw(1, 7, (quarter << 62) + 1));
        let drawn: Vec<Option<i64>> = drawn.collect();
        assert_eq!(drawn, [Some(1), Some(1), Some(1), Some(2)]);
    }
}
