//! Which hosts the flows of a group connect.

use crate::language::collective::Algorithm;
use crate::language::flows::{Count, Group, Pairs, Workload};
use crate::language::selection::Selection;
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::topology::layout::Layout;

/// The most flows of a group: beyond it a scenario is a slip of the pen. An end of a flow takes ten cache
/// lines.
pub const MOST_FLOWS: usize = 4_000_000;

/// The hosts of a checked group: from, to.
pub fn group_hosts(group: &Group, layout: &Layout) -> (Vec<usize>, Vec<usize>) {
    let mut quiet = Context::new(&NoFiles);
    let mut hosts = |selection: &Selection| {
        selection
            .resolve(&layout.hosts, "hosts", "", &mut quiet)
            .expect("the hosts of a checked scenario exist")
    };
    (hosts(&group.from), hosts(&group.to))
}

/// The (from, to) hosts of each flow of a group, of more than [`MOST_FLOWS`] only some more, in the order of the flows. Flows of requests go
/// client by client. Poisson flows, incasts, lists and permutations know theirs later: pairs that cover
/// all hosts stand for them.
pub fn group_pairs(group: &Group, from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    match group.workload {
        _ if group.workload.is_requests() => to
            .iter()
            .flat_map(|&client| {
                let servers: Vec<usize> = from
                    .iter()
                    .copied()
                    .filter(|&server| server != client)
                    .collect();
                take(group.count, &servers, |server| (server, client))
            })
            .take(MOST_FLOWS + 1)
            .collect(),
        Workload::Poisson(_) | Workload::RandomIncast(_) | Workload::FlowList(_) => {
            covering(from, to)
        }
        Workload::Permutation(_) => round_robin(Count::Each, from, to),
        Workload::AllReduce(ref all) => {
            let edges = edges(&all.algorithm, from.len());
            edges.into_iter().map(|(a, b)| (from[a], from[b])).collect()
        }
        _ => match group.pairs {
            Pairs::All => take(group.count, &every(from, to), |pair| pair),
            Pairs::RoundRobin => round_robin(group.count, from, to),
        },
    }
}

/// Who sends to whom in an all-reduce of so many hosts, by their places. Of a tree first each host but
/// the first to its parent, then each parent to it.
pub fn edges(algorithm: &Algorithm, hosts: usize) -> Vec<(usize, usize)> {
    match algorithm {
        Algorithm::Ring(_) if hosts < 2 => Vec::new(),
        Algorithm::Ring(_) => (0..hosts).map(|host| (host, (host + 1) % hosts)).collect(),
        Algorithm::Tree(tree) => {
            let up = (1..hosts).map(|host| (host, parent(host, tree.degree)));
            up.clone()
                .chain(up.map(|(child, parent)| (parent, child)))
                .collect()
        }
    }
}

/// The parent of a host of a tree that is filled row by row.
pub fn parent(host: usize, degree: u32) -> usize {
    (host - 1) / degree as usize
}

/// Each with every one but itself.
fn every(from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    from.iter()
        .flat_map(|&a| to.iter().filter(move |&&b| a != b).map(move |&b| (a, b)))
        .take(MOST_FLOWS + 1)
        .collect()
}

/// Each host of both sets in some pair, as far as it has another to meet.
fn covering(from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    let other = |host: usize, set: &[usize]| set.iter().copied().find(|&one| one != host);
    let senders = from.iter().filter_map(|&a| Some((a, other(a, to)?)));
    let receivers = to.iter().filter_map(|&b| Some((other(b, from)?, b)));
    senders.chain(receivers).collect()
}

/// As many as `count` says, around and around.
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

/// Around both sets; where a host would meet itself, the next one stands in.
fn round_robin(count: Count, from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    let wanted = match count {
        Count::Each => from.len().max(to.len()),
        Count::Number(number) => number as usize,
    };
    (0..wanted)
        .filter_map(|flow| {
            let a = from[flow % from.len()];
            let b = to[flow % to.len()];
            let b = if a == b { to[(flow + 1) % to.len()] } else { b };
            (a != b).then_some((a, b))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_meets_itself() {
        let hosts = [0, 1, 2];
        assert_eq!(
            round_robin(Count::Each, &hosts, &hosts),
            [(0, 1), (1, 2), (2, 0)]
        );
        assert_eq!(every(&hosts, &[1]), [(0, 1), (2, 1)]);
    }

    #[test]
    fn more_flows_than_hosts_go_around() {
        assert_eq!(
            round_robin(Count::Number(3), &[0, 1], &[9]),
            [(0, 9), (1, 9), (0, 9)]
        );
    }
}
