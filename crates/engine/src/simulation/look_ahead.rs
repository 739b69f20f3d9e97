//! A look ahead: what the next arrivals of today need is fetched before they happen.
//!
//! Where ports and packets lie outside of the processor's nearest cache, each event would wait for its own,
//! one after the other. What an arrival needs is a chain: its port names a packet, which names a route and so
//! another port, or an endpoint; that port names packets again.
//!
//! In a network that the next cache holds, a *glance* before each event asks for one link of the chains of each
//! of the next three. In a large one that is too late, and a few events are *scanned* together, one link of their
//! chains at a time: what is found is asked for, and all of it comes meanwhile. The routes that a scan finds are
//! kept for the arrivals; beside them nothing is changed here, and nothing but speed depends on it.

use super::Simulation;
use crate::event::Kind;
use crate::fetch::fetch_element;
use crate::{Network, Node, PortIndex, Probe};

/// The least number of ports that are worth glances: with their packets more than the nearest cache.
const SOME_PORTS: usize = 512;
/// The least number of ports that are worth scans: with their packets more than the next one.
const MANY_PORTS: usize = 4096;
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

/// How far a simulation looks ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookAhead {
    /// Not at all.
    Nothing,
    /// At each of the next three events.
    Glance,
    /// At 32 events together.
    Scan,
}

impl Network {
    /// What it is worth.
    pub(super) fn look_ahead(&self) -> LookAhead {
        match self.ports.len() {
            0..SOME_PORTS => LookAhead::Nothing,
            SOME_PORTS..MANY_PORTS => LookAhead::Glance,
            MANY_PORTS.. => LookAhead::Scan,
        }
    }
}

impl<P: Probe> Simulation<P> {
    /// Looks so far ahead from now on, however large the network is. Results are the same.
    pub fn set_look_ahead(&mut self, look_ahead: LookAhead) {
        self.look_ahead = look_ahead;
    }

    /// Asks for the port of the third event from now, for the packet of the second, and for what that of the
    /// first leads to. A guess does: no branch is taken for what an event is about.
    #[inline(always)]
    pub(super) fn glance(&self) {
        let Network {
            ports,
            pool,
            routes,
            ..
        } = &self.network;
        let source = |event| {
            self.events
                .later(event)
                .map(|event| event.source() as usize)
        };
        let port = |event| ports.get(source(event)?);
        if let Some(source) = source(3) {
            fetch_element(ports, source);
        }
        if let Some(port) = port(2) {
            pool.fetch(port.first());
        }
        if let Some(first) = port(1).and_then(|port| pool.get(port.first())) {
            // Of a packet that comes to its host the last port of all: any does no harm.
            let last = ports.len().wrapping_sub(1);
            let out = routes.guess(&first.packet).index().min(last);
            if let Some(port) = ports.get(out) {
                port.fetch();
                self.probe.fetch_queue(PortIndex::from_index(out), false);
            }
        }
    }

    /// Looks at what the next events of today need.
    #[inline(never)]
    pub(super) fn scan(&mut self) {
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
