//! Prefetch: what the next events need is brought into the processor's cache before they happen.
//!
//! Where ports and packets lie outside of the nearest cache, each event would wait for its own, one after
//! the other. What an arrival needs is a chain: its port names a packet, which names a route and so
//! another port, or an endpoint; that port names packets again. What a NIC needs that takes its next packet
//! is a chain as well: its host names an endpoint.
//!
//! In a network that the next cache holds, one link of the chains of each of the next three events is
//! prefetched before each event. In a large one that is too late: chains are followed some dozens of events
//! ahead, a group of events at a time, and between two links of their chains other groups happen. The next
//! hops that are found are cached for the arrivals; nothing else is changed here, and nothing but speed
//! depends on it. Its worth on fat trees: without it 1024 hosts take 1.4 times as long and 8192 hosts 2.6
//! times; `Near` alone would take 1.5 times as long for the latter.

use super::Simulation;
use crate::core::{Event, Kind, Node, PortIndex};
use crate::network::Network;
use crate::probe::Probe;

/// The minimum number of ports at which `Near` pays: with their packets more than the nearest cache.
const SOME_PORTS: usize = 512;
/// The minimum number of ports at which `Far` pays: with their packets more than the next one.
const MANY_PORTS: usize = 4096;
/// Events of a group.
pub(super) const GROUP: usize = 4;
/// Links of a chain.
const LINKS: usize = 5;

/// How far ahead a simulation prefetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefetch {
    /// Not at all.
    Off,
    /// For each of the next three events.
    Near,
    /// For the next 24 events, a group at a time.
    Far,
}

impl Prefetch {
    /// What pays in a network of this size.
    pub(super) const fn for_ports(ports: usize) -> Self {
        match ports {
            0..SOME_PORTS => Self::Off,
            SOME_PORTS..MANY_PORTS => Self::Near,
            MANY_PORTS.. => Self::Far,
        }
    }

    /// The number of events that have to be in order.
    pub(super) const fn events(self) -> usize {
        match self {
            Self::Off | Self::Near => 0,
            Self::Far => (LINKS + 1) * GROUP,
        }
    }
}

/// What an event is about, as far as it is worth a look: a port by its place, a host by its place behind all
/// possible ports, or nothing.
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

    /// The port; beyond all ports if it is none.
    const fn port(self) -> usize {
        index(self.0)
    }

    /// The host; beyond all hosts if it is none.
    const fn host(self) -> usize {
        index(self.0 ^ Self::HOSTS)
    }
}

/// A place in a list; beyond every list where a processor's addresses do not reach so far.
#[inline(always)]
const fn index(place: u64) -> usize {
    if place > usize::MAX as u64 {
        return usize::MAX;
    }
    place as usize
}

/// What the events to come are about: of each group, the furthest first, as far as its chains have been followed.
#[derive(Debug)]
pub(super) struct Seen([[Subject; GROUP]; LINKS]);

impl Default for Seen {
    fn default() -> Self {
        Self([[Subject::NOTHING; GROUP]; LINKS])
    }
}

/// How far ahead a simulation prefetches, and where it is.
#[derive(Debug)]
pub(super) struct Prefetcher {
    depth: Prefetch,
    /// Events until the next group is followed.
    countdown: usize,
    seen: Seen,
}

impl Prefetcher {
    pub(super) fn new(depth: Prefetch) -> Self {
        Self {
            depth,
            countdown: 0,
            seen: Seen::default(),
        }
    }
}

impl Network {
    /// Prefetches what an event is about.
    #[inline(always)]
    fn prefetch_subject(&self, subject: Subject) {
        incastle_prefetch::element(&self.ports, subject.port());
        if let Some(host) = self.hosts.get(subject.host()) {
            host.prefetch();
        }
    }

    /// Prefetches the packet that arrives, or the NIC and the name of what waits for it.
    #[inline(always)]
    fn prefetch_first(&self, subject: Subject) {
        if let Some(port) = self.ports.get(subject.port()) {
            self.pool.prefetch(port.first());
        } else if let Some(host) = self.hosts.get(subject.host()) {
            self.ports[host.port.index()].prefetch();
            if let Some(waiting) = host.waiting.front() {
                incastle_prefetch::value(waiting);
            }
        }
    }
}

impl<P: Probe> Simulation<P> {
    /// Prefetches what the next events need.
    #[inline(always)]
    pub(super) fn prefetch(&mut self) {
        match self.prefetcher.depth {
            Prefetch::Off => {}
            Prefetch::Near => self.prefetch_near(),
            Prefetch::Far => {
                if self.prefetcher.countdown == 0 {
                    self.prefetch_far();
                    self.prefetcher.countdown = GROUP;
                }
                self.prefetcher.countdown -= 1;
            }
        }
    }

    /// Looks so far ahead from now on, however large the network is. Results are the same.
    pub fn set_prefetch(&mut self, depth: Prefetch) {
        self.prefetcher.depth = depth;
        self.clock.events.keep_sorted(depth.events());
    }

    /// Prefetches the port of the third event from now, for the packet of the second, and for what that of the
    /// first leads to. A guess does: no branch is taken for what an event is about.
    #[inline(always)]
    pub(super) fn prefetch_near(&self) {
        let Network {
            ports,
            pool,
            routes,
            ..
        } = &self.network;
        let source = |event| {
            self.clock
                .events
                .later(event)
                .map(|event| event.source() as usize)
        };
        let port = |event| ports.get(source(event)?);
        if let Some(source) = source(3) {
            incastle_prefetch::element(ports, source);
        }
        if let Some(port) = port(2) {
            pool.prefetch(port.first());
        }
        if let Some(first) = port(1).and_then(|port| pool.get(port.first())) {
            // Of a packet that comes to its host the last port of all: any does no harm.
            let last = ports.len().wrapping_sub(1);
            let out = routes.guess(&first.packet).index().min(last);
            if let Some(port) = ports.get(out) {
                port.prefetch();
                self.observer
                    .probe
                    .prefetch_queue(PortIndex::from_index(out), false);
            }
        }
    }

    /// Looks at what the next events need: of the furthest group at the first link of its chains, of the nearest one at
    /// the last.
    #[inline(never)]
    pub(super) fn prefetch_far(&mut self) {
        self.prefetcher.seen.0.rotate_right(1);
        for place in 0..GROUP {
            let event = self.clock.events.later(LINKS * GROUP + place);
            let subject = Subject::of(event);
            self.network.prefetch_subject(subject);
            self.prefetcher.seen.0[0][place] = subject;
        }
        for subject in self.prefetcher.seen.0[1] {
            self.network.prefetch_first(subject);
        }
        for subject in self.prefetcher.seen.0[2] {
            self.prefetch_next_hop(subject);
        }
        for place in 0..GROUP {
            self.prefetcher.seen.0[3][place] = self.without_draw(self.prefetcher.seen.0[3][place]);
        }
        for out in self.prefetcher.seen.0[4] {
            self.prefetch_behind(out);
        }
    }

    /// Prefetches the cached next hops of the packet, or the endpoint that waits.
    #[inline(always)]
    fn prefetch_next_hop(&self, subject: Subject) {
        let Network {
            ports, hosts, pool, ..
        } = &self.network;
        if let Some(port) = ports.get(subject.port()) {
            if let Some(flight) = pool.get(port.first()) {
                self.network.routes.prefetch(&flight.packet);
            }
        } else if let Some(host) = hosts.get(subject.host())
            && let Some(waiting) = host.waiting.front()
        {
            self.flows.prefetch(*waiting);
        }
    }

    /// Finds the port by which the packet that arrives goes on, or its host answers, and fetches what lies there.
    #[inline(always)]
    fn without_draw(&mut self, subject: Subject) -> Subject {
        let Network {
            ports,
            hosts,
            pool,
            routes,
            ..
        } = &mut self.network;
        let Some(port) = ports.get_mut(subject.port()) else {
            return Subject::NOTHING;
        };
        let Some(flight) = pool.get(port.first()) else {
            return Subject::NOTHING;
        };
        let out = match port.to {
            Node::Switch(switch) => {
                port.cached_next_hop = routes.without_draw(switch, &flight.packet);
                port.cached_next_hop.index()
            }
            Node::Host(host) => {
                self.flows.prefetch(flight.packet.to);
                hosts[host.index()].prefetch();
                self.observer.probe.prefetch_host(host);
                // The ports of a link follow each other.
                subject.port() ^ 1
            }
        };
        if let Some(port) = ports.get(out) {
            port.prefetch();
            // By its number: the port itself is not there yet.
            self.observer
                .probe
                .prefetch_queue(PortIndex(out as u32), false);
        }
        Subject(out as u64)
    }

    /// Prefetches the packets behind which a packet goes that leaves by a port.
    #[inline(always)]
    fn prefetch_behind(&self, out: Subject) {
        let Network { ports, pool, .. } = &self.network;
        if let Some(port) = ports.get(out.port()) {
            port.prefetch_packets(pool);
            self.observer.probe.prefetch_queue(port.index, true);
        }
    }

    /// Forgets the cached next hops: they have changed.
    pub(super) fn look_again(&mut self) {
        for port in &mut self.network.ports {
            port.cached_next_hop = PortIndex::NONE;
        }
    }
}
