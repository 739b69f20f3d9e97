//! The demand of each group of flows: its pairs of hosts, and its mean rate.
//!
//! Rates on the wire count packets with data, with their headers and framing, each sent once. Leaves out: ACKs,
//! handshakes, retransmissions, and the padding of Ethernet where sizes are drawn.

use std::collections::BTreeSet;

use incastle_units::{Rate, Span};

use crate::language::arrivals::{Arrival, Arrivals};
use crate::language::flows::{
    Count, Group, Load, LoadOf, Message, OnOff, Periods, Poisson, PoissonDatagrams, Query,
    RandomIncast, Stop, Workload,
};
use crate::language::root::Root;
use crate::language::wire::WireFormat;
use crate::load::spread::{Matrix, Network, Shares};
use crate::topology::pairs::{GroupHosts, Pair, group_pairs};
use crate::topology::tier::{Direction, Tier};

/// A demand that is known before the simulation.
pub(super) struct Offer {
    pub(super) matrix: Matrix,
    /// Application bytes per second.
    pub(super) application: f64,
    /// Bytes per second on each link of a path.
    pub(super) wire: f64,
}

/// The reason why a group's load is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unknown {
    /// Its rate depends on arrivals, or on the transport.
    Adapts,
    /// All transfers of a list begin at one instant.
    AtOnce,
    /// The run is over before it starts.
    Late,
    /// There are too many switches.
    TooLarge,
    /// Nothing crosses the links that its load is a fraction of.
    Elsewhere,
}

/// A group whose demand is computed.
struct Source<'a> {
    group: &'a Group,
    network: &'a Network<'a>,
    hosts: GroupHosts,
    format: WireFormat,
}

/// The period in which a group sends: from, until.
pub(super) fn period(group: &Group, duration: Span) -> (Span, Span) {
    let stop = match group.stop {
        Stop::End => duration,
        Stop::At(stop) => stop.min(duration),
    };
    (group.start, stop)
}

/// The demand of a group of a checked scenario.
pub(super) fn offers(
    root: &Root,
    group: &Group,
    network: &Network<'_>,
) -> Result<Vec<Offer>, Unknown> {
    let (start, stop) = period(group, root.run.duration);
    if start >= stop {
        return Err(Unknown::Late);
    }
    let source = Source {
        group,
        network,
        hosts: GroupHosts::of(group, network.layout),
        format: WireFormat::of(&group.transport),
    };
    Ok(match &group.workload {
        Workload::Poisson(poisson) => vec![source.poisson(poisson)?],
        Workload::RandomIncast(incast) => vec![source.incast(incast)?],
        Workload::PoissonDatagrams(poisson) => vec![source.datagrams(poisson)?],
        Workload::Cbr(cbr) => vec![source.paced(cbr.rate, cbr.message, 1.0)],
        Workload::OnOff(on_off) => {
            let share = source.share_of_full_rate(on_off);
            vec![source.paced(on_off.rate, on_off.message, share)]
        }
        Workload::Query(query) if query.rate.is_some() => source.query(query),
        Workload::FlowList(list) => vec![source.list(&list.transfers, stop - start)?],
        Workload::Bulk(_)
        | Workload::BarrierIncast(_)
        | Workload::Query(_)
        | Workload::AllToAll(_)
        | Workload::Permutation(_)
        | Workload::AllReduce(_) => return Err(Unknown::Adapts),
    })
}

/// The bytes per second at a load of 1 on these links, for a group of a checked scenario.
///
/// For hosts: the rates of the access links of all receivers. For another tier: the demand that fills the links that the
/// group's data cross, on average, in the direction in which that is less.
pub(crate) fn capacity(
    group: &Group,
    load_of: LoadOf,
    network: &Network<'_>,
) -> Result<f64, Unknown> {
    let hosts = GroupHosts::of(group, network.layout);
    if load_of == LoadOf::Hosts {
        let links = hosts
            .to
            .iter()
            .filter_map(|&host| network.layout.access(host));
        return Ok(links.map(|link| link.rate.bytes_per_second_lossy()).sum());
    }
    let matrix = match &group.workload {
        Workload::Poisson(_) => uniform(&hosts),
        Workload::RandomIncast(incast) => of_incast(incast, group.count, &hosts),
        _ => even(hosts.pairs(group)),
    };
    let shares = network.shares(&matrix).ok_or(Unknown::TooLarge)?;
    let capacities = [Direction::Up, Direction::Down]
        .map(|direction| full(&shares, load_of, direction, network));
    let least = capacities.into_iter().fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        Ok(least)
    } else {
        Err(Unknown::Elsewhere)
    }
}

/// The demand at which the crossed links are full on average; infinite where none is crossed.
fn full(shares: &Shares, load_of: LoadOf, direction: Direction, network: &Network<'_>) -> f64 {
    let (mut crossing, mut rates) = (0.0, 0.0);
    for &(number, share) in shares {
        let (tier, one) = network.class(number);
        if (tier.load_of(), one) == (Some(load_of), direction) {
            crossing += share;
            rates += network.rate(number);
        }
    }
    if crossing > 0.0 {
        rates / crossing
    } else {
        f64::INFINITY
    }
}

/// Each pair of different hosts as often as any other.
fn uniform(hosts: &GroupHosts) -> Matrix {
    Matrix::Product {
        from: hosts.from.clone(),
        to: hosts.to.iter().map(|&host| (host, 1.0)).collect(),
    }
}

/// Each receiver as often as any other, and as much from each of its senders.
fn of_incast(incast: &RandomIncast, count: Count, hosts: &GroupHosts) -> Matrix {
    let set: BTreeSet<usize> = hosts.from.iter().copied().collect();
    let weight = |receiver: usize| {
        let others = set.len() - usize::from(set.contains(&receiver));
        incast.bytes(senders_at_once(count, others)) as f64 / others as f64
    };
    Matrix::Product {
        from: hosts.from.clone(),
        to: hosts.to.iter().map(|&host| (host, weight(host))).collect(),
    }
}

/// The senders of an incast, among all that may send to its receiver.
fn senders_at_once(count: Count, others: usize) -> usize {
    match count {
        Count::Each => others,
        Count::Number(wanted) => wanted as usize,
    }
}

/// Each flow as much as any other.
fn even(pairs: Vec<Pair>) -> Matrix {
    Matrix::Pairs(pairs.into_iter().map(|pair| (pair, 1.0)).collect())
}

impl Source<'_> {
    /// The bytes on the wire of a transfer.
    fn wire_of(&self, bytes: u64) -> f64 {
        let payload = self.format.payload;
        let whole = (bytes / payload) as f64 * self.format.wire_size(payload) as f64;
        match bytes % payload {
            0 => whole,
            rest => whole + self.format.wire_size(rest) as f64,
        }
    }

    fn message(&self, message: Message) -> u64 {
        match message {
            Message::Packet => self.format.payload,
            Message::Of(size) => size.count(),
        }
    }

    fn pairs(&self) -> Vec<Pair> {
        self.hosts.pairs(self.group)
    }

    /// The arrivals per second, of `bytes` each in the terms of `load`.
    fn arrivals(&self, given: Option<f64>, bytes: f64) -> Result<f64, Unknown> {
        if let Some(given) = given {
            return Ok(given);
        }
        let Some(Load {
            fraction: Some(fraction),
            of,
        }) = self.group.workload.load()
        else {
            unreachable!("a checked group has a load or arrivals")
        };
        Ok(fraction * capacity(self.group, of, self.network)? / bytes)
    }

    fn poisson(&self, poisson: &Poisson) -> Result<Offer, Unknown> {
        let sizes = poisson.sizes.expanded();
        let (mean, payload) = (sizes.mean(), self.format.payload);
        let headers = self.format.wire_size(payload) - payload;
        let wire = mean + sizes.mean_packets(payload) * headers as f64;
        let per_second = self.arrivals(poisson.flow_rate, mean)?;
        Ok(Offer {
            matrix: uniform(&self.hosts),
            application: per_second * mean,
            wire: per_second * wire,
        })
    }

    fn incast(&self, incast: &RandomIncast) -> Result<Offer, Unknown> {
        let count = self.group.count;
        let mean = incast.mean_bytes(count, &self.hosts.from, &self.hosts.to);
        let per_second = self.arrivals(incast.incast_rate, mean)?;
        // The bytes on the wire of all senders to one receiver.
        let set: BTreeSet<usize> = self.hosts.from.iter().copied().collect();
        let wire = |receiver: &usize| {
            let others = set.len() - usize::from(set.contains(receiver));
            let senders = senders_at_once(count, others);
            let bytes = incast.bytes(senders);
            let senders = senders as u64;
            let larger = bytes % senders;
            let smaller = self.wire_of(bytes / senders) * (senders - larger) as f64;
            smaller + self.wire_of(bytes / senders + 1) * larger as f64
        };
        let all: f64 = self.hosts.to.iter().map(wire).sum();
        Ok(Offer {
            matrix: of_incast(incast, count, &self.hosts),
            application: per_second * mean,
            wire: per_second * all / self.hosts.to.len() as f64,
        })
    }

    fn datagrams(&self, poisson: &PoissonDatagrams) -> Result<Offer, Unknown> {
        let message = self.message(poisson.message);
        let wire = self.format.wire_size(message) as f64;
        let per_second = self.arrivals(poisson.datagram_rate, wire)?;
        Ok(Offer {
            matrix: even(self.pairs()),
            application: per_second * message as f64,
            wire: per_second * wire,
        })
    }

    /// Flows that write messages at this rate for a share of the time.
    fn paced(&self, rate: Rate, message: Message, share: f64) -> Offer {
        let pairs = self.pairs();
        let message = self.message(message);
        let application = rate.bytes_per_second_lossy() * share * pairs.len() as f64;
        Offer {
            matrix: even(pairs),
            application,
            wire: application / message as f64 * self.wire_of(message),
        }
    }

    /// The mean rate of a flow that is on and off, over its rate while it is on. A period begins with a message
    /// and ends after a whole number of intervals: of a length x that many as x / interval rounded up. Where
    /// lengths are drawn, their mean is that of 1 / (1 - exp(-z)), z = interval / mean length, by its series.
    fn share_of_full_rate(&self, on_off: &OnOff) -> f64 {
        let message = self.message(on_off.message) as f64;
        let interval = message / on_off.rate.bytes_per_second_lossy();
        let (on, off) = (on_off.on.as_secs_lossy(), on_off.off.as_secs_lossy());
        let messages = match on_off.periods {
            Periods::Constant => (on / interval).ceil(),
            Periods::Exponential => (on / interval + 0.5 + interval / on / 12.0).max(1.0),
        };
        // A message that takes longer than the period fills the silence too, if need be.
        (messages * interval / (on + off)).min(1.0)
    }

    /// Responses to clients, and requests to servers.
    fn query(&self, query: &Query) -> Vec<Offer> {
        let rate = query.rate.expect("a query in open loop has a rate");
        let (mut bytes, mut wire) = (0.0, 0.0);
        let mut matrix = Vec::new();
        for &client in &self.hosts.to {
            let servers = group_pairs(self.group, &self.hosts.from, &[client]);
            let count = servers.len() as u64;
            for (number, pair) in (0..).zip(servers) {
                let answer = match query.total_size {
                    None => query.response_size.unwrap_or(Query::UNIT).count(),
                    Some(total) => {
                        let total = total.count();
                        (total / count + u64::from(number < total % count)).max(1)
                    }
                };
                bytes += answer as f64;
                wire += self.wire_of(answer);
                matrix.push((pair, answer as f64));
            }
        }
        let requests = rate * matrix.len() as f64;
        let back = matrix.iter().map(|&(pair, _)| Pair {
            from: pair.to,
            to: pair.from,
        });
        let request = query.request.count();
        vec![
            Offer {
                matrix: even(back.collect()),
                application: requests * request as f64,
                wire: requests * self.wire_of(request),
            },
            Offer {
                matrix: Matrix::Pairs(matrix),
                application: rate * bytes,
                wire: rate * wire,
            },
        ]
    }

    /// The bytes of transfers that begin within a span, over the time from the first start to the last. If the
    /// largest of them alone takes longer, over its time.
    fn list(&self, list: &Arrivals, length: Span) -> Result<Offer, Unknown> {
        if list.list().iter().any(Arrival::waits) {
            return Err(Unknown::Adapts);
        }
        let numbers = self.network.layout.host_numbers();
        let begin = list.list().iter().filter(|one| one.start < length);
        let starts = || begin.clone().map(|one| one.start);
        let (Some(first), Some(last)) = (starts().min(), starts().max()) else {
            return Err(Unknown::Late);
        };
        if first == last {
            return Err(Unknown::AtOnce);
        }
        let (mut bytes, mut wire, mut matrix, mut longest) = (0.0, 0.0, Vec::new(), 0.0_f64);
        for one in begin {
            let pair = Pair {
                from: numbers[&one.source],
                to: numbers[&one.destination],
            };
            let count = one.bytes.count();
            bytes += count as f64;
            let on_wire = self.wire_of(count);
            wire += on_wire;
            matrix.push((pair, count as f64));
            let access = self.network.layout.access(pair.from);
            let rate = access.map_or(f64::INFINITY, |link| link.rate.bytes_per_second_lossy());
            longest = longest.max(on_wire / rate);
        }
        let time = (last - first).as_secs_lossy().max(longest);
        Ok(Offer {
            matrix: Matrix::Pairs(matrix),
            application: bytes / time,
            wire: wire / time,
        })
    }
}

/// Whether a tier can be the one of a group's `load_of`, given in a network.
pub(super) fn is_there(load_of: LoadOf, tiers: &[Tier]) -> bool {
    tiers.iter().any(|tier| tier.load_of() == Some(load_of))
}
