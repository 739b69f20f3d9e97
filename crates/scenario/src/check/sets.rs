//! Checks of `from` and `to` together, where a workload constrains both.

use std::collections::BTreeSet;

use crate::language::collective::AllReduce;
use crate::language::flows::{Count, Group, Workload};
use crate::language::selection::Name;
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::topology::pairs::GroupHosts;

/// The error.
struct Problem {
    key: &'static str,
    message: String,
    /// The remedy.
    help: &'static str,
}

/// Reports sets that do not fit the workload. `names` are those of all hosts.
pub(super) fn check(
    path: &str,
    group: &Group,
    hosts: &GroupHosts,
    names: &[Name],
    cx: &mut Context<'_>,
) -> Option<()> {
    let problem = match &group.workload {
        Workload::Permutation(_) => permutation(hosts),
        Workload::RandomIncast(_) => incast(group.count, hosts, names),
        Workload::AllReduce(all) => all_reduce(all, hosts),
        _ => None,
    };
    let Some(problem) = problem else {
        return Some(());
    };
    cx.error_at(&format!("{path}.{}", problem.key), problem.message)
        .help(problem.help);
    None
}

/// A permutation pairs as many senders with as many receivers.
fn permutation(hosts: &GroupHosts) -> Option<Problem> {
    let (senders, receivers) = (hosts.from.len(), hosts.to.len());
    (senders != receivers).then(|| Problem {
        key: "to",
        message: format!("a permutation of {senders} senders and {receivers} receivers"),
        help: "each sends to one and receives from one: as many in `from` as in `to`",
    })
}

/// For each receiver of an incast there are enough other hosts to send it.
fn incast(count: Count, hosts: &GroupHosts, names: &[Name]) -> Option<Problem> {
    let most = least_others(hosts);
    let GroupHosts { from, to } = hosts;
    let senders: BTreeSet<usize> = from.iter().copied().collect();
    let sends = |host: &&usize| senders.contains(host);
    // The first receiver with the fewest others.
    let receiver = *to.iter().find(sends).or(to.first())?;
    let receiver = quoted(&names[receiver].to_string());
    match count {
        _ if most == 0 => Some(Problem {
            key: "from",
            message: format!("no host of `from` can send to {receiver}"),
            help: "a host does not send to itself: `from` must name another one",
        }),
        Count::Number(wanted) if wanted as usize > most => Some(Problem {
            key: "count",
            message: format!(
                "{wanted} senders at once, but `from` has only {most} hosts that can send to {receiver}"
            ),
            help: "each sender is a separate host: more hosts in `from`, or without `count` all of them",
        }),
        _ => None,
    }
}

/// The hosts of an all-reduce send and receive; each message has a byte at least.
fn all_reduce(all: &AllReduce, hosts: &GroupHosts) -> Option<Problem> {
    let GroupHosts { from, to } = hosts;
    let sorted = |set: &[usize]| {
        let mut set = set.to_vec();
        set.sort_unstable();
        set
    };
    if sorted(from) != sorted(to) {
        return Some(Problem {
            key: "to",
            message: "an all-reduce among hosts of `from` alone, or of `to` alone".to_owned(),
            help: "every host sends and receives: `to` must name the hosts of `from`",
        });
    }
    let parts = all.parts(from.len());
    // One host alone is reported otherwise.
    (from.len() > 1 && all.size.count() < parts).then(|| Problem {
        key: "size",
        message: format!(
            "{} cannot be cut into {parts} messages of at least one byte",
            all.size
        ),
        help: "a larger size, or fewer `segments`",
    })
}

/// The number of other hosts in `from` for the host of `to` that has the fewest.
pub(super) fn least_others(hosts: &GroupHosts) -> usize {
    let from: BTreeSet<usize> = hosts.from.iter().copied().collect();
    let own = hosts.to.iter().any(|host| from.contains(host));
    from.len() - usize::from(own)
}
