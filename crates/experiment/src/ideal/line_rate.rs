//! The ideal FCT by line rate: no transfer is faster, whatever its transport and controller.
//!
//! A transfer's packets, at their sizes on the wire, leave back to back. Each switch of the fastest path
//! stores and forwards them, and each link has the highest rate that it has in the run. A request takes its
//! own path first. The time is that from the write to the last byte at the receiver, in closed form.
//!
//! Packets of one transfer may take several paths: ECMP per packet or flowlet, routes that change with
//! failures. Then only the hosts' links are certain to carry all of them. The links of switches
//! then cost their delay and one packet's transmission each, without queueing.
//! Leaves out: handshakes, windows, jitter, and all other traffic.

use std::collections::BTreeMap;

use incastle_units::{Rate, Span};

use super::Wanted;
use super::profiles::{Profile, Profiles};
use incastle_scenario::Scenario;
use incastle_scenario::language::network::Ecmp;
use incastle_scenario::topology::layout::{End, Link};
use incastle_scenario::topology::pairs::Pair;
use incastle_workload::{Alone, TransferKind};

/// Picoseconds that a byte takes at 1 bit/s.
const BYTE: u128 = 8_000_000_000_000;

/// The ideal FCTs of a scenario's transfers.
pub struct LineRate<'a> {
    scenario: &'a Scenario,
    profiles: Profiles,
    spread: Spread,
    /// By group and kind of transfer.
    kinds: BTreeMap<(usize, TransferKind), Option<Alone>>,
}

/// The paths that the packets of one transfer take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spread {
    /// A single path.
    One,
    /// Any of the shortest paths.
    Shortest,
    /// Any path, as links fail and recover.
    Any,
}

impl<'a> LineRate<'a> {
    /// The ideal FCTs of a scenario.
    pub fn new(scenario: &'a Scenario) -> Self {
        let layout = scenario.layout();
        let end = scenario.duration();
        let profiles = Profiles::new(layout, end);
        let changes = |link: &Link| !link.failures.is_empty() && link.is_ever_up(end);
        let fails = layout.links.iter().any(changes);
        let per_flow = matches!(scenario.tables().network.ecmp, Ecmp::Flow(_));
        Self {
            spread: match (fails, per_flow) {
                _ if profiles.is_forest() => Spread::One,
                (true, _) => Spread::Any,
                (false, true) => Spread::One,
                (false, false) => Spread::Shortest,
            },
            scenario,
            profiles,
            kinds: BTreeMap::new(),
        }
    }

    /// The ideal FCT of a transfer; absent for rounds, and where its receiver is unreachable.
    pub fn time(&mut self, wanted: &Wanted) -> Option<Span> {
        let root = self.scenario.tables();
        let alone = self.kinds.entry((wanted.group, wanted.kind));
        let alone = alone.or_insert_with(|| {
            let (_, group) = &root.flows[wanted.group];
            Alone::new(group, wanted.kind, root)
        });
        let alone = alone.as_ref()?;
        let data = Train::of(alone, wanted.bytes);
        let request = alone.request().map(|bytes| Train::of(alone, bytes));
        let Pair { from, to } = wanted.hosts;
        let mut ps = self.across(&data, wanted.hosts)?;
        if let Some(request) = request {
            ps = ps.checked_add(self.across(&request, Pair { from: to, to: from })?)?;
        }
        u64::try_from(ps).ok().map(Span::from_ps)
    }

    /// The time of packets from one host to another, in picoseconds.
    fn across(&mut self, train: &Train, hosts: Pair) -> Option<u128> {
        let (up, first) = self.access(hosts.from)?;
        let End::Switch(first) = first else {
            return Some(train.over(&[up.rate]) + up.delay_ps());
        };
        let (down, last) = self.access(hosts.to)?;
        let End::Switch(last) = last else {
            return None;
        };
        let spread = if first == last {
            Spread::One
        } else {
            self.spread
        };
        let any = match spread {
            Spread::Any => Some([self.profiles.bound(first, last)?]),
            Spread::One | Spread::Shortest => None,
        };
        let paths = match &any {
            Some(bound) => bound,
            None => self.profiles.between(first, last),
        };
        let times = paths.iter().map(|path| match spread {
            Spread::One => {
                let mut rates = vec![up.rate];
                rates.extend(&path.rates);
                rates.push(down.rate);
                train.over(&rates) + u128::from(path.delay.as_ps())
            }
            Spread::Shortest | Spread::Any => train.at_least(up.rate, down.rate, path),
        });
        Some(times.min()? + up.delay_ps() + down.delay_ps())
    }

    /// A host's link, and its other node.
    fn access(&self, host: usize) -> Option<(Access, End)> {
        let layout = self.scenario.layout();
        let link: &Link = layout.access(host)?;
        let access = Access {
            rate: link.highest_rate(self.scenario.duration()),
            delay: link.delay,
        };
        let (a, b) = link.ends;
        Some((access, if a == End::Host(host) { b } else { a }))
    }
}

/// A host's access link.
struct Access {
    rate: Rate,
    delay: Span,
}

impl Access {
    fn delay_ps(&self) -> u128 {
        u128::from(self.delay.as_ps())
    }
}

/// Packets that leave back to back: full ones and a last one, in bytes on the wire.
struct Train {
    /// Full packets before the last one.
    count: u128,
    full: u128,
    last: u128,
}

/// Rounded down, as the bound that it is part of must never be too high.
fn ps(bytes: u128, rate: Rate) -> u128 {
    bytes * BYTE / u128::from(rate.bits_per_second())
}

impl Train {
    fn of(alone: &Alone, bytes: u64) -> Self {
        let stack = alone.stack();
        let payload = stack.payload();
        let count = bytes.saturating_sub(1) / payload;
        assert!(
            bytes - count * payload <= payload,
            "the last packet is not the largest"
        );
        Self {
            count: count.into(),
            full: stack.wire_size(payload).into(),
            last: stack.wire_size(bytes - count * payload).into(),
        }
    }

    /// Their time over links of these rates, one after the other, without propagation.
    ///
    /// A packet begins on a link when it is there and the one before it is gone. The last one's end is thus
    /// a longest path. It has the first packet's transmissions up to a slowest link, and all full packets there.
    /// One of these follows on to some link q, and the last packet from q on.
    fn over(&self, rates: &[Rate]) -> u128 {
        let mut rest: u128 = rates.iter().map(|rate| ps(self.last, *rate)).sum();
        if self.count == 0 {
            return rest;
        }
        let (mut one, mut slowest, mut longest) = (0, rates[0], 0);
        for &rate in rates {
            one += ps(self.full, rate);
            slowest = slowest.min(rate);
            let held = ps(self.count * self.full, slowest) - ps(self.full, slowest);
            longest = longest.max(one + held + rest);
            rest -= ps(self.last, rate);
        }
        assert_eq!(rest, 0, "the last packet crosses each link once");
        longest
    }

    /// A lower bound of their time with reordering between the first link and the last, with the delay of the
    /// path between them.
    fn at_least(&self, up: Rate, down: Rate, path: &Profile) -> u128 {
        let between = |bytes| -> u128 {
            let links = path.rates.iter().map(|rate| ps(bytes, *rate));
            u128::from(path.delay.as_ps()) + links.sum::<u128>()
        };
        let all = self.count * self.full + self.last;
        // The last to leave, the smallest perhaps, passes the rest; or all pass the last link, from the
        // moment when the first one is there.
        let last_out = ps(all, up) + between(self.last);
        let first_in = if self.count == 0 {
            last_out
        } else {
            last_out.min(ps(self.full, up) + between(self.full))
        };
        (last_out + ps(self.last, down)).max(first_in + ps(all, down))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gbit(rate: u64) -> Rate {
        Rate::from_bits_per_second(rate * 1_000_000_000)
    }

    /// The recurrence that the closed form solves: end(k, i) = max(end(k, i-1), end(k-1, i)) + time(k, i).
    fn by_recurrence(sizes: &[u128], rates: &[Rate]) -> u128 {
        let mut ends = vec![0; rates.len()];
        for &size in sizes {
            let mut here = 0;
            for (end, &rate) in ends.iter_mut().zip(rates) {
                here = here.max(*end) + ps(size, rate);
                *end = here;
            }
        }
        ends[rates.len() - 1]
    }

    #[test]
    fn the_closed_form_is_the_recurrence() {
        // Rates at which a byte takes whole picoseconds: nothing is rounded.
        let rates = [1, 2, 4, 5, 10, 40].map(gbit);
        let mut state = 7_u64;
        let mut below = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % most
        };
        for _ in 0..2_000 {
            let links = 1 + below(6) as usize;
            let path: Vec<Rate> = (0..links).map(|_| rates[below(6) as usize]).collect();
            let train = Train {
                count: below(12).into(),
                full: 1_500,
                last: (40 + below(1_461)).into(),
            };
            let mut sizes = vec![train.full; train.count as usize];
            sizes.push(train.last);
            assert_eq!(train.over(&path), by_recurrence(&sizes, &path), "{path:?}");
        }
    }

    #[test]
    fn packets_on_several_paths_are_not_slower() {
        let path = |rates: &[u64]| Profile {
            rates: rates.iter().map(|rate| gbit(*rate)).collect(),
            delay: Span::ZERO,
        };
        for (count, last) in [(0, 40), (1, 40), (9, 1_500), (100, 700)] {
            let train = Train {
                count,
                full: 1_500,
                last,
            };
            for between in [&[40, 40][..], &[10], &[5, 40]] {
                let mut rates = vec![gbit(10)];
                rates.extend(path(between).rates);
                rates.push(gbit(10));
                let loose = train.at_least(gbit(10), gbit(10), &path(between));
                assert!(loose <= train.over(&rates), "{count} {last} {between:?}");
            }
        }
        // Equal packets between equal links: the same.
        let train = Train {
            count: 9,
            full: 1_500,
            last: 1_500,
        };
        let loose = train.at_least(gbit(10), gbit(10), &path(&[40, 40]));
        assert_eq!(loose, train.over(&[10, 40, 40, 10].map(gbit)));
    }
}
