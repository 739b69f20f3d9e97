//! The slow path of recorded endpoints: each of their packets, and the endpoint before and after each call, is
//! reported to the probe.

use incastle_transport::tcp::Batch;

use super::HostStack;
use crate::core::EndpointIndex;
use crate::network::Packet;
use crate::probe::{Probe, TraceEvent};

impl<P: Probe> HostStack<P> {
    /// A packet for a recorded endpoint.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_slowly(&mut self, packet: &Packet) {
        self.fabric
            .trace_packet(packet.to, packet, TraceEvent::Received);
        let Some(endpoint) = self.flows.get(packet.to) else {
            return;
        };
        let before = endpoint.transport.delivered();
        let (now, extras) = (self.fabric.clock.now(), &mut self.fabric.network.extras);
        endpoint.receive(now, packet, extras, Batch::Last);
        self.after_receive(packet.to, before);
    }

    /// As `pump`, for an endpoint that is recorded or has a limiter.
    #[cold]
    #[inline(never)]
    pub(super) fn pump_slowly(&mut self, index: EndpointIndex) {
        let now = self.fabric.clock.now();
        self.observe(index);
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.queue_pair().is_some() {
            self.pump_queue_pair(index);
        } else if endpoint.is_limited() {
            self.pump_limited(index);
        } else {
            if endpoint.staged.is_none() && !endpoint.transport.is_quiet(now) {
                self.send_queued::<true>(index);
            }
            self.look_after(index);
        }
        self.observe(index);
    }

    /// Reports the state of an endpoint, if it is recorded.
    fn observe(&mut self, index: EndpointIndex) {
        if let Some(endpoint) = self.flows.peek(index)
            && endpoint.is_recorded()
        {
            let state = endpoint.transport.observation();
            self.fabric
                .trace_endpoint(index, &TraceEvent::Observed(&state));
        }
    }

    /// An endpoint has made a packet, after `retransmissions` earlier ones.
    pub(super) fn trace_sent(
        &mut self,
        index: EndpointIndex,
        packet: &Packet,
        retransmissions: u64,
    ) {
        let Some(endpoint) = self.flows.peek(index) else {
            return;
        };
        let (true, Some(tag)) = (endpoint.is_recorded(), packet.tag()) else {
            return;
        };
        let network = &self.fabric.network;
        let port = network.hosts[endpoint.host.index()].port;
        let sent = TraceEvent::Sent {
            tag,
            content: packet.content(&network.extras),
            repeated: endpoint.transport.retransmissions() > retransmissions,
            port,
            transit: network.transit(port, packet, self.fabric.clock.now()),
        };
        self.fabric.trace_endpoint(index, &sent);
    }
}
