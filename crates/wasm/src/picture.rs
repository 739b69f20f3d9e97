//! The network as a picture needs it: nodes, and ports in the engine's order.

use incastle_engine::core::{HostIndex, Node, SwitchIndex};
use incastle_engine::network::Network;
use incastle_scenario::Scenario;
use serde::Serialize;

#[derive(Serialize)]
struct Picture<'a> {
    name: &'a str,
    duration_s: f64,
    nodes: Vec<DrawnNode<'a>>,
    ports: Vec<DrawnPort>,
}

#[derive(Serialize)]
struct DrawnNode<'a> {
    name: &'a str,
    kind: &'static str,
}

/// `from` and `to` are places in the list of nodes.
#[derive(Serialize)]
struct DrawnPort {
    name: String,
    from: usize,
    to: usize,
    rate_bit_s: f64,
    delay_s: f64,
}

/// JSON of the network: all hosts, then all switches; ports by their index.
pub(crate) fn picture(scenario: &Scenario, network: &Network) -> String {
    let hosts = network.host_count();
    let place = |node| match node {
        Node::Host(host) => host.index(),
        Node::Switch(switch) => hosts + switch.index(),
    };
    let node = |node, kind| DrawnNode {
        name: network.node_name(node),
        kind,
    };
    let of_hosts = (0..hosts).map(|host| node(Node::Host(HostIndex::from_index(host)), "host"));
    let of_switches = (0..network.switch_count())
        .map(|switch| node(Node::Switch(SwitchIndex::from_index(switch)), "switch"));
    let ports = network.ports().map(|port| DrawnPort {
        name: network.port_name(port),
        from: place(network.owner(port)),
        to: place(network.next_hop(port)),
        rate_bit_s: network.rate(port).bits_per_second() as f64,
        delay_s: network.delay(port).as_secs_lossy(),
    });
    crate::json(&Picture {
        name: scenario.name(),
        duration_s: scenario.duration().as_secs_lossy(),
        nodes: of_hosts.chain(of_switches).collect(),
        ports: ports.collect(),
    })
}
