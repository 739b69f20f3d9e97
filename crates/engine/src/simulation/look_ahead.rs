//! A look at what the arrivals of a day need first, all at once.
//!
//! In a large network ports and packets lie far outside of the processor's nearest caches, and each
//! event would wait for its own, one after the other. Loads that do not depend on each other wait
//! together: first those of the ports and packets that the events name, then those of the ports and
//! endpoints to which these lead. The routes that are found on the way are kept for the arrivals;
//! beside them nothing is changed here, and nothing but speed depends on it.

use std::hint::black_box;

use super::Simulation;
use crate::endpoint::Endpoint;
use crate::event::Kind;
use crate::port::Port;
use crate::{Network, Node, PortIndex, Probe};

/// The least number of ports that makes a network large: half a megabyte.
const MANY_PORTS: usize = 2048;

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

    /// Looks at what today's arrivals need.
    #[inline(never)]
    pub(super) fn look_ahead(&mut self) {
        let network = &mut self.network;
        let today = self.events.today().iter();
        let arrivals = today.filter(|event| event.is(Kind::Arrival));
        let mut seen = 0;
        for event in arrivals.clone() {
            let port = &network.ports[event.source() as usize];
            seen ^= port.glance() ^ network.pool.at(port.first()).arrives.as_ps();
        }
        for event in arrivals {
            let port = &network.ports[event.source() as usize];
            let packet = &network.pool.at(port.first()).packet;
            match port.to {
                Node::Switch(switch) => {
                    let out = network.routes.foresee(switch, packet);
                    seen ^= network.ports.get(out.index()).map_or(0, Port::glance);
                    network.ports[event.source() as usize].foreseen = out;
                }
                Node::Host(_) => {
                    seen ^= self.flows.peek(packet.to).map_or(0, Endpoint::glance);
                }
            }
        }
        black_box(seen);
    }

    /// Forgets the routes that were foreseen: they have changed.
    pub(super) fn look_again(&mut self) {
        for port in &mut self.network.ports {
            port.foreseen = PortIndex::NONE;
        }
    }
}
