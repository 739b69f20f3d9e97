//! Trees and deadlocks of pauses, on graphs: rings deadlock, up-down paths in a fat tree never do.

use std::collections::{BTreeMap, BTreeSet};

use incastle_cases::cases;
use incastle_queueing::{
    Branch, Holding, PausedQueue, congestion_trees, cyclic_dependency, deadlock,
};
use incastle_units::{Bytes, Time};
use proptest::prelude::*;

use self::Node::{Aggregation, Core, Edge, Host};

/// A paused queue whose account has these bytes in other queues, and is resumed at 1000 B.
fn paused<Q: Copy>(queue: Q, since: u64, waits_for: &[(Q, u64)]) -> PausedQueue<Q> {
    PausedQueue {
        queue,
        since: Time::from_ps(since),
        resume_level: Bytes::new(1_000),
        waits_for: waits_for
            .iter()
            .map(|&(queue, bytes)| Holding {
                queue,
                bytes: Bytes::new(bytes),
            })
            .collect(),
    }
}

fn branch(queue: char, since: u64, parent: char, depth: u32) -> Branch<char> {
    Branch {
        queue,
        since: Time::from_ps(since),
        parent,
        depth,
    }
}

#[test]
fn trees_grow_from_queues_that_are_not_paused() {
    // r is congested; a and b wait for it, c and d for a, d for s as well. An empty holding is no wait.
    let pauses = [
        paused('d', 40, &[('a', 500), ('s', 20)]),
        paused('a', 10, &[('r', 9_000)]),
        paused('b', 20, &[('r', 9_000), ('t', 0)]),
        paused('c', 30, &[('a', 500), ('b', 700)]),
    ];
    let trees = congestion_trees(&pauses);
    assert_eq!(
        trees.iter().map(|tree| tree.root).collect::<Vec<_>>(),
        ['r', 's']
    );
    assert_eq!(
        trees[0].branches,
        [
            branch('a', 10, 'r', 1),
            branch('b', 20, 'r', 1),
            branch('c', 30, 'a', 2),
            branch('d', 40, 'a', 2),
        ]
    );
    assert_eq!(trees[1].branches, [branch('d', 40, 's', 1)]);
    assert_eq!(cyclic_dependency(&pauses), None);
    assert_eq!(deadlock(&pauses), None);
    assert!(congestion_trees::<char>(&[]).is_empty());
}

/// Queue i of a ring waits for queue i + 1 with these bytes, and for its host's port with others.
fn ring(size: u32, ahead: u64, to_host: u64) -> Vec<PausedQueue<u32>> {
    (0..size)
        .map(|i| paused(i, 0, &[((i + 1) % size, ahead), (100 + i, to_host)]))
        .collect()
}

#[test]
fn a_ring_deadlocks_where_its_own_packets_exceed_xon() {
    let around: Vec<u32> = (0..5).collect();
    let full = ring(5, 1_001, 5_000);
    assert_eq!(cyclic_dependency(&full).as_ref(), Some(&around));
    assert_eq!(deadlock(&full).as_ref(), Some(&around));
    // With XON or less in the next queue, the packets for the hosts leave and the queue before is resumed.
    let passing = ring(5, 1_000, 5_000);
    assert_eq!(cyclic_dependency(&passing), Some(around));
    assert_eq!(deadlock(&passing), None);
    // One queue that is resumed or has few packets ahead dissolves all.
    assert_eq!(cyclic_dependency(&full[1..]), None);
    let mut weak = full;
    weak[2] = paused(2, 0, &[(3, 999), (102, 1_000_000)]);
    assert_eq!(deadlock(&weak), None);
    assert!(cyclic_dependency(&weak).is_some());
}

#[test]
fn the_cycle_is_returned_without_the_queues_that_wait_for_it() {
    // 0 waits for 3 -> 1 -> 2 -> 3; 9 waits for an uncongested port.
    let pauses = [
        paused(0, 0, &[(3, 5_000)]),
        paused(3, 0, &[(1, 5_000)]),
        paused(1, 0, &[(8, 1), (2, 5_000)]),
        paused(2, 0, &[(3, 600), (0, 600)]),
        paused(9, 0, &[(7, 5_000)]),
    ];
    assert_eq!(cyclic_dependency(&pauses), Some(vec![1, 2, 3]));
    assert_eq!(deadlock(&pauses), Some(vec![1, 2, 3]));
    // Of a fork both sides count: 600 + 600 exceed XON. Without 0 they do not.
    assert_eq!(deadlock(&pauses[1..]), None);
}

/// A node of a fat tree with k = 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    Host(u8),
    Edge(u8),
    Aggregation(u8),
    Core(u8),
}

/// The egress queue of the first node to the second.
type Channel = (Node, Node);

/// The nodes above a node: 2 hosts per edge switch, 2 edge and 2 aggregation switches in each of 4 pods, 4 cores.
fn above(node: Node) -> Vec<Node> {
    match node {
        Host(host) => vec![Edge(host / 2)],
        Edge(edge) => vec![Aggregation(edge / 2 * 2), Aggregation(edge / 2 * 2 + 1)],
        Aggregation(switch) => vec![Core(switch % 2 * 2), Core(switch % 2 * 2 + 1)],
        Core(_) => vec![],
    }
}

fn links() -> Vec<(Node, Node)> {
    let hosts = (0..16).map(Host);
    let switches = (0..8).flat_map(|number| [Edge(number), Aggregation(number)]);
    hosts
        .chain(switches)
        .flat_map(|low| above(low).into_iter().map(move |high| (low, high)))
        .collect()
}

/// All dependences of paths that go up, then down: a channel up is followed by one up or down, one down by one down.
fn up_down() -> BTreeSet<(Channel, Channel)> {
    let links = links();
    let mut found = BTreeSet::new();
    for &(low, high) in &links {
        for &(below, top) in &links {
            if top == low {
                found.insert(((below, low), (low, high)));
                found.insert(((high, low), (low, below)));
            }
            if top == high && below != low {
                found.insert(((low, high), (high, below)));
            }
        }
    }
    found
}

/// Each channel is paused, and its account is full of packets for each channel that follows it.
fn all_paused(dependences: &BTreeSet<(Channel, Channel)>) -> Vec<PausedQueue<Channel>> {
    let mut waits: BTreeMap<Channel, Vec<(Channel, u64)>> = BTreeMap::new();
    for &(channel, next) in dependences {
        waits.entry(channel).or_default().push((next, 2_000));
    }
    waits
        .into_iter()
        .map(|(channel, waits)| paused(channel, 0, &waits))
        .collect()
}

#[test]
fn up_down_paths_in_a_fat_tree_never_deadlock() {
    let dependences = up_down();
    // 48 links, both directions; channels down to the 16 hosts wait for nothing.
    let pauses = all_paused(&dependences);
    assert_eq!(pauses.len(), 2 * 48 - 16);
    assert_eq!(cyclic_dependency(&pauses), None);
    assert_eq!(deadlock(&pauses), None);
    let trees = congestion_trees(&pauses);
    assert!(trees.iter().all(|tree| matches!(tree.root.1, Host(_))));
    assert_eq!(trees.len(), 16);
    // Paths that go up again in both edge switches of a pod, around a failed link, close a cycle.
    let mut bounced = dependences;
    bounced.insert(((Aggregation(0), Edge(0)), (Edge(0), Aggregation(1))));
    assert_eq!(cyclic_dependency(&all_paused(&bounced)), None);
    bounced.insert(((Aggregation(1), Edge(1)), (Edge(1), Aggregation(0))));
    let cycle = [
        (Edge(0), Aggregation(1)),
        (Aggregation(1), Edge(1)),
        (Edge(1), Aggregation(0)),
        (Aggregation(0), Edge(0)),
    ];
    assert_eq!(deadlock(&all_paused(&bounced)), Some(cycle.to_vec()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    /// On random graphs: each cycle is one of waits. A deadlock's queues stay paused whatever the others do: when all
    /// other queues drain, and all that can be are resumed, those of the cycle are paused still. Where there is none,
    /// all pauses dissolve. Trees have all queues that wait for others and are not behind a cycle.
    #[test]
    fn deadlocks_are_what_does_not_dissolve(
        edges in prop::collection::vec((0..12_u8, 0..14_u8, 0..1_500_u64), 0..40),
    ) {
        let mut waits: BTreeMap<u8, Vec<(u8, u64)>> = BTreeMap::new();
        for (from, to, bytes) in edges {
            waits.entry(from).or_default().push((to, bytes));
        }
        let pauses: Vec<_> = waits.iter().map(|(&queue, waits)| paused(queue, 0, waits)).collect();
        for cycle in [cyclic_dependency(&pauses), deadlock(&pauses)].into_iter().flatten() {
            for (at, queue) in cycle.iter().enumerate() {
                let next = cycle[(at + 1) % cycle.len()];
                prop_assert!(waits[queue].iter().any(|&(to, bytes)| to == next && bytes > 0));
            }
            prop_assert_eq!(Some(&cycle[0]), cycle.iter().min());
        }
        // Queues that are not paused drain; an account at or below 1000 B resumes its queue.
        let mut stuck: BTreeSet<u8> = waits.keys().copied().collect();
        while let Some(&free) = stuck.iter().find(|queue| {
            let held = waits[queue].iter().filter(|(to, _)| stuck.contains(to));
            held.map(|(_, bytes)| bytes).sum::<u64>() <= 1_000
        }) {
            stuck.remove(&free);
        }
        let found = deadlock(&pauses);
        prop_assert_eq!(found.is_none(), stuck.is_empty());
        prop_assert!(found.into_iter().flatten().all(|queue| stuck.contains(&queue)));
        let trees = congestion_trees(&pauses);
        let waiting =
            |queue: &u8| waits.get(queue).is_some_and(|waits| waits.iter().any(|(_, bytes)| *bytes > 0));
        prop_assert!(trees.iter().all(|tree| !waiting(&tree.root)));
        if cyclic_dependency(&pauses).is_none() {
            let inside: BTreeSet<u8> =
                trees.iter().flat_map(|tree| tree.branches.iter().map(|one| one.queue)).collect();
            let expected: BTreeSet<u8> = waits.keys().copied().filter(|queue| waiting(queue)).collect();
            prop_assert_eq!(inside, expected);
        }
    }
}
