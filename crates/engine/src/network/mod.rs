//! The network: hosts, switches and ports in arrays, and the operations on them.

mod builder;
mod changes;
mod extras;
mod failure;
mod host;
mod late;
mod nic_pauses;
mod occupancy;
mod packet;
mod pause_recorder;
mod pause_storm;
mod pause_table;
mod pausing;
mod port;
mod queue_pairs;
mod shared_memory;
mod view;

pub use builder::{BuildError, LinkConfig, NetworkBuilder, PortKind, SwitchConfig};

pub use incastle_congestion::ReactionPointSettings;
pub use incastle_links::{
    Degradation, GilbertElliott, Jitter, JitterDistribution, Loss, Outage, RateChange, WireCounters,
};
pub use incastle_routing::Ecmp;

pub use host::{Coalescing, HostConfig, JitterAppliesTo};
pub use incastle_queueing::{ClassifyBy, FairConfig, FairDrop};
pub use pause_recorder::EgressQueue;
pub use pause_storm::PauseStorm;
pub use pause_table::PortPauses;
pub use port::{PortCounters, PriorityConfig};

pub(crate) use crate::core::Turns;
pub(crate) use extras::{Arenas, Extras, ExtrasInOrder};
pub(crate) use failure::{FAILURES, edges, enter_failure};
pub(crate) use host::Host;
pub(crate) use incastle_links::{Failures, LinkChange};
pub(crate) use nic_pauses::NicPauses;
pub(crate) use packet::{Body, Identity, InFlight, NO_TELEMETRY, Packet, Pool};
pub(crate) use pause_storm::Storm;
pub(crate) use pausing::{PauseTimer, Pausing};
pub(crate) use port::{
    Backlog, Departed, FastPath, Gate, Offer, Offered, Onward, PauseEvent, Port, STORM, Sampler,
    TakenBack, Wakes, Wire,
};
pub(crate) use queue_pairs::QueuePairs;
pub(crate) use shared_memory::SharedMemory;

use std::collections::BTreeMap;

use incastle_links::RateSchedule;
use incastle_queueing::{JudgedLate, PauseMode, PauseNotes, PauseRecorder, Verdict};
use incastle_routing::Routes;
use incastle_units::{Bytes, Rate, Span, Time};

use crate::core::{
    Digest, EndpointIndex, Event, EventQueue, HostIndex, Kind, Node, Order, PortIndex, SwitchIndex,
};
use crate::layout::Slot;
use crate::probe::{Probe, Transit};

/// A switch.
pub(crate) struct Switch {
    pub(crate) memory: Option<SharedMemory>,
    /// Of a switch with priorities.
    pub(crate) lossless: Option<Box<Pausing>>,
}

/// A packet with the verdict of a port.
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) packet: Packet,
}

/// A network without flows.
pub struct Network {
    pub(crate) seed: u64,
    pub(crate) order: Order,
    /// The end of pauses at all ports.
    pub(crate) pause_mode: PauseMode,
    pub(crate) recorder: Option<Box<PauseRecorder<EgressQueue>>>,
    /// In a partition: for the recorder of the first one.
    pub(crate) notes: Option<Box<PauseNotes<EgressQueue>>>,
    pub(crate) storms: Vec<Storm>,
    pub(crate) turns: Turns,
    pub(crate) hosts: Vec<Host>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) ports: Vec<Port>,
    /// By port: the node that it belongs to.
    pub(crate) owners: Vec<Node>,
    /// By port whose rate changes.
    pub(crate) schedules: BTreeMap<PortIndex, RateSchedule>,
    pub(crate) failures: Failures<PortIndex>,
    /// By port whose link is degraded at times.
    pub(crate) wires: BTreeMap<PortIndex, Wire>,
    /// By port of a parallel link: the number of links between its nodes that stand before it.
    pub(crate) earlier: BTreeMap<PortIndex, u32>,
    pub(crate) routes: Routes,
    pub(crate) host_names: Vec<String>,
    pub(crate) switch_names: Vec<String>,
    /// By port: whether its packets are captured; empty without captures.
    pub(crate) captured: Vec<bool>,
    /// By port: its number at its node.
    pub(crate) numbers: Vec<u32>,
    /// By switch: its ports, by their numbers there.
    pub(crate) ports_of: Vec<Vec<PortIndex>>,
    /// The packets in ports and on links.
    pub(crate) pool: Pool,
    pub(crate) extras: Extras,
    /// Departures that were processed without events.
    pub(crate) late_departures: u64,
    /// Departures that were events only because a link leads into another partition.
    pub(crate) added_departures: u64,
    /// Whether switches make records in packets that gather telemetry.
    pub(crate) telemetry: bool,
}

impl Network {
    /// The number of hosts.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// All ports.
    pub fn ports(&self) -> impl Iterator<Item = PortIndex> + use<> {
        (0..self.ports.len()).map(PortIndex::from_index)
    }

    /// The node that a port belongs to, which sends by it.
    pub fn owner(&self, port: PortIndex) -> Node {
        self.owners[port.index()]
    }

    /// The node that a port's link leads to.
    pub fn next_hop(&self, port: PortIndex) -> Node {
        self.ports[port.index()].to
    }

    /// A node's name.
    pub fn node_name(&self, node: Node) -> &str {
        match node {
            Node::Host(host) => &self.host_names[host.index()],
            Node::Switch(switch) => &self.switch_names[switch.index()],
        }
    }

    /// A port's name, such as "switch->receiver", or "left->right#2" at a second link.
    pub fn port_name(&self, port: PortIndex) -> String {
        let (from, to) = (self.owner(port), self.next_hop(port));
        let name = format!("{}->{}", self.node_name(from), self.node_name(to));
        match self.earlier.get(&port) {
            None => name,
            Some(earlier) => format!("{name}#{}", earlier + 1),
        }
    }

    /// The line rate of a port; the present one where it changes.
    pub fn rate(&self, port: PortIndex) -> Rate {
        self.ports[port.index()].rate()
    }

    /// The one-way delay of a port's link.
    pub fn delay(&self, port: PortIndex) -> Span {
        self.ports[port.index()].delay()
    }

    /// The packets that a port's link has lost on the wire.
    pub fn wire_counters(&self, port: PortIndex) -> WireCounters {
        let wire = self.wires.get(&port);
        wire.map(|wire| wire.link.counters()).unwrap_or_default()
    }

    /// The time of a packet from a port to the next hop without queueing, as the link is at `now`.
    pub(crate) fn transit(&self, port: PortIndex, packet: &Packet, now: Time) -> Transit {
        let mut transit = self.ports[port.index()].transit(packet);
        if let Some(wire) = self.wires.get(&port) {
            transit.propagation += wire.link.extra_delay(now);
        }
        transit
    }

    /// The counters of a port.
    pub fn counters(&self, port: PortIndex) -> PortCounters {
        self.ports[port.index()].counters()
    }

    /// Congestion notifications that a port has sent so far.
    pub fn cnms(&self, port: PortIndex) -> u64 {
        let sampler = &self.ports[port.index()].sampler;
        sampler.as_ref().map_or(0, |one| one.notifications())
    }

    /// Bytes that a switch with a shared memory stored at its last check.
    pub fn stored(&self, switch: SwitchIndex) -> Option<Bytes> {
        self.switches[switch.index()]
            .memory
            .as_ref()
            .map(|memory| memory.buffer.stored())
    }

    /// The maximum number of bytes that a switch with a shared memory has stored at a time.
    pub fn max_stored(&self, switch: SwitchIndex) -> Option<Bytes> {
        let switch = &self.switches[switch.index()];
        let shared = switch
            .memory
            .as_ref()
            .map(|memory| memory.buffer.max_stored());
        let by_priority = switch.lossless.as_ref();
        shared.or_else(|| by_priority.map(|pausing| pausing.lossless.memory().max_stored()))
    }

    /// Captures the packets that a port sends; it has departure events from now on. Where events have turns, those of a
    /// NIC would change the turns of others: it reports a packet at its begin.
    pub(crate) fn capture(&mut self, port: PortIndex) {
        self.ports[port.index()].never_late();
        self.captured.resize(self.ports.len(), false);
        self.captured[port.index()] = true;
        let of_port = &mut self.ports[port.index()];
        if !(self.turns.are_taken() && of_port.is_unwatched()) {
            of_port.schedule();
        }
    }

    /// Clears the cached next hops: routes have changed.
    pub(crate) fn clear_next_hops(&mut self) {
        for port in &mut self.ports {
            port.cached_next_hop = PortIndex::NONE;
        }
    }

    /// The number of switches.
    pub fn switch_count(&self) -> usize {
        self.switches.len()
    }

    /// When the NIC of a host dequeues the next packet, if that is not now.
    #[inline]
    pub(crate) fn nic_busy(&self, host: HostIndex, now: Time) -> Option<Time> {
        let host = &self.hosts[host.index()];
        let at = host.dequeues_next(self.ports[host.port.index()].busy_until()?);
        (at > now || !host.is_clear()).then_some(at.max(now))
    }

    /// An instant before which a NIC that takes no more than its line sends cannot have taken these bytes; absent for
    /// other NICs, and where that rate changes.
    pub(crate) fn takes_at_least_until(
        &self,
        host: HostIndex,
        now: Time,
        bytes: Bytes,
    ) -> Option<Time> {
        let host = &self.hosts[host.index()];
        let port = &self.ports[host.port.index()];
        let is_even = port.is_unwatched()
            && host.reaction_point.is_none()
            && !self.schedules.contains_key(&host.port);
        is_even.then(|| host.dequeues_next(now.saturating_add(port.rate().span_of(bytes))))
    }

    /// An endpoint waits for its host's NIC, which dequeues the next packet at `at`.
    pub(crate) fn wait(
        &mut self,
        host: HostIndex,
        endpoint: EndpointIndex,
        at: Time,
        events: &mut EventQueue,
    ) {
        self.hosts[host.index()].push_waiting(endpoint);
        self.enter_dequeue(host, at, events);
    }

    /// The next endpoint that waits for a host's NIC; none if the event is outdated.
    pub(crate) fn next_waiting(&mut self, host: HostIndex, now: Time) -> Option<EndpointIndex> {
        let host = &mut self.hosts[host.index()];
        if host.dequeues_at != now {
            return None;
        }
        host.dequeues_at = Time::NEVER;
        host.pop_waiting()
    }

    /// Enters the next dequeue of a NIC, if an endpoint waits for it.
    pub(crate) fn enter_next_dequeue(
        &mut self,
        host: HostIndex,
        now: Time,
        events: &mut EventQueue,
    ) {
        if !self.hosts[host.index()].waiting().is_empty() {
            let at = self.nic_busy(host, now).unwrap_or(now);
            self.enter_dequeue(host, at, events);
        }
    }

    pub(crate) fn enter_dequeue(&mut self, index: HostIndex, at: Time, events: &mut EventQueue) {
        let host = &mut self.hosts[index.index()];
        if host.dequeues_at == Time::NEVER {
            host.dequeues_at = at;
            events.push(Event::new(at, Kind::Dequeue, index.0));
        }
    }

    /// The ports on the path from a host to an endpoint at another, with ECMP by flow and before any failure.
    pub fn path(&self, from: HostIndex, host: HostIndex, to: EndpointIndex) -> Vec<PortIndex> {
        let mut port = self.hosts[from.index()].port;
        let mut path = vec![port];
        while let Node::Switch(switch) = self.ports[port.index()].to {
            port = self.routes.of_flow(switch, host, to);
            path.push(port);
        }
        path
    }

    /// The queue pairs of a host that has some.
    pub(crate) fn nic(&mut self, host: HostIndex) -> &mut QueuePairs {
        let queue_pairs = self.hosts[host.index()].queue_pairs.as_deref_mut();
        queue_pairs.expect("the host has queue pairs")
    }

    /// Packets that wait in NICs: control packets of queue pairs, and those that pauses hold.
    pub(crate) fn in_nics(&self) -> impl Iterator<Item = &Packet> {
        let hosts = self.hosts.iter();
        let nics = hosts.filter_map(|host| host.queue_pairs.as_deref());
        let slots = nics.flat_map(QueuePairs::slots);
        slots.map(|slot| &self.pool.at(slot).packet)
    }

    /// The NIC's line has another rate: an entered dequeue moves.
    pub(crate) fn move_dequeue(&mut self, index: HostIndex, now: Time, events: &mut EventQueue) {
        let at = self.nic_busy(index, now);
        let host = &mut self.hosts[index.index()];
        if let Some(at) = at
            && host.dequeues_at != Time::NEVER
            && host.dequeues_at != at
        {
            host.dequeues_at = Time::NEVER;
            self.enter_dequeue(index, at, events);
        }
    }

    /// A slot for a packet of a host on the fast path from an endpoint onto the wire, where the NIC has one and is
    /// free.
    #[inline(always)]
    pub(crate) fn reserve_in_place(&mut self, from: HostIndex, now: Time) -> Option<Slot> {
        let host = &self.hosts[from.index()];
        let port = &self.ports[host.port.index()];
        let free = port.is_unwatched()
            && host.is_clear()
            && port
                .busy_until()
                .is_some_and(|busy| host.dequeues_next(busy) <= now);
        free.then(|| self.pool.reserve())
    }

    /// Whether the NIC of a host has the fast path onto the wire.
    #[inline]
    pub(crate) fn sends_in_place(&self, from: HostIndex) -> bool {
        self.ports[self.hosts[from.index()].port.index()].is_unwatched()
    }

    /// Sends the packet in that slot.
    #[inline(always)]
    pub(crate) fn send_in_place(
        &mut self,
        from: HostIndex,
        now: Time,
        slot: Slot,
        events: &mut EventQueue,
    ) {
        let host = &mut self.hosts[from.index()];
        let at = host.port;
        let ready = host.ready(now, self.pool.at(slot).packet.payload());
        let offer = Offer { now, ready, slot };
        if let Some(arrival) = self.ports[at.index()].send(offer, &mut self.pool) {
            events.push(Event::new(arrival, Kind::Arrival, at.0));
        }
    }

    /// Sends a host's packet on the slow path, after the host's jitter; returns it with its verdict, unless that is
    /// `Admit`.
    pub(crate) fn send<P: Probe>(
        &mut self,
        from: HostIndex,
        mut offer: Offer,
        events: &mut EventQueue,
        probe: &mut P,
    ) -> Option<Judged> {
        let host = &mut self.hosts[from.index()];
        let packet = &self.pool.at(offer.slot).packet;
        offer.ready = host.ready(offer.now, packet.payload());
        let at = host.port;
        let port = &mut self.ports[at.index()];
        if port.is_unwatched() {
            let late = self.turns.late(|| {
                let arrives = port.would_arrive(offer.ready, packet.size);
                if self.captured.get(at.index()) == Some(&true) {
                    let departs = arrives - port.delay();
                    probe.sent(at, departs, packet.sent(&self.extras));
                }
                arrives
            });
            if let Some(arrival) = port.send_late(offer, late, &mut self.pool) {
                events.push(Event::new(arrival, Kind::Arrival, at.0));
            }
            return None;
        }
        let packet = *packet;
        let verdict = self.offer_or_discard(at, offer, events, probe);
        (verdict != Verdict::Admit).then_some(Judged { verdict, packet })
    }

    /// As [`Self::offer`]; a packet that is dropped is taken out of its slot.
    pub(crate) fn offer_or_discard<P: Probe>(
        &mut self,
        at: PortIndex,
        offer: Offer,
        events: &mut EventQueue,
        probe: &mut P,
    ) -> Verdict {
        let verdict = self.offer(at, offer, events, probe);
        if matches!(verdict, Verdict::Drop(_)) {
            self.discard(offer.slot);
        }
        verdict
    }

    /// Takes a dropped packet out of its slot, and its extras out of the arena.
    pub(crate) fn discard(&mut self, slot: Slot) -> Packet {
        let packet = self.pool.take(slot);
        packet.forget_extra(&mut self.extras);
        packet
    }

    /// Offers a packet to a port and enters the events that follow. A packet that is dropped is left
    /// to the caller in its slot.
    #[inline(never)]
    pub(crate) fn offer<P: Probe>(
        &mut self,
        at: PortIndex,
        offer: Offer,
        events: &mut EventQueue,
        probe: &mut P,
    ) -> Verdict {
        let Offered { verdict, wakes } = self.take_in(at, offer, probe);
        enter(events, at, wakes);
        self.send_pauses(at, offer.now, events, probe);
        verdict
    }

    /// Offers a packet to a port; returns the verdict and the events that follow.
    #[inline(always)]
    pub(crate) fn take_in<P: Probe>(
        &mut self,
        at: PortIndex,
        offer: Offer,
        probe: &mut P,
    ) -> Offered {
        let memory = match self.owners[at.index()] {
            Node::Switch(switch) if self.switches[switch.index()].lossless.is_some() => {
                return self.take_in_by_priority(switch, at, offer, probe);
            }
            Node::Switch(switch) => self.switches[switch.index()].memory.as_mut(),
            Node::Host(_) => None,
        };
        let Self {
            ports,
            pool,
            extras,
            ..
        } = self;
        match memory {
            None => ports[at.index()].offer(offer, None, Arenas { pool, extras }, probe),
            Some(memory) => {
                memory.release_departed(ports, offer.now, Arenas { pool, extras }, probe);
                let port = &mut ports[at.index()];
                let buffer = Some(&mut memory.buffer);
                let offered = port.offer(offer, buffer, Arenas { pool, extras }, probe);
                memory.list(port, offer.now, Arenas { pool, extras }, probe);
                offered
            }
        }
    }

    /// The next packet that a port has pushed out, until there are none.
    pub(crate) fn take_pushed_out(&mut self, at: PortIndex) -> Option<Packet> {
        let packet = self.ports[at.index()].take_pushed_out()?;
        packet.forget_extra(&mut self.extras);
        Some(packet)
    }

    /// The next packet that a port has judged when it was taken out of its queue, until there are none.
    pub(crate) fn take_judged(&mut self, at: PortIndex, now: Time) -> Option<Judged> {
        let JudgedLate { verdict, packet } = self.ports[at.index()].take_judged(now)?;
        if matches!(verdict, Verdict::Drop(_)) {
            packet.forget_extra(&mut self.extras);
        }
        Some(Judged { verdict, packet })
    }

    /// A port with departure events has sent a packet. Nothing where the event is outdated.
    #[inline(always)]
    pub(crate) fn depart<P: Probe>(
        &mut self,
        at: PortIndex,
        now: Time,
        probe: &mut P,
    ) -> Option<Departed> {
        let mut sent = self.ports[at.index()].depart(now, &mut self.pool, probe)?;
        if self.captured.get(at.index()) == Some(&true) {
            let packet = &self.pool.at(sent.slot).packet;
            probe.sent(at, now, packet.sent(&self.extras));
        }
        if let Node::Switch(switch) = self.owners[at.index()] {
            self.release(switch, self.pool.at(sent.slot).packet.size());
            sent.next = self.end_by_priority(switch, at, now, &sent);
        }
        let (port, pool) = (&mut self.ports[at.index()], &mut self.pool);
        if sent.next.is_some() {
            port.stamp_next(now, pool, &mut self.extras);
        }
        if !self.wires.is_empty()
            && let Some(wire) = self.wires.get_mut(&at)
        {
            return Some(port.carry_degraded(&sent, now, pool, wire));
        }
        Some(port.carry(&sent, now, pool))
    }

    /// Bytes have left the memory of a switch.
    pub(crate) fn release(&mut self, switch: SwitchIndex, size: Bytes) {
        if let Some(memory) = &mut self.switches[switch.index()].memory {
            memory.buffer.release(size);
        }
    }

    /// The digest of a port.
    pub(crate) fn digest_of(&self, port: PortIndex) -> Digest {
        self.ports[port.index()].gate.digest
    }
}

/// Enters the next events of a port.
#[inline]
pub(crate) fn enter(events: &mut EventQueue, port: PortIndex, wakes: Wakes) {
    if let Some(at) = wakes.arrival {
        events.push(Event::new(at, Kind::Arrival, port.0));
    }
    if let Some(at) = wakes.departure {
        events.push(Event::new(at, Kind::Departure, port.0));
    }
}
