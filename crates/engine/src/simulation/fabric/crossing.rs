//! Links that lead from one partition into another.

use incastle_queueing::Verdict;

use super::Fabric;
use crate::core::{Event, FlowIndex, Kind, Node, PortIndex, Side};
use crate::flow::FlowHosts;
use crate::network::{Offer, Offered, Packet, enter};
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
        let extras = &mut messages.extras;
        let process = self.process.as_mut();
        let process = process.expect("only a logical process receives messages");
        for Crossing { port, mut flight } in messages.packets.drain(..) {
            // The sender has not reached the failure yet, and will count the loss.
            let left = flight.arrives - self.network.delay(port);
            if process.has_failed_since(port, left) {
                flight.packet.forget_extra(extras);
                continue;
            }
            flight.packet.move_extra(extras, &mut self.network.extras);
            let pool = &mut self.network.pool;
            if self.network.ports[port.index()].take_over(&flight, pool) {
                self.clock
                    .events
                    .push(Event::new(flight.arrives, Kind::Arrival, port.0));
            }
        }
        process.learn_releases(messages.released.drain(..));
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
        if matches!(verdict, Verdict::Drop(_)) {
            network.discard(slot);
            return verdict;
        }
        // The arrival is an event of the other partition.
        wakes.arrival = None;
        enter(&mut self.clock.events, at, wakes);
        if self.network.ports[at.index()].is_fast() {
            self.post(at);
        }
        verdict
    }

    /// Posts the last packet on a link to the partition that the link leads into.
    pub(super) fn post(&mut self, at: PortIndex) {
        let port = &self.network.ports[at.index()];
        let flight = *self.network.pool.at(port.last());
        let to = port.to;
        let extras = &self.network.extras;
        let process = self.process.as_mut();
        let process = process.expect("only logical processes have cut links");
        process.post(to, at, flight, extras);
    }

    /// Removes from a link into another partition the packets that have arrived there.
    fn remove_arrived(&mut self, at: PortIndex) {
        let now = self.clock.now();
        let network = &mut self.network;
        let port = &mut network.ports[at.index()];
        while let Some(packet) = port.take_arrived(now, &mut network.pool, &mut self.probe) {
            packet.forget_extra(&mut network.extras);
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
        let port = &mut network.ports[at.index()];
        let before = port.first_arrival();
        while let Some(packet) = port.forget_arrival(now, &mut network.pool) {
            packet.forget_extra(&mut network.extras);
        }
        let after = port.first_arrival();
        if before != after {
            let arrival = |first| Event::new(first, Kind::Arrival, at.0);
            if let Some(first) = before {
                self.clock.events.remove(arrival(first));
            }
            if let Some(first) = after {
                self.clock.events.push(arrival(first));
            }
        }
        false
    }
}
