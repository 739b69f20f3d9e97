//! The pairs of hosts of a group's flows.

use crate::language::collective::Algorithm;
use crate::language::flows::{Count, Group, Pairs, Workload};
use crate::language::selection::Selection;
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::topology::layout::Layout;

/// The maximum number of flows in a group: more is probably a typing error. An endpoint takes ten cache
/// lines.
pub const MAX_FLOWS: usize = 4_000_000;

/// The hosts of a group, by number.
#[derive(Debug, Clone)]
pub struct GroupHosts {
    /// The senders of the data.
    pub from: Vec<usize>,
    /// The receivers of the data.
    pub to: Vec<usize>,
}

/// The two hosts of a flow, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The sender of the data.
    pub from: usize,
    /// The receiver of the data.
    pub to: usize,
}

impl GroupHosts {
    /// The hosts of a group, where they exist; missing ones are reported elsewhere.
    pub(crate) fn find(group: &Group, layout: &Layout) -> Option<Self> {
        let mut quiet = Context::new(&NoFiles);
        let mut hosts = |set: &Selection| set.resolve(&layout.hosts, "hosts", "", &mut quiet);
        let (from, to) = (hosts(&group.from), hosts(&group.to));
        Some(Self {
            from: from?,
            to: to?,
        })
    }

    /// The hosts of a checked group.
    pub fn of(group: &Group, layout: &Layout) -> Self {
        Self::find(group, layout).expect("the hosts of a checked scenario exist")
    }

    /// The pairs of its flows: [`group_pairs`].
    pub fn pairs(&self, group: &Group) -> Vec<Pair> {
        group_pairs(group, &self.from, &self.to)
    }

    /// The first of each.
    pub fn first(&self) -> Pair {
        Pair {
            from: self.from[0],
            to: self.to[0],
        }
    }
}

/// The hosts of each flow of a group, in the order of the flows; beyond [`MAX_FLOWS`] only a few more. Flows of requests go
/// client by client. Poisson flows, incasts, lists and permutations choose theirs later: pairs that cover
/// all hosts represent them.
pub fn group_pairs(group: &Group, from: &[usize], to: &[usize]) -> Vec<Pair> {
    match group.workload {
        _ if group.workload.is_requests() => to
            .iter()
            .flat_map(|&client| {
                let servers: Vec<usize> = from
                    .iter()
                    .copied()
                    .filter(|&server| server != client)
                    .collect();
                take(group.count, &servers, |from| Pair { from, to: client })
            })
            .take(MAX_FLOWS + 1)
            .collect(),
        Workload::Poisson(_) | Workload::RandomIncast(_) | Workload::FlowList(_) => {
            covering(from, to)
        }
        Workload::Permutation(_) => round_robin(Count::Each, from, to),
        Workload::AllReduce(ref all) => {
            let edges = edges(&all.algorithm, from.len());
            let hosts = |edge: Pair| Pair {
                from: from[edge.from],
                to: from[edge.to],
            };
            edges.into_iter().map(hosts).collect()
        }
        _ => match group.pairs {
            Pairs::All => take(group.count, &every(from, to), |pair| pair),
            Pairs::RoundRobin => round_robin(group.count, from, to),
        },
    }
}

/// The pairs (sender, receiver) of an all-reduce of `hosts` hosts, by index. In a tree first each host but
/// the first to its parent, then each parent to it.
pub fn edges(algorithm: &Algorithm, hosts: usize) -> Vec<Pair> {
    let edge = |(from, to)| Pair { from, to };
    match algorithm {
        Algorithm::Ring(_) if hosts < 2 => Vec::new(),
        Algorithm::Ring(_) => (0..hosts)
            .map(|host| edge((host, (host + 1) % hosts)))
            .collect(),
        Algorithm::Tree(tree) => {
            let up = (1..hosts).map(|host| (host, parent(host, tree.degree)));
            let down = up.clone().map(|(child, parent)| (parent, child));
            up.chain(down).map(edge).collect()
        }
    }
}

/// The parent of a host of a tree that is filled row by row.
pub fn parent(host: usize, degree: u32) -> usize {
    (host - 1) / degree as usize
}

/// Each with every one but itself.
fn every(from: &[usize], to: &[usize]) -> Vec<Pair> {
    from.iter()
        .flat_map(|&from| to.iter().map(move |&to| Pair { from, to }))
        .filter(|pair| pair.from != pair.to)
        .take(MAX_FLOWS + 1)
        .collect()
}

/// Each host of both sets in some pair, if it has another host to pair with.
pub(super) fn covering(from: &[usize], to: &[usize]) -> Vec<Pair> {
    let other = |host: usize, set: &[usize]| set.iter().copied().find(|&one| one != host);
    let senders = from.iter().filter_map(|&a| {
        Some(Pair {
            from: a,
            to: other(a, to)?,
        })
    });
    let receivers = to.iter().filter_map(|&b| {
        Some(Pair {
            from: other(b, from)?,
            to: b,
        })
    });
    senders.chain(receivers).collect()
}

/// `count` of them, cyclically.
fn take<T: Copy, U>(count: Count, all: &[T], make: impl Fn(T) -> U) -> Vec<U> {
    let wanted = match count {
        Count::Each => all.len(),
        Count::Number(number) => number as usize,
    };
    all.iter()
        .cycle()
        .take(wanted)
        .map(|&one| make(one))
        .collect()
}

/// Cyclically over both sets; where a host would be paired with itself, the next one takes its place.
fn round_robin(count: Count, from: &[usize], to: &[usize]) -> Vec<Pair> {
    let wanted = match count {
        Count::Each => from.len().max(to.len()),
        Count::Number(number) => number as usize,
    };
    (0..wanted)
        .filter_map(|flow| {
            let a = from[flow % from.len()];
            let b = to[flow % to.len()];
            let b = if a == b { to[(flow + 1) % to.len()] } else { b };
            (a != b).then_some(Pair { from: a, to: b })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs<const N: usize>(pairs: [(usize, usize); N]) -> Vec<Pair> {
        pairs.map(|(from, to)| Pair { from, to }).to_vec()
    }

    #[test]
    fn nobody_meets_itself() {
        let hosts = [0, 1, 2];
        assert_eq!(
            round_robin(Count::Each, &hosts, &hosts),
            pairs([(0, 1), (1, 2), (2, 0)])
        );
        assert_eq!(every(&hosts, &[1]), pairs([(0, 1), (2, 1)]));
    }

    #[test]
    fn more_flows_than_hosts_go_around() {
        assert_eq!(
            round_robin(Count::Number(3), &[0, 1], &[9]),
            pairs([(0, 9), (1, 9), (0, 9)])
        );
    }
}
