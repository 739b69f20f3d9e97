//! Coalesced receives: what a host holds back, and what ends a batch.
//!
//! A batch of data gets one ACK. Packets without data are never held: they end the batch before them and
//! are delivered by themselves.

use std::sync::Arc;

use crate::common::{Algo, controller, tcp_config};
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, HostIndex, Node, Side};
use incastle_engine::flow::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
use incastle_engine::network::{Coalescing, HostConfig, LinkConfig, NetworkBuilder, SwitchConfig};
use incastle_engine::probe::NoProbe;
use incastle_units::{Rate, Span, Time};

/// Writes three segments together, and closes later: its FIN has no data.
struct ClosesLater {
    flow: Option<FlowIndex>,
    closed: bool,
}

const CLOSES: Time = Time::from_ps(100_000_000);

impl Application for ClosesLater {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        if let Some(flow) = self.flow {
            actions.close(flow.endpoint(Side::Initiator));
            self.closed = true;
            return;
        }
        let algo = Algo::NewReno;
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(0),
            to: HostIndex::from_index(1),
            transport: TransportSpec::Tcp {
                config: Arc::new(tcp_config(algo)),
                controllers: Box::new([controller(algo), controller(algo)]),
            },
            framing: Framing::IP,
            watched: false,
            recorded: false,
        });
        actions.write(flow.endpoint(Side::Initiator), 3_000);
        self.flow = Some(flow);
    }

    fn poll_timeout(&self) -> Option<Time> {
        match self.flow {
            None => Some(Time::ZERO),
            Some(_) => (!self.closed).then_some(CLOSES),
        }
    }
}

/// Packets that the receiver has offered to its link until an instant.
fn answers(until: Time) -> u64 {
    let mut builder = NetworkBuilder::new(1);
    let switch = Node::Switch(builder.switch("switch", SwitchConfig::default()));
    let hosts = [None, Some(Span::from_ms(1))].map(|within| {
        let coalescing = within.map(|within| Coalescing {
            packets: 10,
            within,
        });
        let config = HostConfig {
            coalescing,
            ..HostConfig::default()
        };
        let host = Node::Host(builder.host("host", config));
        let rate = Rate::from_bits_per_second(1_000_000_000);
        let link = || LinkConfig::unlimited(rate, Span::from_us(1));
        builder.link(host, switch, link(), link());
        host
    });
    let mut simulation = Simulation::new(builder.build().expect("a connected network"), NoProbe);
    simulation.add_application(Box::new(ClosesLater {
        flow: None,
        closed: false,
    }));
    simulation.run(until, u64::MAX).expect("time passes");
    let network = simulation.network();
    let mut own = network
        .ports()
        .filter(|port| network.owner(*port) == hosts[1]);
    let own = own.next().expect("a host has a link");
    network.counters(own).offered
}

#[test]
fn a_packet_without_data_ends_the_batch_and_joins_none() {
    // The data wait: they would be delivered 1 ms after the first of them came.
    assert_eq!(answers(CLOSES), 0);
    // The FIN comes: an ACK for the batch before it, and one for itself.
    assert_eq!(answers(CLOSES + Span::from_us(50)), 2);
}
