//! Links that fail: what is lost, which path the rest takes, when, and that nothing else changes.

use crate::common::{Algo, Bulk, Datagrams, Gap};
use incastle_cases::cases;
use incastle_engine::core::{Node, PortIndex, SwitchIndex};
use incastle_engine::network::{
    ClassifyBy, Ecmp, FairConfig, FairDrop, HostConfig, LinkConfig, NetworkBuilder, Outage,
    PortKind, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_engine::{Prefetch, Simulation, Totals};
use incastle_queueing::{PortBuffer, SharedBuffer};
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// Two hosts on each of two leaves under `spines` spines; every link 100 Mbit/s and 10 us.
#[derive(Clone)]
struct Fabric {
    spines: usize,
    kind: PortKind,
    memory: Option<u64>,
    ecmp: Ecmp,
    convergence: Span,
    seed: u64,
    /// By link (hosts 0 to 3, then leaf 0 and leaf 1 to each spine): from when, until when.
    failures: Vec<(usize, Vec<(Time, Time)>)>,
    look_ahead: Prefetch,
}

impl Default for Fabric {
    fn default() -> Self {
        Self {
            spines: 2,
            kind: PortKind::Fast,
            memory: None,
            ecmp: Ecmp::Flow,
            convergence: Span::ZERO,
            seed: 1,
            failures: Vec::new(),
            look_ahead: Prefetch::Off,
        }
    }
}

/// The link of leaf 0 or 1 to a spine.
fn up(leaf: usize, spine: usize, spines: usize) -> usize {
    4 + leaf * spines + spine
}

/// The ports of a link: forth (away from the host, or upwards) and back.
fn ports(link: usize) -> [PortIndex; 2] {
    [2 * link, 2 * link + 1].map(PortIndex::from_index)
}

impl Fabric {
    fn failing(link: usize, failures: &[(Time, Time)]) -> Self {
        Self {
            failures: vec![(link, failures.to_vec())],
            ..Self::default()
        }
    }

    fn link(&self, number: usize, limit: u64) -> LinkConfig {
        let mut failures = self.failures.iter();
        let own = failures.find(|(link, _)| *link == number);
        LinkConfig {
            buffer: PortBuffer::Limited(Amount::Packets(Packets::new(limit))),
            kind: self.kind,
            failures: own.map_or_else(Vec::new, |(_, failures)| {
                let outage = |&(from, until)| Outage { from, until };
                failures.iter().map(outage).collect()
            }),
            ..LinkConfig::unlimited(Rate::from_bits_per_second(100_000_000), Span::from_us(10))
        }
    }

    fn run(&self, apps: Vec<Box<dyn incastle_engine::flow::Application>>, end: Time) -> Ran {
        let mut builder = NetworkBuilder::new(self.seed);
        builder.ecmp(self.ecmp);
        builder.convergence(self.convergence);
        let switch = |builder: &mut NetworkBuilder, name: String| {
            let memory = |bytes| SharedBuffer::new(Bytes::new(bytes), 1.0);
            let memory = self.memory.map(memory);
            Node::Switch(builder.switch(
                name,
                SwitchConfig {
                    memory,
                    ..SwitchConfig::default()
                },
            ))
        };
        let leaves = [0, 1].map(|leaf| switch(&mut builder, format!("leaf:{leaf}")));
        for host in 0..4 {
            let node = Node::Host(builder.host(format!("host:{host}"), HostConfig::default()));
            let nic = LinkConfig {
                buffer: PortBuffer::Unlimited,
                kind: PortKind::Fast,
                ..self.link(host, 0)
            };
            builder.link(node, leaves[host / 2], nic, self.link(host, 30));
        }
        let spines: Vec<Node> = (0..self.spines)
            .map(|spine| switch(&mut builder, format!("spine:{spine}")))
            .collect();
        for (leaf, &node) in leaves.iter().enumerate() {
            for (spine, &upper) in spines.iter().enumerate() {
                let link = || self.link(up(leaf, spine, self.spines), 30);
                builder.link(node, upper, link(), link());
            }
        }
        let network = builder.build().expect("a connected fabric");
        let mut simulation = Simulation::new(network, NoProbe);
        simulation.set_prefetch(self.look_ahead);
        for app in apps {
            simulation.add_application(app);
        }
        // Each look asserts that a shared memory stores what its ports store.
        let switches = (0..2 + self.spines).map(SwitchIndex::from_index);
        simulation.sample_memories(&switches.collect::<Vec<_>>(), Span::from_us(97));
        simulation.run(end, u64::MAX).expect("no loop");
        simulation.check_conservation();
        let network = simulation.network();
        let counters = network.ports().map(|port| network.counters(port));
        Ran {
            totals: simulation.totals(),
            digest: simulation.digest(),
            accepted: counters
                .map(|counters| counters.offered - counters.dropped)
                .collect(),
            dropped: network
                .ports()
                .map(|port| network.counters(port).dropped)
                .collect(),
        }
    }
}

struct Ran {
    totals: Totals,
    digest: u64,
    /// By port.
    accepted: Vec<u64>,
    dropped: Vec<u64>,
}

impl Ran {
    fn accepted(&self, link: usize) -> u64 {
        ports(link)
            .map(|port| self.accepted[port.index()])
            .iter()
            .sum()
    }
}

/// Datagrams of 1000 B on the wire, one every 100 us (80 us on each link), in both directions between
/// host 0 and host 2.
fn both_directions(stop: Time) -> Vec<Box<dyn incastle_engine::flow::Application>> {
    [(0, 2), (2, 0)]
        .map(|pair| {
            let gap = Gap::Constant(Span::from_us(100));
            Box::new(Datagrams::new(pair, 972, gap, stop))
                as Box<dyn incastle_engine::flow::Application>
        })
        .into()
}

#[test]
fn a_link_that_is_down_from_the_start_carries_nothing() {
    for spine in [0, 1] {
        for leaf in [0, 1] {
            let failed = up(leaf, spine, 2);
            let fabric = Fabric::failing(failed, &[(Time::ZERO, Time::NEVER)]);
            let ran = fabric.run(both_directions(at(9_950)), at(20_000));
            assert_eq!(ran.accepted(failed), 0);
            // All take the other spine, on a path as short: 200 packets, 4 hops.
            assert_eq!((ran.totals.packet_hops, ran.totals.drops), (800, 0));
            assert_eq!(ran.accepted(up(leaf, 1 - spine, 2)), 200);
        }
    }
}

#[test]
fn what_is_on_a_failing_link_is_lost_and_the_rest_goes_around() {
    // One spine alone has the flow 0 -> 2; find it, and cut its link in the middle.
    let whole = Fabric::default().run(both_directions(at(9_950)), at(20_000));
    let spine = usize::from(whole.accepted[ports(up(0, 1, 2))[0].index()] > 0);
    let link = up(0, spine, 2);
    // The packet of 5 ms leaves its host until 5080 us, is at the leaf at 5090 and is sent there until
    // 5170. On the wire until 5180: at 5175 it is there, at 5150 it is being sent.
    for (down, lost) in [(5_175, 1), (5_150, 1), (5_085, 0)] {
        let fabric = Fabric::failing(link, &[(at(down), Time::NEVER)]);
        let ran = fabric.run(both_directions(at(9_950)), at(20_000));
        let forth = ports(link)[0].index();
        assert_eq!(ran.dropped[forth], lost, "at {down} us");
        // The reverse path of the other flow may have the same link, and lose one packet.
        let back = ran.dropped[ports(link)[1].index()];
        assert_eq!(ran.totals.drops, lost + back);
        assert_eq!(ran.totals.failure_drops, ran.totals.drops);
        assert_eq!(ran.totals.data_packets, 200 - ran.totals.drops);
        // 51 packets were sent on it, or were lost in trying, up to the failure; no more.
        assert!(ran.accepted[forth] <= 51);
    }
}

#[test]
fn until_routes_converge_packets_are_lost() {
    let whole = Fabric::default().run(both_directions(at(9_950)), at(20_000));
    let spine = usize::from(whole.accepted[ports(up(0, 1, 2))[0].index()] > 0);
    let link = up(0, spine, 2);
    let run = |convergence| {
        let mut fabric = Fabric::failing(link, &[(at(5_085), at(8_000))]);
        fabric.convergence = Span::from_us(convergence);
        fabric.run(both_directions(at(9_950)), at(20_000))
    };
    // A packet comes to the leaf every 100 us, at 5090, 5190, ...: ten of them within a millisecond.
    let forth = ports(link)[0].index();
    assert_eq!(run(0).dropped[forth], 0);
    assert_eq!(run(1_000).dropped[forth], 10);
    assert_eq!(run(2_000).dropped[forth], 20);
    // Slower than the link comes up: all that come while it is down, from 5090 to 7990.
    assert_eq!(run(5_000).dropped[forth], 30);
}

#[test]
fn a_link_that_comes_up_carries_again() {
    let whole = Fabric::default().run(both_directions(at(9_950)), at(20_000));
    let spine = usize::from(whole.accepted[ports(up(0, 1, 2))[0].index()] > 0);
    let link = up(0, spine, 2);
    let fabric = Fabric::failing(link, &[(at(1_085), at(2_085)), (at(3_085), at(4_085))]);
    let ran = fabric.run(both_directions(at(9_950)), at(20_000));
    let forth = ports(link)[0].index();
    // In each failure ten of 100 packets take the detour, and nothing is lost in this direction.
    assert_eq!((ran.dropped[forth], ran.accepted[forth]), (0, 80));
}

#[test]
fn an_unreachable_host_loses_every_packet_and_drops_are_counted() {
    // Both links of leaf 0: what is sent between the leaves is lost at a leaf, or at a spine.
    let mut fabric = Fabric::failing(up(0, 0, 2), &[(at(5_085), Time::NEVER)]);
    fabric
        .failures
        .push((up(0, 1, 2), vec![(at(5_085), Time::NEVER)]));
    let ran = fabric.run(both_directions(at(9_950)), at(20_000));
    // 51 packets of each direction were sent up to then: the last of them is in flight.
    assert_eq!(ran.totals.data_packets + ran.totals.drops, 200);
    assert!(
        (98..=102).contains(&ran.totals.data_packets),
        "{:?}",
        ran.totals
    );
    assert_eq!(ran.totals.failure_drops, ran.totals.drops);
    // A host whose own link is down: its NIC drops, and so does its switch.
    let fabric = Fabric::failing(2, &[(at(5_085), at(6_085))]);
    let ran = fabric.run(both_directions(at(9_950)), at(20_000));
    let [nic, leaf] = ports(2).map(|port| ran.dropped[port.index()]);
    // At the NIC the packet of 5000 us, on the wire from 5080 to 5090, and those of 5100 to 6000. At
    // the leaf the one that is being sent from 5070 to 5150, and those that come from 5170 to 6070.
    assert_eq!((nic, leaf), (11, 11));
    assert_eq!(ran.totals.drops, 22);
}

#[test]
fn a_failure_after_the_end_changes_nothing() {
    for memory in [None, Some(60_000)] {
        let run = |failures: &[(usize, Vec<(Time, Time)>)]| {
            let fabric = Fabric {
                memory,
                failures: failures.to_vec(),
                ..Fabric::default()
            };
            fabric.run(mix(), at(40_000)).digest
        };
        let late = vec![(at(40_001), Time::NEVER)];
        let all: Vec<_> = (0..8).map(|link| (link, late.clone())).collect();
        assert_eq!(run(&all), run(&[]));
    }
}

/// TCP and datagrams from every host to every other.
fn mix() -> Vec<Box<dyn incastle_engine::flow::Application>> {
    let mut apps: Vec<Box<dyn incastle_engine::flow::Application>> = Vec::new();
    for pair in [(0, 2), (1, 3), (2, 1), (3, 2)] {
        apps.push(Box::new(Bulk::new(pair, at(10), 200_000, Algo::NewReno)));
    }
    for pair in [(0, 3), (1, 0), (2, 0), (3, 1)] {
        let gap = Gap::Exponential(Span::from_us(250));
        apps.push(Box::new(Datagrams::new(pair, 700, gap, at(30_000))));
    }
    apps
}

#[test]
fn tcp_continues_when_its_path_fails() {
    for spine in [0, 1] {
        let fabric = Fabric::failing(up(1, spine, 2), &[(at(3_000), Time::NEVER)]);
        let apps = || -> Vec<Box<dyn incastle_engine::flow::Application>> {
            vec![Box::new(Bulk::new(
                (0, 2),
                Time::ZERO,
                500_000,
                Algo::NewReno,
            ))]
        };
        let ran = fabric.run(apps(), at(5_000_000));
        // 343 segments arrive, whatever had to be sent again.
        assert!(ran.totals.data_packets >= 343, "{:?}", ran.totals);
        let failed = ports(up(1, spine, 2)).map(|port| ran.dropped[port.index()]);
        assert_eq!(ran.totals.failure_drops, failed.iter().sum());
    }
}

fn failures() -> impl Strategy<Value = Vec<(Time, Time)>> {
    prop::collection::vec(1..5_000_u64, 0..6).prop_map(|gaps| {
        let mut now = 0;
        let ends = gaps.into_iter().map(|gap| {
            now += gap;
            at(now)
        });
        let ends: Vec<Time> = ends.collect();
        ends.chunks(2)
            .map(|pair| (pair[0], pair.get(1).copied().unwrap_or(Time::NEVER)))
            .collect()
    })
}

fn kinds() -> impl Strategy<Value = (PortKind, Option<u64>)> {
    let fair = PortKind::Fair(FairConfig {
        quantum: Bytes::new(1_500),
        drop: FairDrop::Longest,
        per: ClassifyBy::Flow,
    });
    prop_oneof![
        Just((PortKind::Fast, None)),
        Just((PortKind::General, None)),
        Just((fair, None)),
        (5_000..60_000_u64).prop_map(|bytes| (PortKind::Fast, Some(bytes))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    /// Conservation (asserted by `run`) and determinism, whatever fails when, however far it looks ahead.
    #[test]
    fn nothing_is_unaccounted_for_whatever_fails(
        failures in prop::collection::vec(failures(), 10),
        (kind, memory) in kinds(),
        spines in 1..4_usize,
        convergence in 0..3_000_u64,
        ecmp in prop_oneof![
            Just(Ecmp::Flow),
            Just(Ecmp::Packet),
            Just(Ecmp::Flowlet { gap: Span::from_us(100) }),
        ],
    ) {
        let fabric = Fabric {
            spines,
            kind,
            memory,
            ecmp,
            convergence: Span::from_us(convergence),
            failures: failures.into_iter().enumerate().collect(),
            ..Fabric::default()
        };
        let run = |look_ahead| {
            let ran = Fabric { look_ahead, ..fabric.clone() }.run(mix(), at(60_000));
            (ran.digest, ran.totals)
        };
        let plain = run(Prefetch::Off);
        prop_assert_eq!(plain, run(Prefetch::Next));
        prop_assert_eq!(plain, run(Prefetch::Groups));
    }
}
