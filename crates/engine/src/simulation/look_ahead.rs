//! A look ahead: what the next arrivals of today need is fetched before they happen, all at once.
//!
//! In a large network ports and packets lie far outside of the processor's nearest caches, and each
//! event would wait for its own, one after the other. What an arrival needs is a chain: its port names a
//! packet, which names a route and so another port, or an endpoint; that port names packets again. So a
//! few events are looked at together, one link of their chains at a time: what is found is asked for, and
//! all of it comes meanwhile. The routes that are found on the way are kept for the arrivals; beside them
//! nothing is changed here, and nothing but speed depends on it.

use super::Simulation;
use crate::event::Kind;
use crate::fetch::fetch_element;
use crate::{Network, Node, PortIndex, Probe};

/// The least number of ports that makes a network large: half a megabyte.
const MANY_PORTS: usize = 2048;
/// So many events are looked at together: what they need fits into the nearest cache.
pub(super) const TOGETHER: usize = 32;

/// Ports, as many as there are.
struct Ports {
    list: [PortIndex; TOGETHER],
    count: usize,
}

impl Ports {
    const fn new() -> Self {
        Self {
            list: [PortIndex::NONE; TOGETHER],
            count: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, port: PortIndex) {
        self.list[self.count] = port;
        self.count += 1;
    }

    fn iter(&self) -> impl Iterator<Item = PortIndex> {
        self.list[..self.count].iter().copied()
    }
}

impl Network {
    /// Whether it is worth a look ahead.
    pub(super) fn is_large(&self) -> bool {
        self.ports.len() >= MANY_PORTS
    }
}

impl<P: Probe> Simulation<P> {
    /// Looks ahead from now on, or does not, however large the network is. Results are the same.
    pub fn set_look_ahead(&mut self, looks_ahead: bool) {
        self.looks_ahead = looks_ahead;
    }

    /// Looks at what the next events of today need.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self) {
        let ports = &self.network.ports;
        let mut arriving = Ports::new();
        for event in self.events.today().take(TOGETHER) {
            if event.is(Kind::Arrival) {
                fetch_element(ports, event.source() as usize);
                arriving.push(PortIndex(event.source()));
            }
        }
        for at in arriving.iter() {
            self.network.pool.fetch(ports[at.index()].first());
        }
        let mut leaving = Ports::new();
        for at in arriving.iter() {
            self.foresee(at, &mut leaving);
        }
        for out in leaving.iter() {
            self.network.ports[out.index()].fetch_packets(&self.network.pool);
            self.probe.fetch_queue(out, true);
        }
    }

    /// Finds the way of the packet that arrives next from a port, and fetches what lies there.
    #[inline(always)]
    fn foresee(&mut self, at: PortIndex, leaving: &mut Ports) {
        let network = &mut self.network;
        let port = &network.ports[at.index()];
        let packet = &network.pool.at(port.first()).packet;
        network.pool.fetch(packet.behind);
        match port.to {
            Node::Switch(switch) => {
                let out = network.routes.foresee(switch, packet);
                network.ports[at.index()].foreseen = out;
                if let Some(port) = network.ports.get(out.index()) {
                    port.fetch();
                    self.probe.fetch_queue(out, false);
                    leaving.push(out);
                }
            }
            Node::Host(host) => {
                self.flows.fetch(packet.to);
                network.hosts[host.index()].fetch();
                self.probe.fetch_host(host);
            }
        }
    }

    /// Forgets the routes that were foreseen: they have changed.
    pub(super) fn look_again(&mut self) {
        for port in &mut self.network.ports {
            port.foreseen = PortIndex::NONE;
        }
    }
}
