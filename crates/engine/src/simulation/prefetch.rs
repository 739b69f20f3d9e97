//! Prefetch: the memory that the next events need is loaded into the processor's cache before them.
//!
//! Where ports and packets do not fit into the first-level cache, each event would wait for its own, one after the
//! other. An arrival reads a chain: its port, the packet, the route, the next port or the endpoint, the packets of
//! that port. A dequeue of a NIC reads a chain as well: its host, the endpoint.
//!
//! If the network fits into the second-level cache, one step of the chains of the next three events is prefetched
//! before each event. In a large one that is too late: chains are followed dozens of events ahead, a group of
//! events at a time. Other groups are processed between two steps of a chain. The next hops found are cached for
//! the arrivals; nothing else is changed here, and only speed depends on it. Its worth on fat trees: without it
//! 1024 hosts take 1.4 times as long and 8192 hosts 2.6 times. `Next` alone would take 1.5 times as long for the
//! latter.

use super::fabric::Fabric;
use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::flow::Flows;
use crate::layout::QueuePart;
use crate::network::Network;
use crate::probe::Probe;

/// The minimum number of ports for `Next`: with their packets more than the first-level cache.
const SOME_PORTS: usize = 512;
/// The minimum number of ports for `Groups`: with their packets more than the second-level cache.
const MANY_PORTS: usize = 4096;
/// Events of a group.
const GROUP: usize = 4;
/// Steps of a chain.
const STEPS: usize = 5;

/// The depth of the prefetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefetch {
    /// Not at all.
    Off,
    /// One step for each of the next three events.
    Next,
    /// All steps for the next 24 events, a group at a time.
    Groups,
}

impl Prefetch {
    /// The fastest for a network of this size.
    const fn for_ports(ports: usize) -> Self {
        match ports {
            0..SOME_PORTS => Self::Off,
            SOME_PORTS..MANY_PORTS => Self::Next,
            MANY_PORTS.. => Self::Groups,
        }
    }

    /// The number of events that must be sorted.
    const fn events(self) -> usize {
        match self {
            Self::Off | Self::Next => 0,
            Self::Groups => (STEPS + 1) * GROUP,
        }
    }
}

/// The subject of an event: a port by its index, a host by its index behind all possible ports, or nothing.
#[derive(Debug, Clone, Copy)]
struct Subject(u64);

impl Subject {
    const NOTHING: Self = Self(u64::MAX);
    const HOSTS: u64 = 1 << u32::BITS;

    #[inline(always)]
    fn of(event: Option<Event>) -> Self {
        match event {
            Some(event) if event.is(Kind::Arrival) => Self(u64::from(event.source())),
            Some(event) if event.is(Kind::Dequeue) => Self(Self::HOSTS | u64::from(event.source())),
            _ => Self::NOTHING,
        }
    }

    /// The port's index; beyond all ports if it is none.
    const fn port(self) -> usize {
        index(self.0)
    }

    /// The host's index; beyond all hosts if it is none.
    const fn host(self) -> usize {
        index(self.0 ^ Self::HOSTS)
    }
}

/// An index; beyond every list on processors with narrower addresses.
#[inline(always)]
const fn index(place: u64) -> usize {
    if place > usize::MAX as u64 {
        return usize::MAX;
    }
    place as usize
}

/// The subjects of the next events, group by group, the furthest first, each as far as its chain was followed.
type Subjects = [[Subject; GROUP]; STEPS];

/// The depth of the prefetch, and its state.
#[derive(Debug)]
pub(super) struct Prefetcher {
    depth: Prefetch,
    /// Events until the next group is followed.
    countdown: usize,
    subjects: Subjects,
}

impl Prefetcher {
    /// The fastest for a network with this number of ports.
    pub(super) fn for_ports(ports: usize, events: &mut EventQueue) -> Self {
        let depth = Prefetch::for_ports(ports);
        events.keep_sorted(depth.events());
        Self {
            depth,
            countdown: 0,
            subjects: [[Subject::NOTHING; GROUP]; STEPS],
        }
    }

    /// Changes the depth.
    pub(super) fn set_depth(&mut self, depth: Prefetch, events: &mut EventQueue) {
        self.depth = depth;
        events.keep_sorted(depth.events());
    }

    /// Prefetches the data of the next events.
    #[inline(always)]
    pub(super) fn prefetch<P: Probe>(&mut self, fabric: &mut Fabric<P>, flows: &Flows) {
        match self.depth {
            Prefetch::Off => {}
            Prefetch::Next => prefetch_next(fabric),
            Prefetch::Groups => {
                if self.countdown == 0 {
                    self.prefetch_groups(fabric, flows);
                    self.countdown = GROUP;
                }
                self.countdown -= 1;
            }
        }
    }

    /// Prefetches one step of each group's chains: of the furthest group the first, of the nearest one the last.
    #[inline(never)]
    fn prefetch_groups<P: Probe>(&mut self, fabric: &mut Fabric<P>, flows: &Flows) {
        self.subjects.rotate_right(1);
        let [first, second, third, fourth, fifth] = &mut self.subjects;
        for (place, subject) in first.iter_mut().enumerate() {
            *subject = Subject::of(fabric.clock.events.later(STEPS * GROUP + place));
            fabric.network.prefetch_subject(*subject);
        }
        for subject in second {
            fabric.network.prefetch_first(*subject);
        }
        for subject in third {
            fabric.network.prefetch_next_hops(*subject, flows);
        }
        for subject in fourth {
            *subject = prefetch_out(fabric, flows, *subject);
        }
        for out in fifth {
            prefetch_behind(fabric, *out);
        }
    }
}

/// Prefetches the port of the third event from now, the packet of the second, and the next port of the first. Any
/// guess is harmless: no branch is taken for the kind of an event.
#[inline(always)]
fn prefetch_next<P: Probe>(fabric: &Fabric<P>) {
    let Network {
        ports,
        pool,
        routes,
        extras,
        telemetry,
        ..
    } = &fabric.network;
    let events = &fabric.clock.events;
    let source = |event| events.later(event).map(|event| event.source() as usize);
    let port = |event| ports.get(source(event)?);
    if let Some(source) = source(3) {
        incastle_memory::prefetch::element(ports, source);
    }
    if let Some(port) = port(2) {
        pool.prefetch(port.first());
    }
    if let Some(first) = port(1).and_then(|port| pool.get(port.first())) {
        if *telemetry {
            extras.prefetch_telemetry(&first.packet);
        }
        // For a packet that has reached its host, the last port of all.
        let last = ports.len().wrapping_sub(1);
        let out = routes.guess(first.packet.hop()).index().min(last);
        if let Some(port) = ports.get(out) {
            port.prefetch();
            let out = PortIndex::from_index(out);
            fabric.probe.prefetch_queue(out, QueuePart::Head);
        }
    }
}

/// Finds the egress port of an arriving packet, or that of its host's ACK, and prefetches it.
#[inline(always)]
fn prefetch_out<P: Probe>(fabric: &mut Fabric<P>, flows: &Flows, subject: Subject) -> Subject {
    let Network {
        ports,
        hosts,
        pool,
        routes,
        ..
    } = &mut fabric.network;
    let Some(port) = ports.get_mut(subject.port()) else {
        return Subject::NOTHING;
    };
    let Some(flight) = pool.get(port.first()) else {
        return Subject::NOTHING;
    };
    let out = match port.to {
        Node::Switch(switch) => {
            port.cached_next_hop = routes.without_draw(switch, flight.packet.destination());
            port.cached_next_hop.index()
        }
        Node::Host(host) => {
            flows.prefetch(flight.packet.to);
            hosts[host.index()].prefetch();
            fabric.probe.prefetch_host(host);
            // The two ports of a link have successive indices.
            subject.port() ^ 1
        }
    };
    if let Some(port) = ports.get(out) {
        port.prefetch();
        // By its number: the port itself is not in the cache yet.
        let out = PortIndex(out as u32);
        fabric.probe.prefetch_queue(out, QueuePart::Head);
    }
    Subject(out as u64)
}

/// Prefetches the packets that a port sends before the next one.
#[inline(always)]
fn prefetch_behind<P: Probe>(fabric: &Fabric<P>, out: Subject) {
    let Network { ports, pool, .. } = &fabric.network;
    if let Some(port) = ports.get(out.port()) {
        port.prefetch_packets(pool);
        fabric.probe.prefetch_queue(port.index, QueuePart::Bin);
    }
}

impl Network {
    /// Prefetches the subject of an event.
    #[inline(always)]
    fn prefetch_subject(&self, subject: Subject) {
        incastle_memory::prefetch::element(&self.ports, subject.port());
        if let Some(host) = self.hosts.get(subject.host()) {
            host.prefetch();
        }
    }

    /// Prefetches the arriving packet, or the NIC and the first endpoint that waits for it.
    #[inline(always)]
    fn prefetch_first(&self, subject: Subject) {
        if let Some(port) = self.ports.get(subject.port()) {
            self.pool.prefetch(port.first());
        } else if let Some(host) = self.hosts.get(subject.host()) {
            self.ports[host.port.index()].prefetch();
            if let Some(waiting) = host.waiting().front() {
                incastle_memory::prefetch::value(waiting);
            }
        }
    }

    /// Prefetches the cached next hops of the arriving packet, or the endpoint that waits.
    #[inline(always)]
    fn prefetch_next_hops(&self, subject: Subject, flows: &Flows) {
        if let Some(port) = self.ports.get(subject.port()) {
            if let Some(flight) = self.pool.get(port.first()) {
                self.routes.prefetch(flight.packet.to);
                if self.telemetry {
                    self.extras.prefetch_telemetry(&flight.packet);
                }
            }
        } else if let Some(host) = self.hosts.get(subject.host())
            && let Some(waiting) = host.waiting().front()
        {
            flows.prefetch(*waiting);
        }
    }
}
