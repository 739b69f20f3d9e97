//! The slow path of recorded endpoints: each of their packets, and the endpoint before and after each call, is
//! reported to the probe.

use incastle_transport::tcp::Batch;
use incastle_units::Time;

use super::HostStack;
use crate::core::{EndpointIndex, HostIndex};
use crate::flow::Endpoint;
use crate::layout::Slot;
use crate::network::{Network, Packet};
use crate::probe::{Probe, TraceEvent};

impl<P: Probe> HostStack<P> {
    /// A packet for an endpoint that is recorded or a queue pair, or one whose departure had no event. Cold: the path of all
    /// others is laid out as the likely one.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_aside(&mut self, index: EndpointIndex, slot: Slot) {
        let endpoint = self.flows.peek(index);
        if endpoint.is_some_and(Endpoint::is_unrecorded_pair) {
            return self.deliver_to_pair(index, slot);
        }
        let packet = &self.fabric.network.pool.take(slot);
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
    pub(super) fn observe(&mut self, index: EndpointIndex) {
        if let Some(endpoint) = self.flows.peek(index)
            && endpoint.is_recorded()
        {
            let state = endpoint.transport.observation();
            self.fabric
                .trace_endpoint(index, &TraceEvent::Observed(&state));
        }
    }

    /// A recorded queue pair has made this many control packets, the last ones that wait at its NIC.
    #[cold]
    #[inline(never)]
    pub(super) fn trace_control(&mut self, host: HostIndex, index: EndpointIndex, made: usize) {
        for place in (1..=made).rev() {
            let network = &mut self.fabric.network;
            let control = &network.nic(host).control;
            let slot = control[control.len() - place];
            let packet = network.pool.at(slot).packet;
            self.trace_sent(index, &packet, u64::MAX, None);
        }
    }

    /// The next packet of a recorded queue pair that may send; returns whether there is one.
    #[cold]
    #[inline(never)]
    pub(super) fn poll_recorded(&mut self, index: EndpointIndex, slot: Slot) -> bool {
        self.observe(index);
        let now = self.fabric.clock.now();
        let endpoint = self.flows.get(index).expect("a living endpoint sends");
        let before = endpoint.transport.retransmissions();
        let paced_until = endpoint.queue_pair().map(|pair| pair.paced_until());
        let Network { pool, extras, .. } = &mut self.fabric.network;
        let made = endpoint.poll_transmit(now, extras, &mut pool.at_mut(slot).packet);
        let packet = pool.at(slot).packet;
        // The request of a READ is not paced.
        let paced_until = paced_until.filter(|_| packet.payload() > 0);
        self.trace_sent(index, &packet, before, paced_until);
        self.observe(index);
        made
    }

    /// An endpoint has made a packet, after `retransmissions` earlier ones.
    pub(super) fn trace_sent(
        &mut self,
        index: EndpointIndex,
        packet: &Packet,
        retransmissions: u64,
        paced_until: Option<Time>,
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
            class: packet.class,
            port,
            transit: network.transit(port, packet, self.fabric.clock.now()),
            paced_until,
        };
        self.fabric.trace_endpoint(index, &sent);
    }
}
