//! Interrupt coalescing: a host holds contiguous arrivals of a flow and delivers them in one batch.

use super::HostStack;
use crate::core::{EndpointIndex, Event, HostIndex, Kind};
use crate::network::Packet;
use crate::probe::{Probe, TraceEvent};

impl<P: Probe> HostStack<P> {
    /// Holds an arrival, or delivers it with its batch.
    pub(super) fn coalesce(&mut self, host: HostIndex, packet: &Packet) {
        let coalescing = self.fabric.network.hosts[host.index()]
            .coalescing
            .as_deref();
        let coalescing = *coalescing.expect("only a coalescing host holds packets");
        self.fabric
            .trace_packet(packet.to, packet, TraceEvent::Received);
        let Some(endpoint) = self.flows.get(packet.to) else {
            self.fabric.stray(packet);
            return;
        };
        let joins = packet.payload() > 0 && endpoint.held_arrivals().continues(packet);
        if !joins {
            self.flush(packet.to);
        }
        let endpoint = self
            .flows
            .get(packet.to)
            .expect("a flush releases no endpoint");
        let held = endpoint.held_arrivals().hold(*packet);
        if packet.payload() == 0 || held >= coalescing.packets as usize {
            self.flush(packet.to);
        } else if held == 1 {
            let at = self.fabric.clock.now() + coalescing.within;
            endpoint.held_arrivals().hold_until(at);
            self.fabric
                .clock
                .events
                .push(Event::new(at, Kind::Batch, packet.to.0));
        }
    }

    /// The first packet held has waited long enough; an event of an earlier batch finds a later
    /// deadline and is ignored.
    pub(in crate::simulation) fn batch_is_due(&mut self, index: EndpointIndex) {
        let now = self.fabric.clock.now();
        if self
            .flows
            .get(index)
            .is_some_and(|endpoint| endpoint.held_arrivals().is_due(now))
        {
            self.flush(index);
        }
    }

    /// Delivers the batch of an endpoint.
    fn flush(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.holds_nothing() {
            return;
        }
        let before = endpoint.transport.delivered();
        endpoint.receive_batch(self.fabric.clock.now(), &mut self.fabric.network.extras);
        self.after_receive(index, before);
    }
}
