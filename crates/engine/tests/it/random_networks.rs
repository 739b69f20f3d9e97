//! Random connected networks: every pair of hosts is reached on a shortest path. Fast ports give the
//! results of general ports under every choice among equal paths.

use crate::common::shapes::{Shape, ecmps, shapes};
use crate::common::{Datagrams, Gap};
use incastle_cases::cases;
use incastle_engine::Simulation;
use incastle_engine::core::Node;
use incastle_engine::network::{
    Ecmp, HostConfig, LinkConfig, Network, NetworkBuilder, PortKind, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_queueing::PortBuffer;
use incastle_units::{Amount, Packets, Rate, Span, Time};
use proptest::prelude::*;

impl Shape {
    fn build(&self, ecmp: Ecmp, (kind, limit): (PortKind, Option<u64>), seed: u64) -> Network {
        let mut builder = NetworkBuilder::new(seed);
        builder.ecmp(ecmp);
        let link = || LinkConfig {
            buffer: limit.map_or(PortBuffer::Unlimited, |limit| {
                PortBuffer::Limited(Amount::Packets(Packets::new(limit)))
            }),
            kind,
            ..LinkConfig::unlimited(Rate::from_bits_per_second(100_000_000), Span::from_us(3))
        };
        let nic = || LinkConfig {
            kind,
            ..LinkConfig::unlimited(Rate::from_bits_per_second(1_000_000_000), Span::from_us(1))
        };
        let switches: Vec<Node> = (0..self.switches)
            .map(|index| Node::Switch(builder.switch(format!("s{index}"), SwitchConfig::default())))
            .collect();
        for (index, &switch) in self.hosts.iter().enumerate() {
            let host = Node::Host(builder.host(format!("h{index}"), HostConfig::default()));
            builder.link(host, switches[switch], nic(), link());
        }
        for &(a, b) in &self.links {
            builder.link(switches[a], switches[b], link(), link());
        }
        builder.build().expect("a connected network")
    }

    /// Links between two hosts, by relaxation: a method other than the engine's.
    fn hops(&self, from: usize, to: usize) -> u64 {
        let mut distance = vec![u64::MAX / 2; self.switches];
        distance[self.hosts[from]] = 0;
        for _ in 0..self.switches {
            for &(a, b) in &self.links {
                let (of_a, of_b) = (distance[a], distance[b]);
                distance[a] = of_a.min(of_b + 1);
                distance[b] = of_b.min(of_a + 1);
            }
        }
        distance[self.hosts[to]] + 2
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let hosts = self.hosts.len();
        let all = (0..hosts).flat_map(move |a| (0..hosts).map(move |b| (a, b)));
        all.filter(|(a, b)| a != b)
    }
}

fn run(network: Network, apps: impl Iterator<Item = Datagrams>) -> Simulation<NoProbe> {
    let mut simulation = Simulation::new(network, NoProbe);
    for app in apps {
        simulation.add_application(Box::new(app));
    }
    let end = Time::ZERO + Span::from_ms(200);
    simulation.run(end, u64::MAX).expect("no loop");
    simulation.check_conservation();
    simulation
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(48)))]

    #[test]
    fn every_host_reaches_every_other_on_a_shortest_path(
        shape in shapes(1..12, 2..14), ecmp in ecmps(200), seed in 0..100_u64,
    ) {
        let network = shape.build(ecmp, (PortKind::Fast, None), seed);
        let once = |pair| Datagrams::new(pair, 100, Gap::Constant(Span::from_us(1)), Time::ZERO);
        let simulation = run(network, shape.pairs().map(once));
        let hops: u64 = shape.pairs().map(|(a, b)| shape.hops(a, b)).sum();
        prop_assert_eq!(simulation.totals().packet_hops, hops);
        prop_assert_eq!(simulation.totals().data_packets, shape.pairs().count() as u64);
    }

    #[test]
    fn fast_ports_equal_general_ports(
        shape in shapes(1..12, 2..14), ecmp in ecmps(200), seed in 0..100_u64, limit in 2..30_u64,
    ) {
        let result = |kind| {
            let network = shape.build(ecmp, (kind, Some(limit)), seed);
            let stop = Time::ZERO + Span::from_ms(5);
            let gap = || Gap::Exponential(Span::from_us(180));
            let apps = shape.pairs().map(|pair| Datagrams::new(pair, 600, gap(), stop));
            let simulation = run(network, apps);
            (simulation.digest(), simulation.totals().packet_hops, simulation.totals().drops)
        };
        prop_assert_eq!(result(PortKind::Fast), result(PortKind::General));
    }
}
