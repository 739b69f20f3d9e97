//! Links that lead from one partition into another.

use incastle_queueing::Verdict;

use super::Fabric;
use incastle_units::Time;

use crate::core::{Event, EventQueue, FlowIndex, Kind, Node, PortIndex, Side};
use crate::flow::FlowHosts;
use crate::layout::{Inserted, Slot};
use crate::network::{Arenas, InFlight, Network, Offer, Offered, Packet, enter};
use crate::parallel::{Crossing, LogicalProcess, Messages};
use crate::probe::Probe;

impl<P: Probe> Fabric<P> {
    /// Whether the events of a node happen here.
    pub(in crate::simulation) fn has(&self, node: Node) -> bool {
        let process = self.process.as_ref();
        process.is_none_or(|process| process.has(node))
    }

    /// Whether a flow's endpoints are here: initiator, responder.
    pub(in crate::simulation) fn has_hosts(&self, hosts: FlowHosts) -> [bool; 2] {
        Side::BOTH.map(|side| self.has(Node::Host(hosts.at(side))))
    }

    /// The logical process that this fabric belongs to.
    pub(in crate::simulation) fn process(&mut self) -> &mut LogicalProcess {
        let process = self.process.as_mut();
        process.expect("only a partition has a logical process")
    }

    /// Takes the messages of another partition.
    pub(in crate::simulation) fn receive(&mut self, messages: &mut Messages) {
        let process = self.process.as_mut();
        let process = process.expect("only a logical process receives messages");
        for Crossing {
            port,
            mut flight,
            left,
        } in messages.packets.drain(..)
        {
            let packet = &mut flight.packet;
            messages.extras.pop(packet, &mut self.network.extras);
            // The sender has not reached the failure yet, and will count the loss.
            if process.has_failed_since(port, left) {
                packet.forget_extra(&mut self.network.extras);
                continue;
            }
            let Inserted { arrival, overtaken } = self.network.take_over(port, &flight, left);
            update_arrival(&mut self.clock.events, port, overtaken, arrival);
        }
        process.learn_releases(messages.released.drain(..));
        if let Some(notes) = &mut self.network.notes {
            notes.receive(&mut messages.pauses);
        }
    }

    /// Announces the release of a flow to the partition of its other endpoint.
    pub(in crate::simulation) fn announce_release(&mut self, flow: FlowIndex) {
        let hosts = self.accounts[flow.index()].hosts;
        if let Some(process) = &mut self.process {
            process.note_release(flow, hosts, self.clock.now());
        }
    }

    /// Offers a packet to a port whose link leads into another partition.
    #[cold]
    pub(super) fn offer_across(&mut self, at: PortIndex, packet: &Packet) -> Verdict {
        let now = self.clock.now();
        self.remove_arrived(at);
        let network = &mut self.network;
        let slot = network.pool.put(*packet);
        let offer = Offer::at(now, slot);
        let Offered { verdict, mut wakes } = network.take_in(at, offer, &mut self.probe);
        // The arrival is an event of the other partition.
        wakes.arrival = None;
        let events = &mut self.clock.events;
        enter(events, at, wakes);
        network.send_pauses(at, now, events, &mut self.probe);
        if matches!(verdict, Verdict::Drop(_)) {
            network.discard(slot);
            return verdict;
        }
        let port = &self.network.ports[at.index()];
        if port.is_fast() {
            let slot = port.last();
            self.post(at, slot, self.network.pool.at(slot).arrives);
        }
        verdict
    }

    /// Posts a packet on a link to the partition that the link leads into.
    pub(super) fn post(&mut self, at: PortIndex, slot: Slot, arrives: Time) {
        let network = &self.network;
        let port = &network.ports[at.index()];
        let packet = network.pool.at(slot).packet;
        let left = if port.is_fast() {
            arrives - port.delay()
        } else {
            self.clock.now()
        };
        let crossing = Crossing {
            port: at,
            flight: InFlight { arrives, packet },
            left,
        };
        let process = self.process.as_mut();
        let process = process.expect("only logical processes have cut links");
        process.post(port.to, crossing, &network.extras);
    }

    /// Removes from a link into another partition the packets that have arrived there.
    pub(super) fn remove_arrived(&mut self, at: PortIndex) {
        let now = self.clock.now();
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        let (pool, extras) = (&mut network.pool, &mut network.extras);
        let probe = &mut self.probe;
        while let Some(packet) = port.take_arrived(now, Arenas { pool, extras }, probe) {
            packet.forget_extra(extras);
        }
    }

    /// A link fails. Returns whether its sending node is here. Where only the receiving one is, the packets on the
    /// link are forgotten: their loss is counted by the sender.
    pub(super) fn cut_off(&mut self, at: PortIndex) -> bool {
        let now = self.clock.now();
        if self.process.is_none() {
            return true;
        }
        if self.has(self.network.owner(at)) {
            self.remove_arrived(at);
            self.process().take_back(at, now);
            return true;
        }
        self.process().note_failure(at, now);
        let network = &mut self.network;
        let before = network.ports[at.index()].first_arrival();
        for packet in network.forget_left(at, now) {
            packet.forget_extra(&mut network.extras);
        }
        let after = network.ports[at.index()].first_arrival();
        if before != after {
            update_arrival(&mut self.clock.events, at, before, after);
        }
        false
    }
}

/// Replaces the event of the first arrival on a link.
pub(super) fn update_arrival(
    events: &mut EventQueue,
    at: PortIndex,
    before: Option<Time>,
    after: Option<Time>,
) {
    let arrival = |first| Event::new(first, Kind::Arrival, at.0);
    if let Some(first) = before {
        events.remove(arrival(first));
    }
    if let Some(first) = after {
        events.push(arrival(first));
    }
}

impl Network {
    /// In the receiving partition: a packet is on a link.
    fn take_over(&mut self, at: PortIndex, flight: &InFlight, left: Time) -> Inserted {
        let (port, pool) = (&mut self.ports[at.index()], &mut self.pool);
        match self.wires.get_mut(&at) {
            Some(wire) => port.take_over_degraded(flight, left, pool, wire),
            None => Inserted {
                arrival: port.take_over(flight, pool).then_some(flight.arrives),
                overtaken: None,
            },
        }
    }

    /// In the receiving partition: takes the packets off a failed link that had left the port by `now`.
    fn forget_left(&mut self, at: PortIndex, now: Time) -> Vec<Packet> {
        let (port, pool) = (&mut self.ports[at.index()], &mut self.pool);
        match self.wires.get_mut(&at) {
            Some(wire) => port.forget_left(now, pool, wire),
            None => std::iter::from_fn(|| port.forget_arrival(now, pool)).collect(),
        }
    }
}
