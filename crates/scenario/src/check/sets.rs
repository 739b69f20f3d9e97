//! Checks of `from` and `to` together, where a workload asks something of both.

use std::collections::BTreeSet;

use crate::language::collective::AllReduce;
use crate::language::flows::{Count, Group, Workload};
use crate::language::selection::Name;
use crate::text::context::Context;
use crate::text::node::quoted;

/// What is wrong: the key, the message, and what would be right.
type Problem = (&'static str, String, String);

/// Reports sets that do not fit the workload. `names` are those of all hosts.
pub(super) fn check(
    path: &str,
    group: &Group,
    sets: (&[usize], &[usize]),
    names: &[Name],
    cx: &mut Context<'_>,
) -> Option<()> {
    let problem = match &group.workload {
        Workload::Permutation(_) => permutation(sets),
        Workload::RandomIncast(_) => incast(group.count, sets, names),
        Workload::AllReduce(all) => all_reduce(all, sets),
        _ => None,
    };
    let Some((key, message, help)) = problem else {
        return Some(());
    };
    cx.error_at(&format!("{path}.{key}"), message).help(help);
    None
}

/// A permutation pairs as many senders with as many receivers.
fn permutation((from, to): (&[usize], &[usize])) -> Option<Problem> {
    let (senders, receivers) = (from.len(), to.len());
    (senders != receivers).then(|| {
        (
            "to",
            format!("a permutation of {senders} senders and {receivers} receivers"),
            "each sends to one and receives from one: as many in `from` as in `to`".to_owned(),
        )
    })
}

/// Whoever receives an incast, there are enough others to send it.
fn incast(count: Count, (from, to): (&[usize], &[usize]), names: &[Name]) -> Option<Problem> {
    let most = least_others(from, to);
    let senders: BTreeSet<usize> = from.iter().copied().collect();
    let sends = |host: &&usize| senders.contains(host);
    // The first of those that have the fewest others.
    let receiver = *to.iter().find(sends).or(to.first())?;
    let receiver = quoted(&names[receiver].to_string());
    match count {
        _ if most == 0 => Some((
            "from",
            format!("nobody in `from` can send to {receiver}"),
            "nobody sends to itself: `from` must name another host".to_owned(),
        )),
        Count::Number(wanted) if wanted as usize > most => Some((
            "count",
            format!(
                "{wanted} senders at once, but `from` has only {most} hosts that can send to {receiver}"
            ),
            "each sender is a separate host: more hosts in `from`, or without `count` all of them"
                .to_owned(),
        )),
        _ => None,
    }
}

/// The hosts of an all-reduce send and receive; each message has a byte at least.
fn all_reduce(all: &AllReduce, (from, to): (&[usize], &[usize])) -> Option<Problem> {
    let sorted = |set: &[usize]| {
        let mut set = set.to_vec();
        set.sort_unstable();
        set
    };
    if sorted(from) != sorted(to) {
        return Some((
            "to",
            "an all-reduce among hosts of `from` alone, or of `to` alone".to_owned(),
            "every host sends and receives: `to` must name the hosts of `from`".to_owned(),
        ));
    }
    let parts = all.parts(from.len());
    // One host alone is reported otherwise.
    (from.len() > 1 && all.size.count() < parts).then(|| {
        (
            "size",
            format!(
                "{} cannot be cut into {parts} messages of at least one byte",
                all.size
            ),
            "a larger size, or fewer `segments`".to_owned(),
        )
    })
}

/// Of each host of `to` the other hosts of `from`: how many the one with the fewest has.
pub(super) fn least_others(from: &[usize], to: &[usize]) -> usize {
    let from: BTreeSet<usize> = from.iter().copied().collect();
    let own = to.iter().any(|host| from.contains(host));
    from.len() - usize::from(own)
}
