//! Queue pairs over ports without departure events: the results are those of ports with such events and of ports with
//! one priority in use, telemetry and random marks included.

use std::sync::Arc;

use incastle_cases::cases;
use incastle_congestion::{Algorithm, Dcqcn, DcqcnConfig, Hpcc, HpccConfig};
use incastle_engine::core::{HostIndex, Node, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, QueuePairSettings, TransportSpec,
};
use incastle_engine::network::{
    HostConfig, LinkConfig, Network, NetworkBuilder, PortKind, PriorityConfig, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_engine::{Simulation, Totals};
use incastle_queueing::{LinearMarker, LinearMarkerConfig, Marker, PriorityEcnConfig};
use incastle_rdma::{Config, Verb};
use incastle_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

use crate::common::lossless::Lossless;

/// The traffic class of all packets.
const CLASS: u8 = 3;
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);

/// The ports of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ports {
    Fast,
    General,
    Priorities,
}

/// The marker at each port of a switch, where there is one.
const MARKER: LinearMarkerConfig = LinearMarkerConfig {
    k_min: Bytes::new(20_000),
    k_max: Bytes::new(200_000),
    p_max: 0.2,
};

fn port_of_switch(ports: Ports, rate: Rate, marked: bool) -> LinkConfig {
    let mut port = LinkConfig::unlimited(rate, Span::from_us(1));
    if ports == Ports::General {
        port.kind = PortKind::General;
    }
    if ports == Ports::Priorities {
        let mut ecn = PriorityEcnConfig::default();
        ecn.markers[usize::from(CLASS)] = marked.then_some(MARKER);
        port.priorities = Some(Box::new(PriorityConfig {
            ecn,
            ..PriorityConfig::default()
        }));
    } else if marked {
        port.marker = Marker::Linear(Box::new(LinearMarker::new(MARKER)));
    }
    port
}

/// Three leaves with four hosts each, and two spines that are slower than these together.
fn network(ports: Ports, marked: bool) -> Network {
    let mut builder = NetworkBuilder::new(1);
    let memory = Lossless {
        memory: Bytes::new(1_000_000_000),
        headroom: Bytes::ZERO,
        quanta: None,
        ..Lossless::default()
    };
    let switch = |count| match ports {
        Ports::Priorities => memory.switch(count),
        Ports::Fast | Ports::General => SwitchConfig::default(),
    };
    let spines = ["a", "b"].map(|name| Node::Switch(builder.switch(name, switch(3))));
    let port = |rate| port_of_switch(ports, rate, marked);
    for leaf in 0..3 {
        let node = Node::Switch(builder.switch(format!("leaf:{leaf}"), switch(6)));
        for host in 0..4 {
            let host = builder.host(format!("host:{leaf}:{host}"), HostConfig::default());
            let nic = LinkConfig::unlimited(RATE, Span::from_us(1));
            builder.link(Node::Host(host), node, nic, port(RATE));
        }
        for spine in spines {
            // Not a whole number of picoseconds per byte.
            let rate = Rate::from_bits_per_second(33_000_000_000);
            builder.link(node, spine, port(rate), port(rate));
        }
    }
    builder.build().expect("every host is reachable")
}

/// A message.
#[derive(Debug, Clone, Copy)]
struct Message {
    from: usize,
    to: usize,
    bytes: u64,
    start_ns: u64,
    verb: Verb,
}

struct Posted {
    message: Message,
    telemetry: bool,
    done: bool,
}

impl Application for Posted {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        self.done = true;
        let telemetry = self.telemetry;
        let controllers = [0, 1].map(|_| {
            if telemetry {
                Algorithm::from(Hpcc::new(HpccConfig::sigcomm19(RATE, Span::from_us(9))))
            } else {
                Algorithm::from(Dcqcn::new(DcqcnConfig::mellanox(RATE)))
            }
        });
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(self.message.from),
            to: HostIndex::from_index(self.message.to),
            transport: TransportSpec::Rdma {
                config: Arc::new(Config::default()),
                controllers: Box::new(controllers),
                settings: QueuePairSettings {
                    verb: self.message.verb,
                    control_class: CLASS,
                    telemetry,
                },
            },
            framing: Framing {
                class: CLASS,
                ..Framing::ETHERNET
            },
            watched: false,
            recorded: false,
        });
        actions.write(flow.endpoint(Side::Initiator), self.message.bytes);
    }

    fn poll_timeout(&self) -> Option<Time> {
        let start = Time::ZERO + Span::from_ns(self.message.start_ns);
        (!self.done).then_some(start)
    }
}

/// The digest of a run covers the instant, the size and the verdict of each packet at each port and endpoint.
fn run(network: Network, messages: &[Message], telemetry: bool) -> (Totals, u64) {
    let mut simulation = Simulation::new(network, NoProbe);
    for message in messages {
        simulation.add_application(Box::new(Posted {
            message: *message,
            telemetry,
            done: false,
        }));
    }
    // In steps, so that packets are inside at some checks.
    for step in 1..=20 {
        let until = Time::ZERO + Span::from_us(100) * step;
        simulation.run(until, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    let events = 0;
    let totals = simulation.totals();
    (Totals { events, ..totals }, simulation.digest())
}

fn messages() -> impl Strategy<Value = Vec<Message>> {
    let verb = prop_oneof![Just(Verb::Write), Just(Verb::Send), Just(Verb::Read)];
    let bytes = prop_oneof![1..20_000_u64, 1..2_000_000_u64];
    // Few instants, so that some coincide.
    let start = (0..6_u64).prop_map(|start| start * 5_000);
    let message = (0..12_usize, 1..12_usize, bytes, start, verb);
    let message = message.prop_map(|(from, step, bytes, start_ns, verb)| Message {
        from,
        to: (from + step) % 12,
        bytes,
        start_ns,
        verb,
    });
    prop::collection::vec(message, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(128)))]

    #[test]
    fn ports_without_departure_events_give_the_same_results(
        messages in messages(),
        telemetry in any::<bool>(),
    ) {
        let [fast, general, priorities] = [Ports::Fast, Ports::General, Ports::Priorities]
            .map(|ports| run(network(ports, !telemetry), &messages, telemetry));
        prop_assert_eq!(fast, general);
        prop_assert_eq!(fast, priorities);
    }
}

#[test]
fn an_incast_is_marked_alike() {
    let messages: Vec<Message> = (1..12)
        .map(|from| Message {
            from,
            to: 0,
            bytes: 1_000_000,
            start_ns: 0,
            verb: Verb::Write,
        })
        .collect();
    let [fast, general, priorities] = [Ports::Fast, Ports::General, Ports::Priorities]
        .map(|ports| run(network(ports, true), &messages, false));
    assert_eq!(fast, general);
    assert_eq!(fast, priorities);
    assert!(fast.0.marks > 0 && fast.0.drops == 0, "{:?}", fast.0);
}
