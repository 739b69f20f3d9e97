//! Routes: shortest paths, equal-cost paths by flow, packet and flowlet, and what cannot be built.

use crate::common::{Algo, Bulk, Datagrams, Gap, MSS, sprayed};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, Node};
use incastle_engine::network::{
    BuildError, Ecmp, HostConfig, LinkConfig, NetworkBuilder, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_units::{Rate, Span, Time};

fn link() -> LinkConfig {
    LinkConfig::unlimited(Rate::from_bits_per_second(1_000_000_000), Span::from_us(1))
}

/// `hosts` hosts on each of two edge switches, joined by `spines` switches of equal cost and by one
/// slow path.
fn fabric(hosts: usize, spines: usize, seed: u64) -> NetworkBuilder {
    let mut builder = NetworkBuilder::new(seed);
    let edges = [0, 1].map(|edge| builder.switch(format!("edge:{edge}"), SwitchConfig::default()));
    for (side, edge) in edges.into_iter().enumerate() {
        for host in 0..hosts {
            let name = format!("host:{}", side * hosts + host);
            let host = builder.host(name, HostConfig::default());
            builder.link(Node::Host(host), Node::Switch(edge), link(), link());
        }
    }
    let add = |builder: &mut NetworkBuilder, path: &[_]| {
        for ends in path.windows(2) {
            builder.link(Node::Switch(ends[0]), Node::Switch(ends[1]), link(), link());
        }
    };
    for spine in 0..spines {
        let spine = builder.switch(format!("spine:{spine}"), SwitchConfig::default());
        add(&mut builder, &[edges[0], spine, edges[1]]);
    }
    let detour =
        [0, 1].map(|step| builder.switch(format!("detour:{step}"), SwitchConfig::default()));
    add(&mut builder, &[edges[0], detour[0], detour[1], edges[1]]);
    builder
}

/// Packets that the spine switches received, and hops in all, with one datagram flow per host pair.
fn spread(spines: usize, seed: u64) -> (Vec<u64>, u64) {
    shares(Ecmp::Flow, (40, 10), spines, seed)
}

/// Packets to each spine, and hops in all, of some flows with some packets each, 100 us apart.
fn shares(ecmp: Ecmp, (hosts, packets): (usize, u64), spines: usize, seed: u64) -> (Vec<u64>, u64) {
    let mut builder = fabric(hosts, spines, seed);
    builder.ecmp(ecmp);
    let network = builder.build().expect("a connected fabric");
    let mut simulation = Simulation::new(network, NoProbe);
    let every = Span::from_us(100);
    let end = Time::ZERO + every * packets;
    for host in 0..hosts {
        let gap = Gap::Constant(every);
        let stop = Time::ZERO + every * packets - Span::from_us(50);
        simulation.add_application(Box::new(Datagrams::new(
            (host, hosts + host),
            972,
            gap,
            stop,
        )));
    }
    simulation
        .run(end + Span::from_ms(100), u64::MAX)
        .expect("no loop");
    let network = simulation.network();
    let to_spines = network.ports().filter(|&port| {
        let (from, to) = (network.owner(port), network.next_hop(port));
        network.node_name(from) == "edge:0" && network.node_name(to).starts_with("spine")
    });
    let packets = to_spines
        .map(|port| network.counters(port).offered)
        .collect();
    (packets, simulation.totals().packet_hops)
}

#[test]
fn equal_paths_share_flows_and_longer_ones_get_none() {
    let (packets, hops) = spread(4, 1);
    // 40 flows of 10 packets over host, edge, spine, edge, host: 4 hops each.
    assert_eq!(hops, 40 * 10 * 4);
    assert_eq!(packets.iter().sum::<u64>(), 400);
    // A flow keeps its path, and no path is idle or has most of the flows.
    assert!(
        packets.iter().all(|packets| packets % 10 == 0),
        "{packets:?}"
    );
    assert!(
        packets.iter().all(|packets| (20..=220).contains(packets)),
        "{packets:?}"
    );
}

/// n even draws among 4: mean n / 4, five standard deviations.
fn assert_even(shares: &[u64], of: u64) {
    let (mean, deviation) = (of as f64 / 4.0, (of as f64 * 0.25 * 0.75).sqrt());
    assert_eq!(shares.iter().sum::<u64>(), of);
    for share in shares {
        let off = (*share as f64 - mean).abs();
        assert!(off <= 5.0 * deviation, "{shares:?} of {of}");
    }
    // Pearson's statistic with 3 degrees of freedom: above 21.1 once in ten thousand.
    let square = |off: f64| off * off;
    let squares = shares.iter().map(|share| square(*share as f64 - mean));
    let statistic = squares.sum::<f64>() / mean;
    assert!(statistic < 21.1, "{statistic} of {shares:?}");
}

#[test]
fn flows_packets_and_flowlets_share_evenly() {
    let gap = Span::from_us(99);
    for seed in 1..=5 {
        // Each flow once; each packet of one flow; each packet a separate flowlet.
        assert_even(&shares(Ecmp::Flow, (2_000, 1), 4, seed).0, 2_000);
        assert_even(&shares(Ecmp::Packet, (1, 2_000), 4, seed).0, 2_000);
        assert_even(&shares(Ecmp::Flowlet { gap }, (1, 2_000), 4, seed).0, 2_000);
    }
}

#[test]
fn packets_of_one_flowlet_take_one_path() {
    // Packets are 100 us apart: within the gap, so each flow is one flowlet, whatever its length.
    let gap = Span::from_us(100);
    let (packets, hops) = shares(Ecmp::Flowlet { gap }, (40, 10), 4, 1);
    assert_eq!(hops, 40 * 10 * 4);
    assert!(packets.iter().all(|packets| packets % 10 == 0));
    let used = packets.iter().filter(|packets| **packets > 0).count();
    assert!(used >= 2, "{packets:?}");
}

#[test]
fn sprayed_packets_take_no_longer_path() {
    let (packets, hops) = shares(Ecmp::Packet, (1, 400), 4, 1);
    assert_eq!(hops, 400 * 4);
    assert_eq!(shares(Ecmp::Packet, (1, 400), 4, 1).0, packets);
    assert_ne!(shares(Ecmp::Packet, (1, 400), 4, 2).0, packets);
}

#[test]
fn reordered_segments_are_counted() {
    // A segment takes 12 us: on the fast path each overtakes the one before it on the slow path, and
    // no more than that one.
    let mut simulation = Simulation::new(sprayed(Span::from_us(14)), NoProbe);
    let bytes = 200 * MSS.count();
    let bulk = Bulk::new((0, 1), Time::ZERO, bytes, Algo::NewReno);
    simulation.add_application(Box::new(bulk));
    let mut waited = 0;
    for us in 1..5_000 {
        let until = Time::ZERO + Span::from_us(us);
        simulation.run(until, u64::MAX).expect("no loop");
        simulation.check_conservation();
        let far = simulation.flow(FlowIndex::from_index(0)).responder;
        waited += u64::from(far.packets_received * MSS.count() > far.delivered);
    }
    let flow = simulation.flow(FlowIndex::from_index(0));
    assert_eq!(
        (flow.responder.delivered, flow.initiator.tcp.retransmissions),
        (bytes, 0)
    );
    assert!(
        waited > 100,
        "{waited} instants at which a segment waits for another"
    );
}

#[test]
fn the_seed_chooses_the_paths() {
    assert_eq!(spread(4, 1), spread(4, 1));
    assert_ne!(spread(4, 1).0, spread(4, 2).0);
}

#[test]
fn what_is_not_connected_is_named() {
    let mut builder = NetworkBuilder::new(1);
    builder.host("lonely", HostConfig::default());
    assert_eq!(
        builder.build().err(),
        Some(BuildError::NoLink("lonely".into()))
    );

    let mut builder = NetworkBuilder::new(1);
    let switches = ["a", "b"].map(|name| builder.switch(name, SwitchConfig::default()));
    for (name, switch) in [("x", switches[0]), ("y", switches[1])] {
        let host = builder.host(name, HostConfig::default());
        builder.link(Node::Host(host), Node::Switch(switch), link(), link());
    }
    let error = builder.build().err();
    let expected = BuildError::Unreachable {
        host: "y".into(),
        switch: "a".into(),
    };
    assert_eq!(error, Some(expected));

    let mut builder = NetworkBuilder::new(1);
    let switch = builder.switch("switch", SwitchConfig::default());
    let host = builder.host("twice", HostConfig::default());
    for _ in 0..2 {
        builder.link(Node::Host(host), Node::Switch(switch), link(), link());
    }
    assert_eq!(
        builder.build().err(),
        Some(BuildError::SeveralLinks("twice".into()))
    );
}
