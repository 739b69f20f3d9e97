//! Networks with priorities, PFC, queue pairs and TCP in partitions give the results of one simulation, to the last bit;
//! so do queue pairs with telemetry over FIFO queues.

use std::sync::Arc;

use crate::common::fabrics::{Flow, Kind, changes, fabrics, flows};
use crate::parallel::{alone, drive, parts, results};
use incastle_cases::cases;
use incastle_engine::Simulation;
use incastle_engine::network::Network;
use incastle_engine::probe::NoProbe;
use incastle_rdma::Verb;
use incastle_units::{Span, Time};
use proptest::prelude::*;

const END: Time = Time::from_ps(700_000_000);

fn simulation(network: Network, flows: &[Flow]) -> Simulation<NoProbe> {
    let hosts = network.host_count();
    let mut simulation = Simulation::new(network, NoProbe);
    for flow in flows {
        let mut flow = flow.clone().among(hosts);
        // A responder may be repeating data when its READ ends elsewhere (`parallel`, limits).
        flow.releases &= flow.kind != Kind::Rdma(Verb::Read);
        simulation.add_application(Box::new(flow));
    }
    simulation
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(1_000)))]

    #[test]
    fn parts_give_what_the_whole_gives(
        fabric in fabrics(30..120),
        flows in flows(),
        changes in prop::option::of(changes()),
        fifo in any::<bool>(),
        count in 2..4_usize,
        budgets in prop::collection::vec(prop_oneof![Just(u64::MAX), 1..8_u64, 1..200_u64], 1..6),
    ) {
        let make = || {
            let mut network = match &changes {
                _ if fifo => fabric.build_fifo(changes.as_deref().unwrap_or_default()),
                None => fabric.build(),
                Some(changes) => fabric.build_changing(changes),
            };
            network.gather_telemetry();
            simulation(network, &flows)
        };
        // All hosts may be at one switch.
        if let Ok(partition) = make().network().partition(count) {
            let partition = Arc::new(partition);
            let mut parts = parts(&partition, make);
            drive(&mut parts, Time::ZERO + Span::from_us(90), &budgets);
            drive(&mut parts, END, &budgets);
            prop_assert_eq!(results(parts), alone(make(), END));
        }
    }
}
