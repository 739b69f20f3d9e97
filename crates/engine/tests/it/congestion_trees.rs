//! Recorded pauses with their roots, congestion trees and deadlocks, in whole networks.

use std::sync::Arc;

use crate::common::lossless::{Lossless, RATE, port_of_switch};
use crate::common::{Datagrams, Gap};
use crate::parallel::{alone, drive, parts, results};
use incastle_cases::cases;
use incastle_engine::Simulation;
use incastle_engine::core::{Node, PortIndex};
use incastle_engine::network::{
    Ecmp, EgressQueue, HostConfig, LinkConfig, Network, NetworkBuilder,
};
use incastle_engine::probe::NoProbe;
use incastle_queueing::{
    Branch, CongestionTree, PauseRoot, PauseThreshold, Priority, WatchdogAction, WatchdogConfig,
    rooted_pauses,
};
use incastle_units::{Bytes, Rate, Span, Time};

const LOSSLESS: u8 = 3;
const HOST_DELAY: Span = Span::from_us(1);

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn queue(port: PortIndex) -> EgressQueue {
    EgressQueue {
        port,
        priority: Priority::new(LOSSLESS).expect("it is one of eight"),
    }
}

/// Packets of 1500 bytes at almost the rate of a NIC, until an instant.
fn stream(from: usize, to: usize, until: Time) -> Datagrams {
    let mut stream = Datagrams::new((from, to), 1_472, Gap::Constant(Span::from_ns(125)), until);
    stream.class = LOSSLESS;
    stream
}

fn simulate(network: Network, streams: Vec<Datagrams>, end: Time) -> Simulation<NoProbe> {
    let mut simulation = Simulation::new(network, NoProbe);
    for stream in streams {
        simulation.add_application(Box::new(stream));
    }
    for step in 1..=20 {
        let until = Time::ZERO + (end - Time::ZERO) / 20 * step;
        simulation.run(until, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    simulation
}

/// Static thresholds, and headroom for two microseconds of delay.
fn switch() -> Lossless {
    Lossless {
        memory: Bytes::new(2_000_000),
        headroom: Bytes::new(60_000),
        threshold: PauseThreshold::Static {
            xoff: Bytes::new(30_000),
            xon: Bytes::new(3_000),
        },
        ..Lossless::default()
    }
}

#[test]
fn a_pause_is_followed_to_its_root() {
    let network = Lossless {
        senders: 2,
        last_rate: Rate::from_bits_per_second(10_000_000_000),
        ..switch()
    };
    let (network, trunk) = network.behind_a_trunk_with(|builder| builder.record_pauses(1_000));
    // Ports: the trunk and back, host 0 and back, host 1 and back, the receiver and back.
    let [nic, last] = [2, 7].map(PortIndex::from_index);
    assert_eq!(network.port_name(last), "second->host:2");
    let end = us(200);
    let simulation = simulate(network, vec![stream(0, 2, end), stream(1, 2, end)], end);
    assert_eq!(simulation.totals().drops, 0);
    let network = simulation.network();
    let pauses = &rooted_pauses(network.recorded_pauses());
    // The second switch pauses the trunk because of the port to the receiver; the first one pauses the hosts because of the
    // trunk, while that is paused: their root is the same port.
    let first = pauses.iter().find(|pause| pause.queue == queue(trunk));
    let first = first.expect("the trunk was paused");
    let by = |congested, root, depth| PauseRoot {
        congested: queue(congested),
        root: queue(root),
        depth,
    };
    assert_eq!(first.root, Some(by(last, last, 1)));
    let of_hosts: Vec<_> = pauses
        .iter()
        .filter(|pause| pause.queue == queue(nic))
        .collect();
    assert!(of_hosts.len() > 1);
    let behind = by(trunk, last, 2);
    assert!(
        of_hosts.iter().any(|pause| pause.root == Some(behind)),
        "{of_hosts:?}"
    );
    assert!(of_hosts.iter().all(|pause| {
        pause
            .root
            .is_some_and(|root| root.congested == queue(trunk))
    }));
    // The record is the receivers' statistics.
    for port in [trunk, nic] {
        let of_port = pauses.iter().filter(|pause| pause.queue == queue(port));
        let ended = of_port.map(|pause| pause.end.unwrap_or(end) - pause.begin);
        let (count, sum) = ended.fold((0, Span::ZERO), |(count, sum), one| (count + 1, sum + one));
        let statistics = network
            .pauses(port, queue(port).priority, end)
            .expect("it was paused");
        assert_eq!((statistics.pauses, statistics.paused_for), (count, sum));
    }
    assert!(pauses.is_sorted_by_key(|pause| pause.begin));
    assert_eq!(network.unrecorded_pauses(), 0);
    let trees = network.congestion_trees();
    let branch = |of: PortIndex, parent, depth| Branch {
        queue: queue(of),
        since: pauses
            .iter()
            .rfind(|pause| pause.queue == queue(of))
            .expect("it was paused")
            .begin,
        parent: queue(parent),
        depth,
    };
    let expected = CongestionTree {
        root: queue(last),
        branches: vec![
            branch(trunk, last, 1),
            branch(nic, trunk, 2),
            branch(PortIndex(4), trunk, 2),
        ],
    };
    assert_eq!(trees, [expected]);
}

#[test]
fn a_record_has_a_limit_and_changes_nothing() {
    let run = |limit| {
        let network = Lossless {
            senders: 2,
            last_rate: Rate::from_bits_per_second(10_000_000_000),
            ..switch()
        };
        let (network, _) = network.behind_a_trunk_with(|builder| {
            if limit > 0 {
                builder.record_pauses(limit);
                builder.check_deadlocks(Span::from_us(3));
            }
        });
        let end = us(100);
        simulate(network, vec![stream(0, 2, end), stream(1, 2, end)], end)
    };
    let (without, some, all) = (run(0), run(3), run(1_000));
    assert!(without.network().recorded_pauses().is_empty());
    let count = all.network().recorded_pauses().len();
    assert_eq!(some.network().recorded_pauses().len(), 3);
    assert_eq!(some.network().unrecorded_pauses() as usize, count - 3);
    assert_eq!(
        (without.digest(), without.totals()),
        (all.digest(), all.totals())
    );
}

const RING: usize = 5;

/// Five switches in a ring, one host each. The shortest path to the host two switches on is clockwise for all.
fn ring(watchdog: Option<WatchdogConfig>) -> Network {
    let mut builder = NetworkBuilder::new(1);
    builder.record_pauses(1_000);
    builder.check_deadlocks(Span::from_us(10));
    if let Some(config) = watchdog {
        builder.watchdog(config);
    }
    let switches: Vec<Node> = (0..RING)
        .map(|index| Node::Switch(builder.switch(format!("s{index}"), switch().switch(3))))
        .collect();
    for (index, &node) in switches.iter().enumerate() {
        let host = Node::Host(builder.host(format!("h{index}"), HostConfig::default()));
        builder.link(
            host,
            node,
            LinkConfig::unlimited(RATE, HOST_DELAY),
            port_of_switch(RATE),
        );
    }
    for index in 0..RING {
        let next = switches[(index + 1) % RING];
        builder.link(
            switches[index],
            next,
            port_of_switch(RATE),
            port_of_switch(RATE),
        );
    }
    builder.build().expect("a ring is connected")
}

fn crossing(end: Time) -> Vec<Datagrams> {
    (0..RING)
        .map(|from| stream(from, (from + 2) % RING, end))
        .collect()
}

#[test]
fn a_ring_with_crossing_flows_locks_and_is_reported_with_its_cycle() {
    let simulation = simulate(ring(None), crossing(us(200)), us(2_000));
    let network = simulation.network();
    assert_eq!(simulation.totals().drops, 0);
    let deadlocks = network.deadlocks();
    assert_eq!(deadlocks.len(), 1, "{deadlocks:?}");
    let names: Vec<String> = deadlocks[0]
        .cycle
        .iter()
        .map(|queue| network.port_name(queue.port))
        .collect();
    assert_eq!(names, ["s0->s1", "s1->s2", "s2->s3", "s3->s4", "s4->s0"]);
    assert!(deadlocks[0].found < us(200), "{:?}", deadlocks[0].found);
    // Nothing moves any more.
    let hops = simulation.totals().packet_hops;
    let later = simulate(ring(None), crossing(us(200)), us(4_000));
    let frames = later.totals().packet_hops - hops;
    assert_eq!(
        later.totals().data_packets,
        simulation.totals().data_packets
    );
    assert!(frames > 0, "refreshes of the pauses go on");
}

#[test]
fn a_watchdog_that_drops_dissolves_the_deadlock() {
    let config = WatchdogConfig {
        detection: Span::from_us(200),
        restoration: Span::from_us(100),
        action: WatchdogAction::Drop,
    };
    let simulation = simulate(ring(Some(config)), crossing(us(200)), us(4_000));
    let network = simulation.network();
    assert!(!network.deadlocks().is_empty());
    assert!(simulation.totals().drops > 0);
    assert_eq!(
        network.congestion_trees(),
        [],
        "nothing is paused at the end"
    );
    let stored: usize = network
        .pause_table(us(4_000))
        .iter()
        .filter(|row| row.storms.storms > 0)
        .count();
    assert!(stored > 0);
}

#[test]
fn partitions_find_the_deadlock_and_record_simultaneous_pauses_in_their_order() {
    let watchdog = WatchdogConfig {
        detection: Span::from_us(200),
        restoration: Span::from_us(100),
        action: WatchdogAction::Drop,
    };
    for config in [None, Some(watchdog)] {
        let make = || {
            let mut simulation = Simulation::new(ring(config), NoProbe);
            for stream in crossing(us(200)) {
                simulation.add_application(Box::new(stream));
            }
            simulation
        };
        let whole = alone(make(), us(2_000));
        assert!(whole.1.contains("Deadlock {"), "{}", whole.1);
        for count in [2, 3, RING] {
            let partitioning = Arc::new(make().network().partition(count).expect("a ring"));
            let mut parts = parts(&partitioning, make);
            for (until, budget) in [(us(90), 7), (us(500), u64::MAX), (us(2_000), 1_000)] {
                drive(&mut parts, until, &[budget]);
            }
            assert_eq!(results(parts), whole, "{count} partitions");
        }
    }
}

/// A fat tree of k = 4: four pods of two edge and two aggregation switches, and four cores.
fn fat_tree(seed: u64) -> Network {
    let mut builder = NetworkBuilder::new(seed);
    builder.ecmp(Ecmp::Packet);
    builder.check_deadlocks(Span::from_us(10));
    builder.record_pauses(100_000);
    let mut add = |name: String| Node::Switch(builder.switch(name, switch().switch(4)));
    let cores: Vec<Node> = (0..4).map(|index| add(format!("core{index}"))).collect();
    let pods: Vec<[[Node; 2]; 2]> = (0..4)
        .map(|pod| {
            ["edge", "agg"].map(|layer| [0, 1].map(|index| add(format!("{layer}{pod}{index}"))))
        })
        .collect();
    let trunk = || port_of_switch(RATE);
    for (pod, [edges, aggs]) in pods.iter().enumerate() {
        for (number, &edge) in edges.iter().enumerate() {
            for host in 0..2 {
                let name = format!("h{pod}{number}{host}");
                let host = Node::Host(builder.host(name, HostConfig::default()));
                builder.link(host, edge, LinkConfig::unlimited(RATE, HOST_DELAY), trunk());
            }
            for &agg in aggs {
                builder.link(edge, agg, trunk(), trunk());
            }
        }
        for (number, &agg) in aggs.iter().enumerate() {
            for &core in &cores[2 * number..2 * number + 2] {
                builder.link(agg, core, trunk(), trunk());
            }
        }
    }
    builder.build().expect("a fat tree is connected")
}

#[test]
fn a_fat_tree_with_up_down_routes_never_locks() {
    let mut pauses = 0;
    for seed in 0..u64::from(cases(64)) {
        let end = us(150);
        // Every host sends to three others, drawn by the seed: every port is oversubscribed at some time.
        let to = |from: u64, which: u64| (from + 1 + (seed * 31 + from * 7 + which * 13) % 15) % 16;
        let streams = (0..16).flat_map(|from| (0..3).map(move |which| (from, which)));
        let streams =
            streams.map(|(from, which)| stream(from as usize, to(from, which) as usize, end));
        let simulation = simulate(fat_tree(seed), streams.collect(), us(200));
        let network = simulation.network();
        assert_eq!(simulation.totals().drops, 0, "seed {seed}");
        assert_eq!(network.deadlocks(), [], "seed {seed}");
        let rooted = rooted_pauses(network.recorded_pauses()).into_iter();
        let roots = rooted.filter_map(|pause| pause.root);
        pauses += roots.filter(|root| root.depth > 2).count();
    }
    assert!(pauses > 0, "pauses spread over switches");
}
