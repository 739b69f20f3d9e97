//! Routes: shortest paths, equal-cost paths by flow, and what cannot be built.

mod common;

use common::{Datagrams, Gap};
use incastle_engine::{
    BuildError, HostConfig, LinkConfig, NetworkBuilder, NoProbe, Node, Simulation, SwitchConfig,
};
use incastle_units::{Rate, Span, Time};

fn link() -> LinkConfig {
    LinkConfig::unlimited(Rate::from_bits_per_second(1_000_000_000), Span::from_us(1))
}

/// `hosts` hosts on each of two edge switches, joined by `spines` switches of equal cost and by one
/// longer way.
fn fabric(hosts: usize, spines: usize, seed: u64) -> NetworkBuilder {
    let mut builder = NetworkBuilder::new(seed);
    let edges = [0, 1].map(|edge| builder.switch(format!("edge:{edge}"), SwitchConfig::default()));
    for (side, edge) in edges.into_iter().enumerate() {
        for host in 0..hosts {
            let name = format!("host:{}", side * hosts + host);
            let host = builder.host(name, HostConfig::default());
            builder.link((Node::Host(host), Node::Switch(edge)), link(), link());
        }
    }
    let add = |builder: &mut NetworkBuilder, path: &[_]| {
        for ends in path.windows(2) {
            builder.link(
                (Node::Switch(ends[0]), Node::Switch(ends[1])),
                link(),
                link(),
            );
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
    let hosts = 40;
    let network = fabric(hosts, spines, seed)
        .build()
        .expect("a connected fabric");
    let mut simulation = Simulation::new(network, NoProbe);
    for host in 0..hosts {
        let gap = Gap::Constant(Span::from_us(100));
        let stop = Time::ZERO + Span::from_us(950);
        simulation.add_application(Box::new(Datagrams::new(
            (host, hosts + host),
            972,
            gap,
            stop,
        )));
    }
    simulation
        .run(Time::ZERO + Span::from_ms(100), u64::MAX)
        .expect("no loop");
    let network = simulation.network();
    let to_spines = network.ports().filter(|&port| {
        let (from, to) = network.ends(port);
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
        builder.link((Node::Host(host), Node::Switch(switch)), link(), link());
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
        builder.link((Node::Host(host), Node::Switch(switch)), link(), link());
    }
    assert_eq!(
        builder.build().err(),
        Some(BuildError::SeveralLinks("twice".into()))
    );
}
