//! Flows that another partition has released, and the events that wait until that is decided.

use incastle_units::Time;

use super::HostStack;
use crate::core::{EndpointIndex, Event, FlowIndex, Kind, Node, Side};
use crate::flow::Endpoint;
use crate::probe::Probe;

impl<P: Probe> HostStack<P> {
    /// Releases the flows that were released elsewhere before an instant.
    pub(in crate::simulation) fn release_before(&mut self, before: Time) {
        for flow in self.fabric.process().released_before(before) {
            self.release_as_elsewhere(flow);
        }
    }

    /// Releases a flow as of the instant of its release elsewhere.
    fn release_as_elsewhere(&mut self, flow: FlowIndex) {
        let at = self.fabric.process().take_release(flow);
        let endpoints = Side::BOTH.map(|side| self.flows.peek(flow.endpoint(side)));
        assert!(
            endpoints
                .into_iter()
                .flatten()
                .all(Endpoint::may_have_acknowledged),
            "a flow is over when an endpoint has acknowledged everything"
        );
        self.release(flow, at);
    }

    /// Whether an event concerns an endpoint that may have been released elsewhere before it.
    #[inline(never)]
    pub(in crate::simulation) fn must_wait(&mut self, event: Event) -> bool {
        let network = &self.fabric.network;
        let index = match event.kind() {
            Kind::Arrival => {
                let port = &network.ports[event.source() as usize];
                match port.to {
                    Node::Switch(_) => return false,
                    Node::Host(_) => {
                        let packet = &network.pool.at(port.arriving()).packet;
                        if packet.is_pause() {
                            return false;
                        }
                        packet.to
                    }
                }
            }
            Kind::Timer | Kind::Batch => EndpointIndex(event.source()),
            Kind::Dequeue => {
                let host = &network.hosts[event.source() as usize];
                if host.is_closed() {
                    // A closed NIC takes the packet of any.
                    let waiting: Vec<EndpointIndex> = host.waiting().iter().copied().collect();
                    return waiting
                        .into_iter()
                        .any(|index| self.may_concern(index, event.at));
                }
                let Some(first) = host.waiting().front() else {
                    return false;
                };
                *first
            }
            Kind::Departure | Kind::Control | Kind::Application | Kind::Probe => return false,
        };
        self.may_concern(index, event.at)
    }

    fn may_concern(&mut self, index: EndpointIndex, at: Time) -> bool {
        let endpoint = self.flows.peek(index);
        endpoint.is_some_and(Endpoint::may_have_acknowledged) && self.may_be_released(index, at)
    }

    /// Whether an endpoint that may have acknowledged everything may have been released elsewhere before an instant.
    /// If it has been, it is released.
    #[cold]
    fn may_be_released(&mut self, index: EndpointIndex, at: Time) -> bool {
        let (Some(process), Some(endpoint)) = (&self.fabric.process, self.flows.peek(index)) else {
            return false;
        };
        if process.has(Node::Host(endpoint.peer_host())) {
            return false;
        }
        if let Some(released) = process.released_at(index.flow()) {
            // Applications are last at one instant.
            if released < at {
                self.release_as_elsewhere(index.flow());
            }
            return false;
        }
        at > process.known
    }
}
