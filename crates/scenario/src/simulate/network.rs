//! From a checked scenario to the engine's network.

use incastle_engine::{
    BuildError, Coalescing, FairConfig, FairDrop, HostConfig, HostIndex, LinkConfig, Network,
    NetworkBuilder, Node, PortKind, SwitchConfig, SwitchIndex,
};
use incastle_queueing::{BufferConfig, DropTail, Marker, PortBuffer, SharedBuffer};
use incastle_units::{Rate, Span, Time};

use crate::check::switch_members;
use crate::language::Root;
use crate::language::switch::{self as language, Queue, Switch};
use crate::scenario::Scenario;
use crate::text::context::Context;
use crate::text::files::NoFiles;
use crate::topology::layout::{End, Layout, Link};

/// The network of a scenario. Hosts and switches have the positions of the layout.
pub(crate) fn network(scenario: &Scenario) -> Result<Network, BuildError> {
    let (root, layout) = (scenario.tables(), scenario.layout());
    let switches = switches(root, layout);
    let mut builder = NetworkBuilder::new(scenario.seed());
    for name in &layout.hosts {
        builder.host(name.to_string(), host(root));
    }
    for (name, switch) in layout.switches.iter().zip(&switches) {
        let memory = match switch.buffer.to_config() {
            BufferConfig::PerPort(_) => None,
            BufferConfig::Shared(shared) => Some(SharedBuffer::new(shared.capacity, shared.alpha)),
        };
        builder.switch(name.to_string(), SwitchConfig { memory });
    }
    for link in &layout.links {
        let (a, b) = link.ends;
        builder.link(
            (node(a), node(b)),
            port(a, link, root, &switches),
            port(b, link, root, &switches),
        );
    }
    builder.build()
}

/// The parameters of each switch.
fn switches<'a>(root: &'a Root, layout: &Layout) -> Vec<&'a Switch> {
    let mut switches = vec![&root.switch; layout.switches.len()];
    let mut quiet = Context::new(&NoFiles);
    for (label, group) in &root.switches {
        let members = switch_members(label, group, layout, &mut quiet);
        for member in members.expect("the switches of a checked scenario exist") {
            switches[member] = &group.switch;
        }
    }
    switches
}

fn host(root: &Root) -> HostConfig {
    let host = &root.host;
    let coalesces = host.burst > 1 && host.coalescing > Span::ZERO;
    HostConfig {
        jitter: host.jitter,
        coalescing: coalesces.then_some(Coalescing {
            packets: host.burst,
            within: host.coalescing,
        }),
        reaction_point: None,
    }
}

fn node(end: End) -> Node {
    match end {
        End::Host(host) => Node::Host(HostIndex::from_index(host)),
        End::Switch(switch) => Node::Switch(SwitchIndex::from_index(switch)),
    }
}

/// The port of one end of a link.
fn port(end: End, link: &Link, root: &Root, switches: &[&Switch]) -> LinkConfig {
    let (buffer, marker, kind) = match end {
        End::Host(_) => (
            root.host.queue.to_port_buffer(),
            Marker::DropTail(DropTail),
            PortKind::Fast,
        ),
        End::Switch(switch) => {
            let switch = switches[switch];
            let buffer = match switch.buffer.to_config() {
                BufferConfig::PerPort(buffer) => buffer,
                // The shared memory alone limits the port.
                BufferConfig::Shared(_) => PortBuffer::Unlimited,
            };
            let marker = switch.queue.to_config().build(link.rate);
            (buffer, marker, switch.queue.port_kind())
        }
    };
    LinkConfig {
        rate: link.rate,
        delay: link.delay,
        buffer,
        marker,
        kind,
        schedule: schedule(link),
        ..LinkConfig::unlimited(link.rate, link.delay)
    }
}

/// The rates that a link takes later.
fn schedule(link: &Link) -> Vec<(Time, Rate)> {
    let changes = link.schedule.iter();
    changes.map(|&(at, rate)| (Time::ZERO + at, rate)).collect()
}

impl Queue {
    /// The order in which a port sends.
    fn port_kind(&self) -> PortKind {
        match self {
            Self::Drr(drr) => PortKind::Fair(FairConfig {
                quantum: drr.quantum,
                drop: match drr.drop {
                    language::FairDrop::Longest => FairDrop::Longest,
                    language::FairDrop::Arriving => FairDrop::Arriving,
                },
            }),
            Self::DropTail(_) | Self::Red(_) | Self::Threshold(_) => PortKind::Fast,
        }
    }
}
