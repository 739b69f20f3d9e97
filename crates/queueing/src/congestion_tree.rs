//! Who is paused because of whom: congestion trees and deadlocks of a network with PFC.
//!
//! An egress queue that is paused waits for the ingress account that paused it. That account is full of packets which
//! wait for egress queues of its switch, and these may be paused in turn. A queue that others wait for, and that waits for
//! none, is the root of a tree: it is not paused, or the account that paused it is empty. A cycle is a cyclic buffer
//! dependency (Hu et al., "Deadlocks in Datacenter Networks: Why Do They Form, and How to Avoid Them", HotNets 2016), the
//! necessary condition of a deadlock. Leaves out: pauses on their
//! way, packets on links.

use std::collections::{BTreeMap, BTreeSet};

use incastle_units::{Bytes, Time};

/// An egress queue that is paused. `Q` identifies a queue: node, port and priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PausedQueue<Q> {
    /// The queue.
    pub queue: Q,
    /// The beginning of the pause.
    pub since: Time,
    /// The bytes to which the ingress account must fall that has paused it.
    pub resume_level: Bytes,
    /// The egress queues that store the account's packets.
    pub waits_for: Vec<Holding<Q>>,
}

/// The packets of an ingress account in one egress queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holding<Q> {
    /// The egress queue.
    pub queue: Q,
    /// Their bytes.
    pub bytes: Bytes,
}

/// A root and all queues that wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CongestionTree<Q> {
    /// It pauses others, and waits for none.
    pub root: Q,
    /// By depth, then by queue; each queue once.
    pub branches: Vec<Branch<Q>>,
}

/// A paused queue in a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch<Q> {
    /// The queue.
    pub queue: Q,
    /// The beginning of its pause.
    pub since: Time,
    /// The queue that it waits for.
    pub parent: Q,
    /// The number of pauses between it and the root: 1 or more.
    pub depth: u32,
}

/// The trees, by their roots. A queue that waits for several roots is in all their trees.
pub fn congestion_trees<Q: Copy + Ord>(paused: &[PausedQueue<Q>]) -> Vec<CongestionTree<Q>> {
    let mut inner: BTreeSet<Q> = BTreeSet::new();
    let mut waiting: BTreeMap<Q, Vec<&PausedQueue<Q>>> = BTreeMap::new();
    for one in paused {
        for cause in one.causes() {
            inner.insert(one.queue);
            waiting.entry(cause).or_default().push(one);
        }
    }
    let roots = waiting.keys().filter(|queue| !inner.contains(queue));
    roots.map(|&root| grow(root, &waiting)).collect()
}

/// The tree of one root, level by level.
fn grow<Q: Copy + Ord>(root: Q, waiting: &BTreeMap<Q, Vec<&PausedQueue<Q>>>) -> CongestionTree<Q> {
    let mut branches: Vec<Branch<Q>> = Vec::new();
    let mut seen = BTreeSet::new();
    let (mut level, mut depth) = (vec![root], 1);
    while !level.is_empty() {
        let mut next = BTreeMap::new();
        for &parent in &level {
            for one in waiting.get(&parent).into_iter().flatten() {
                if seen.insert(one.queue) {
                    next.insert(one.queue, (one.since, parent));
                }
            }
        }
        branches.extend(next.iter().map(|(&queue, &(since, parent))| Branch {
            queue,
            since,
            parent,
            depth,
        }));
        level = next.into_keys().collect();
        depth += 1;
    }
    CongestionTree { root, branches }
}

/// A cyclic buffer dependency: each queue waits for packets in the next, the last for the first.
pub fn cyclic_dependency<Q: Copy + Ord>(paused: &[PausedQueue<Q>]) -> Option<Vec<Q>> {
    cycle(paused, |one, kept| {
        one.causes().any(|cause| kept.contains(&cause))
    })
}

/// A deadlock: a cycle of queues that are paused for ever. Each waits for an account whose bytes in such queues alone
/// exceed its resume level, so that it stays above whatever else leaves it.
pub fn deadlock<Q: Copy + Ord>(paused: &[PausedQueue<Q>]) -> Option<Vec<Q>> {
    cycle(paused, |one, kept| {
        let holdings = one.waits_for.iter();
        let stuck = holdings.filter(|holding| kept.contains(&holding.queue));
        stuck.fold(Bytes::ZERO, |sum, holding| sum + holding.bytes) > one.resume_level
    })
}

/// Keeps the greatest set of queues of which each stays because of the others, and returns a cycle in it.
fn cycle<Q: Copy + Ord>(
    paused: &[PausedQueue<Q>],
    stays: impl Fn(&PausedQueue<Q>, &BTreeSet<Q>) -> bool,
) -> Option<Vec<Q>> {
    let mut kept: BTreeSet<Q> = paused.iter().map(|one| one.queue).collect();
    // A queue that does not stay because of some does not because of fewer: the set only shrinks.
    loop {
        let left: BTreeSet<Q> = paused
            .iter()
            .filter(|one| stays(one, &kept))
            .map(|one| one.queue)
            .collect();
        if left == kept {
            break;
        }
        kept = left;
    }
    // Every queue that was kept waits for another that was kept: a walk returns to a queue that it has seen.
    let by_queue: BTreeMap<Q, &PausedQueue<Q>> =
        paused.iter().map(|one| (one.queue, one)).collect();
    let mut walk = vec![*kept.first()?];
    loop {
        let here = by_queue[walk.last().expect("a walk has a first queue")];
        let next = here
            .causes()
            .find(|cause| kept.contains(cause))
            .expect("it waits for a queue that was kept");
        if let Some(first) = walk.iter().position(|&seen| seen == next) {
            walk.drain(..first);
            break;
        }
        walk.push(next);
    }
    let least = (0..walk.len()).min_by_key(|&at| walk[at])?;
    walk.rotate_left(least);
    Some(walk)
}

impl<Q: Copy> PausedQueue<Q> {
    /// The queues that store packets which it waits for.
    fn causes(&self) -> impl Iterator<Item = Q> {
        let holdings = self.waits_for.iter();
        holdings
            .filter(|holding| holding.bytes > Bytes::ZERO)
            .map(|holding| holding.queue)
    }
}
