//! Delays to draw from, for flows at links that were not simulated.
//!
//! Section 3.4 of the NSDI paper: the delays at a link are put into buckets by the size of flows, so that
//! each has enough of them and sizes in it differ by a factor of two at most. Here sizes are alike if
//! they have the same number of bits, and where one link has not enough flows of a size, those next to
//! it in load join in.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::clusters::Clusters;
use super::crossings::Directed;
use super::delays::Delays;
use super::surroundings::Whole;

/// Flows to draw from, where there are as many (B of the NSDI paper, section 3.4).
const ENOUGH: usize = 100;

/// Sizes by the number of their bits.
const OCTAVES: usize = 65;

/// A flow to draw: its delay, absent if it was not complete, and its packets.
pub(super) type Sample = (Option<i64>, u64);

/// A simulated link in one direction.
struct Loaded {
    /// Bytes that it carries.
    bytes: u64,
    /// Links that it stands for, itself included.
    weight: u64,
    sizes: Vec<Vec<Sample>>,
}

/// The simulated links of a class in one direction.
pub(super) struct Pool {
    /// Half way between what a link and the next one carry, in ascending order.
    between: Vec<u64>,
    /// By size.
    octaves: Vec<Octave>,
}

/// Flows of about one size.
struct Octave {
    /// Link by link.
    samples: Vec<Sample>,
    /// How many there are up to each link.
    ends: Vec<usize>,
    /// The same, each counted as often as its link stands for others.
    weights: Vec<u64>,
    /// By link: from which to which is drawn for others of about its load.
    windows: Vec<(usize, usize)>,
}

/// The pools of all classes, by class and slope.
pub(super) fn pools(
    whole: &Whole<'_>,
    clusters: &Clusters,
    delays: &BTreeMap<usize, Delays>,
) -> BTreeMap<(usize, Ordering), Pool> {
    let layout = whole.scenario.layout();
    let mut loaded: BTreeMap<(usize, Ordering), Vec<Loaded>> = BTreeMap::new();
    for (class, links) in clusters.of_class().iter().enumerate() {
        for &(link, weight) in links {
            let Some(delays) = delays.get(&link) else {
                continue;
            };
            for (direction, sizes) in by_size(whole, link, delays).into_iter().enumerate() {
                let step = Directed { link, direction };
                let slope = clusters.slope(layout, step);
                loaded.entry((class, slope)).or_default().push(Loaded {
                    bytes: clusters.carried_in(step),
                    weight,
                    sizes,
                });
            }
        }
    }
    let pools = loaded.into_iter();
    pools.map(|(key, links)| (key, Pool::new(links))).collect()
}

/// The flows on a link by direction and size.
fn by_size(whole: &Whole<'_>, link: usize, delays: &Delays) -> [Vec<Vec<Sample>>; 2] {
    let mut sizes = [vec![Vec::new(); OCTAVES], vec![Vec::new(); OCTAVES]];
    let flows = whole.crossings.on(link).iter();
    for (&flow, &delay) in flows.zip(&delays.of_flows) {
        let flow = flow as usize;
        let direction = whole.crossings.direction(flow, link);
        let octave = octave(whole.flows[flow].bytes);
        sizes[direction][octave].push((delay, whole.packets(flow)));
    }
    sizes
}

fn octave(bytes: u64) -> usize {
    (u64::BITS - bytes.leading_zeros()) as usize
}

impl Pool {
    fn new(mut links: Vec<Loaded>) -> Self {
        links.sort_by_key(|link| link.bytes);
        Self {
            octaves: (0..OCTAVES)
                .map(|octave| Octave::new(&links, octave))
                .collect(),
            between: links
                .windows(2)
                .map(|pair| pair[0].bytes.midpoint(pair[1].bytes))
                .collect(),
        }
    }

    /// One of the flows of about this size at links of about this load; of the nearest size that any
    /// has.
    pub(super) fn draw(&self, bytes: u64, carried: u64, random: u64) -> Sample {
        let wanted = octave(bytes);
        let near = (0..OCTAVES).flat_map(|far| [wanted.checked_sub(far), Some(wanted + far)]);
        let mut known = near.flatten().filter_map(|octave| self.octaves.get(octave));
        let octave = known.find(|octave| !octave.samples.is_empty());
        let octave = octave.expect("of each class and direction some links are simulated");
        octave.draw(self.between.partition_point(|load| *load < carried), random)
    }
}

impl Octave {
    fn new(links: &[Loaded], octave: usize) -> Self {
        let (mut ends, mut weights) = (vec![0], vec![0]);
        let mut samples = Vec::new();
        for link in links {
            let own = &link.sizes[octave];
            samples.extend_from_slice(own);
            ends.push(samples.len());
            weights.push(weights[weights.len() - 1] + link.weight * own.len() as u64);
        }
        let windows = (0..links.len()).map(|nearest| window(&ends, nearest));
        Self {
            windows: windows.collect(),
            samples,
            ends,
            weights,
        }
    }

    fn draw(&self, nearest: usize, random: u64) -> Sample {
        let (from, to) = self.windows[nearest];
        let (first, last) = (self.weights[from], self.weights[to]);
        let place = first + ((u128::from(random) * u128::from(last - first)) >> 64) as u64;
        let link = self.weights.partition_point(|weight| *weight <= place) - 1;
        let count = (self.ends[link + 1] - self.ends[link]) as u64;
        let weight = (self.weights[link + 1] - self.weights[link]) / count;
        let within = (place - self.weights[link]) / weight;
        self.samples[self.ends[link] + within as usize]
    }
}

/// A link and those next to it in load, by turns above and below, until there are enough flows or no
/// more links. `ends` has the flows up to each link.
fn window(ends: &[usize], nearest: usize) -> (usize, usize) {
    let last = ends.len() - 1;
    let (mut from, mut to) = (nearest, nearest + 1);
    while ends[to] - ends[from] < ENOUGH && (from > 0 || to < last) {
        to = (to + 1).min(last);
        if ends[to] - ends[from] < ENOUGH {
            from = from.saturating_sub(1);
        }
    }
    (from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_next_to_a_load_join_until_there_are_enough_flows() {
        // Five links with 40 flows each.
        let ends = [0, 40, 80, 120, 160, 200];
        assert_eq!(
            window(&ends, 2),
            (1, 4),
            "the third, then the fourth and the second"
        );
        assert_eq!(window(&ends, 0), (0, 3));
        assert_eq!(window(&ends, 4), (2, 5));
        assert_eq!(window(&[0, 10, 20], 1), (0, 2), "all that there are");
        assert_eq!(window(&[0, 150, 300], 1), (1, 2));
    }

    #[test]
    fn what_is_drawn_is_of_the_nearest_size_and_load() {
        let link = |bytes, delay| {
            let mut sizes = vec![Vec::new(); OCTAVES];
            sizes[octave(1_000)] = vec![(Some(delay), 1); ENOUGH];
            Loaded {
                bytes,
                weight: 1,
                sizes,
            }
        };
        let pool = Pool::new(vec![link(900, 9), link(100, 1)]);
        for random in [0, u64::MAX / 2, u64::MAX] {
            assert_eq!(
                pool.draw(1_023, 500, random),
                (Some(1), 1),
                "as near to both: the lesser"
            );
            assert_eq!(pool.draw(513, 501, random), (Some(9), 1));
            assert_eq!(
                pool.draw(1_000_000, 800, random),
                (Some(9), 1),
                "no such size"
            );
        }
    }

    #[test]
    fn a_link_is_drawn_as_often_as_it_stands_for_others() {
        let link = |bytes, weight, delay| {
            let mut sizes = vec![Vec::new(); OCTAVES];
            sizes[octave(1_000)] = vec![(Some(delay), 1); 2];
            Loaded {
                bytes,
                weight,
                sizes,
            }
        };
        // Two flows that count three times each, two that count once: 8 equal parts, 6 of the first.
        let pool = Pool::new(vec![link(100, 3, 1), link(900, 1, 9)]);
        let drawn = (0..8).map(|eighth| pool.draw(1_000, 500, (eighth << 61) + 1).0);
        let drawn: Vec<Option<i64>> = drawn.collect();
        assert_eq!(drawn, [[Some(1); 6].as_slice(), &[Some(9); 2]].concat());
    }
}
