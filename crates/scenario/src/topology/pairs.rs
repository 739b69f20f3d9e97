//! Which hosts the flows of a group connect.

use crate::language::flows::{Count, Group, Pairs, Workload};

/// The (from, to) hosts of each flow of a group, in the order of the flows. Flows of a barrier go
/// client by client. Poisson flows draw theirs later: pairs that cover all hosts stand for them.
pub(crate) fn group_pairs(group: &Group, from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    match group.workload {
        Workload::Barrier(_) => to
            .iter()
            .flat_map(|&client| {
                let servers: Vec<usize> = from
                    .iter()
                    .copied()
                    .filter(|&server| server != client)
                    .collect();
                take(group.count, &servers, |server| (server, client))
            })
            .collect(),
        Workload::Poisson(_) => covering(from, to),
        _ => match group.pairs {
            Pairs::All => take(group.count, &every(from, to), |pair| pair),
            Pairs::RoundRobin => round_robin(group.count, from, to),
        },
    }
}

/// Each with every one but itself.
fn every(from: &[usize], to: &[usize]) -> Vec<(usize, usize)> {
    from.iter()
        .flat_map(|&a| to.iter().filter(move |&&b| a != b).map(move |&b| (a, b)))
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
