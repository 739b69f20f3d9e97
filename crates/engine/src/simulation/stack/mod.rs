//! The host stack: applications and endpoints of all hosts, above the fabric.

mod actions;
mod coalescing;
mod handling;
mod limiting;
mod nic_pauses;
mod queue_pairs;
mod recorded;
mod releases;

use incastle_units::Time;

use super::fabric::{Arrival, Fabric, Passage};
use crate::core::{EndpointIndex, HostIndex, Node, PortIndex};
use crate::flow::{Addressed, Applications, Flows, ip_bytes};
use crate::layout::Slot;
use crate::network::Body;
use crate::probe::Probe;

/// Applications, endpoints and the fabric, layer by layer.
pub(crate) struct HostStack<P: Probe> {
    pub(super) applications: Applications,
    pub(crate) flows: Flows,
    pub(crate) fabric: Fabric<P>,
}

impl<P: Probe> HostStack<P> {
    /// Hosts without flows on a fabric.
    pub(super) fn new(fabric: Fabric<P>) -> Self {
        Self {
            applications: Applications::default(),
            flows: Flows::default(),
            fabric,
        }
    }

    /// A packet arrives at the end of its link: a switch forwards it, or its host receives it.
    #[inline(always)]
    pub(super) fn arrive(&mut self, at: PortIndex) {
        if self.fabric.network.ports[at.index()].late {
            return self.arrive_late(at);
        }
        let Arrival {
            slot,
            to,
            cached_next_hop,
        } = self.fabric.arrive(at);
        match to {
            Node::Switch(switch) => {
                if self.fabric.forward(at, switch, slot, cached_next_hop) == Passage::Slow {
                    self.settle_lost();
                }
            }
            Node::Host(host) => self.deliver(host, slot),
        }
    }

    /// As [`Self::arrive`], where departures have no events: outside of the path of all others, whose code stays as it is.
    #[inline(never)]
    fn arrive_late(&mut self, at: PortIndex) {
        let Arrival {
            slot,
            to,
            cached_next_hop,
        } = self.fabric.arrive_late(at);
        match to {
            Node::Switch(switch) => {
                if self.fabric.forward(at, switch, slot, cached_next_hop) == Passage::Slow {
                    self.settle_lost();
                }
            }
            Node::Host(host) => {
                let Some(to) = self.reach(host, slot) else {
                    return;
                };
                if self.flows.peek(to).is_none() {
                    let packet = self.fabric.network.pool.take(slot);
                    return self.fabric.stray(&packet);
                }
                self.deliver_aside(to, slot);
            }
        }
    }

    /// A packet has reached its host.
    #[inline(always)]
    fn deliver(&mut self, host: HostIndex, slot: Slot) {
        let Some(to) = self.reach(host, slot) else {
            return;
        };
        let Some(handling) = self.handling(to) else {
            let packet = self.fabric.network.pool.take(slot);
            return self.fabric.stray(&packet);
        };
        if handling.endpoint.receives_on_slow_path() {
            return self.deliver_aside(to, slot);
        }
        let left = handling.receive(slot);
        self.see_to(to, left);
    }

    /// Counts a packet that has reached its host; returns its endpoint, unless the host takes the packet otherwise.
    #[inline(always)]
    fn reach(&mut self, host: HostIndex, slot: Slot) -> Option<EndpointIndex> {
        let network = &self.fabric.network;
        let packet = &network.pool.at(slot).packet;
        let payload = packet.payload();
        let to = packet.to;
        if (payload == 0 && packet.is_of_network())
            || network.hosts[host.index()].coalescing.is_some()
        {
            self.deliver_otherwise(host, slot);
            return None;
        }
        let ip_bytes = ip_bytes(packet);
        self.fabric.received(host, ip_bytes, payload);
        Some(to)
    }

    /// A notification has reached its host, or any packet a host that coalesces interrupts.
    #[inline(never)]
    fn deliver_otherwise(&mut self, host: HostIndex, slot: Slot) {
        let packet = self.fabric.network.pool.take(slot);
        match packet.body {
            Body::Cnm { psi } => return self.notified(host, &packet, psi),
            Body::Pause(frame) => return self.paused(host, frame),
            _ => {}
        }
        self.fabric
            .received(host, ip_bytes(&packet), packet.payload());
        self.coalesce(host, &packet);
    }

    /// Offers an endpoint's packets to the NIC until there are none, or one has to wait. `TRACED`: the endpoint may
    /// be recorded.
    #[inline(never)]
    fn send_queued<const TRACED: bool>(&mut self, index: EndpointIndex) {
        let now = self.fabric.clock.now();
        loop {
            let Some(endpoint) = self.flows.get(index) else {
                return;
            };
            let host = endpoint.host;
            let before = if TRACED {
                endpoint.transport.retransmissions()
            } else {
                0
            };
            let network = &mut self.fabric.network;
            let slot = network.pool.reserve();
            let packet = &mut network.pool.at_mut(slot).packet;
            if !endpoint.poll_transmit(now, &mut network.extras, packet) {
                network.pool.free(slot);
                return;
            }
            if TRACED {
                let packet = *packet;
                self.trace_sent(index, &packet, before, None);
            }
            if self.stage(host, index, slot) {
                return;
            }
            self.fabric.send(host, slot);
        }
    }

    /// Stages an endpoint's packet if the NIC is busy; returns whether it is.
    fn stage(&mut self, host: HostIndex, index: EndpointIndex, slot: Slot) -> bool {
        let Fabric { network, clock, .. } = &mut self.fabric;
        let Some(at) = network.nic_busy(host, clock.now()) else {
            return false;
        };
        if let Some(endpoint) = self.flows.get(index) {
            endpoint.stage(slot);
        }
        network.wait(host, index, at, &mut clock.events);
        true
    }

    /// A NIC dequeues the packet of the next endpoint that waits.
    pub(super) fn dequeue(&mut self, host: HostIndex) {
        let now = self.fabric.clock.now();
        if self.fabric.network.hosts[host.index()]
            .queue_pairs
            .is_some()
        {
            if self.fabric.network.hosts[host.index()].is_closed() {
                return self.dequeue_closed(host);
            }
            self.serve_if_due(host);
        }
        let Some(index) = self.fabric.network.next_waiting(host, now) else {
            return;
        };
        if let Some(endpoint) = self.flows.get(index)
            && let Some(slot) = endpoint.staged.take()
        {
            self.fabric.send(host, slot);
            self.pump(index);
        }
        let Fabric { network, clock, .. } = &mut self.fabric;
        network.enter_next_dequeue(host, now, &mut clock.events);
    }

    /// The deadline of an endpoint may have come.
    pub(super) fn timer(&mut self, index: EndpointIndex) {
        let now = self.fabric.clock.now();
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        // An outdated event, or a deadline that has moved: `pump` enters the right one.
        if endpoint.wake > now {
            return;
        }
        endpoint.wake = Time::NEVER;
        if endpoint
            .poll_timeout()
            .is_some_and(|deadline| deadline <= now)
        {
            endpoint.handle_timeout(now);
            if let Some(report) = endpoint.transport.poll_timeout_report() {
                let probe = &mut self.fabric.probe;
                probe.timed_out(index.flow(), index.side(), now, &report);
            }
        }
        if self.fabric.network.is_ns3() {
            // Timers of controls change rates there, and no NIC looks for packets.
            return self.look_after(index);
        }
        self.pump(index);
    }

    /// Notifies an application, where a notice is due.
    fn notify(&mut self, due: Option<Addressed>) {
        if let Some(Addressed { app, notice }) = due {
            self.applications
                .notify(app, notice, &mut self.fabric.clock);
        }
    }

    /// Subtracts dropped datagrams from the expectations of applications.
    #[inline]
    pub(super) fn settle_lost(&mut self) {
        if !self.fabric.lost_datagrams.is_empty() {
            self.settle_lost_datagrams();
        }
    }

    #[cold]
    fn settle_lost_datagrams(&mut self) {
        let mut lost = std::mem::take(&mut self.fabric.lost_datagrams);
        for datagram in lost.drain(..) {
            if self.applications.is_awaited() {
                let due = self.flows.lose(datagram);
                self.notify(due);
            }
        }
        self.fabric.lost_datagrams = lost;
    }
}
