//! Flows that differ in the size of their last packet alone.
//!
//! Let the earlier packets not depend on the last one. The flow's time then consists of sums and maxima of that
//! packet's times on links: it waits for the packet ahead, or not. So the time grows with the
//! packet's size, and its slope never falls: it is convex. Three points of a convex
//! function on one line prove the line between the outer two. So some sizes are simulated for each number of
//! packets, and all sizes between them on a line follow.
//!
//! Leaves out: times in which a picosecond depends on rounding; the caller ensures whole picoseconds
//! per byte.

use std::collections::BTreeMap;

use incastle_units::Span;

/// The number of sizes, for one number of packets, that are simulated before the smallest and the largest, which
/// lines need.
const FEW: usize = 2;

/// Times by size, for each number of packets.
#[derive(Debug, Default)]
pub(crate) struct Last {
    of: BTreeMap<u64, Sizes>,
}

/// Times of flows of one number of packets by the bytes of the last one, ascending.
#[derive(Debug, Default)]
struct Sizes(Vec<(u64, Span)>);

impl Last {
    /// The time of a flow of `bytes`, in packets of `payload`; `simulate` returns that of any size.
    pub(crate) fn time<E>(
        &mut self,
        bytes: u64,
        payload: u64,
        mut simulate: impl FnMut(u64) -> Result<Option<Span>, E>,
    ) -> Result<Option<Span>, E> {
        let before = bytes.saturating_sub(1) / payload;
        let sizes = self.of.entry(before).or_default();
        let mut simulated = |last| simulate(before * payload + last);
        let last = bytes - before * payload;
        assert!(last <= payload, "a packet has at most the payload");
        if let Some(time) = sizes.at(last) {
            return Ok(Some(time));
        }
        if sizes.0.len() == FEW {
            for end in [1, payload] {
                let Some(time) = simulated(end)? else {
                    return Ok(None);
                };
                sizes.add(end, time);
            }
            if let Some(time) = sizes.at(last) {
                return Ok(Some(time));
            }
        }
        let time = simulated(last)?;
        if let Some(time) = time {
            sizes.add(last, time);
        }
        Ok(time)
    }
}

impl Sizes {
    fn add(&mut self, last: u64, time: Span) {
        if let Err(place) = self.0.binary_search_by_key(&last, |point| point.0) {
            self.0.insert(place, (last, time));
            assert!(
                self.0.is_sorted_by_key(|(_, time)| *time),
                "a larger last packet is not faster"
            );
        }
    }

    /// The known time of a size: simulated, or on a line.
    fn at(&self, last: u64) -> Option<Span> {
        match self.0.binary_search_by_key(&last, |point| point.0) {
            Ok(place) => Some(self.0[place].1),
            Err(place) => {
                let (left, right) = (place.checked_sub(1)?, place);
                let ends = [self.0[left], *self.0.get(right)?];
                // One of the neighbours of the two makes the third point.
                let outer = [left.checked_sub(1), Some(right + 1)];
                let third = outer.into_iter().flatten();
                let mut third = third.filter_map(|place| self.0.get(place));
                third.any(|&third| on_line(ends, third)).then_some(())?;
                between(ends, last)
            }
        }
    }
}

/// The bytes of the last packet, and the time of the flow.
type Point = (u64, Span);

/// Whether a third point is on the line through two.
fn on_line([a, b]: [Point; 2], c: Point) -> bool {
    let run = |to: Point| i128::from(to.0) - i128::from(a.0);
    let rise = |to: Point| i128::from(to.1.as_ps()) - i128::from(a.1.as_ps());
    run(b) * rise(c) == run(c) * rise(b)
}

/// A point on the line through two; absent where it is no whole picosecond.
fn between([a, b]: [Point; 2], last: u64) -> Option<Span> {
    assert!((a.0..b.0).contains(&last), "the point lies between the two");
    let rise = b.1.as_ps().checked_sub(a.1.as_ps())?;
    let (more, rest) = (
        rise * (last - a.0) / (b.0 - a.0),
        rise * (last - a.0) % (b.0 - a.0),
    );
    (rest == 0).then(|| a.1 + Span::from_ps(more))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Times of 5, 4, 3, ... in turn; which sizes were simulated.
    fn simulated_sizes(sizes: &[u64], time: impl Fn(u64) -> u64) -> Vec<u64> {
        let (mut last, mut simulated) = (Last::default(), Vec::new());
        for &bytes in sizes {
            let found = last.time(bytes, 1_000, |bytes| {
                simulated.push(bytes);
                Ok::<_, Infallible>(Some(Span::from_ps(time(bytes))))
            });
            assert_eq!(found, Ok(Some(Span::from_ps(time(bytes)))), "{bytes} bytes");
        }
        simulated
    }

    #[test]
    fn what_lies_on_a_line_is_not_simulated() {
        let sizes: Vec<u64> = (1_100..2_000).step_by(50).collect();
        let simulated = simulated_sizes(&sizes, |bytes| 7_000 + 800 * bytes);
        assert_eq!(
            simulated,
            [1_100, 1_150, 1_001, 2_000],
            "the ends are of 1 and 1000 bytes"
        );
    }

    #[test]
    fn a_bend_is_found() {
        let sizes: Vec<u64> = (1..=1_000).collect();
        let simulated = simulated_sizes(&sizes, |bytes| 800 * bytes.max(500));
        assert!(simulated.len() < 510, "{} simulated", simulated.len());
    }

    #[test]
    fn a_step_makes_no_line() {
        let sizes: Vec<u64> = (1..=1_000).step_by(37).collect();
        simulated_sizes(&sizes, |bytes| {
            800 * bytes + if bytes > 400 { 1_000_000 } else { 0 }
        });
    }

    #[test]
    fn numbers_of_packets_are_apart() {
        let simulated = simulated_sizes(&[1_000, 1_001, 2_000, 2_001], |bytes| {
            bytes * bytes.div_ceil(1_000)
        });
        assert_eq!(simulated, [1_000, 1_001, 2_000, 2_001]);
    }
}
