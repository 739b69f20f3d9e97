//! Coalesced receives: a host holds contiguous arrivals of a flow and hands them over at once.

use super::Simulation;
use crate::core::{EndpointIndex, Event, HostIndex, Kind};
use crate::network::Packet;
use crate::probe::Probe;

impl<P: Probe> Simulation<P> {
    pub(super) fn coalesce(&mut self, host: HostIndex, packet: &Packet) {
        let coalescing = self.network.hosts[host.index()].coalescing.as_deref();
        let coalescing = *coalescing.expect("only a coalescing host holds packets");
        self.note_received(packet);
        let Some(endpoint) = self.flows.get(packet.to) else {
            self.stray(packet);
            return;
        };
        let joins = packet.payload() > 0 && endpoint.continues(packet);
        if !joins {
            self.flush(packet.to);
        }
        let endpoint = self.flows.get(packet.to).expect("flushing releases nobody");
        let held = endpoint.hold(*packet);
        if packet.payload() == 0 || held >= coalescing.packets as usize {
            self.flush(packet.to);
        } else if held == 1 {
            let at = self.clock.now() + coalescing.within;
            endpoint.hold_until(at);
            self.clock
                .events
                .push(Event::new(at, Kind::Batch, packet.to.0));
        }
    }

    /// The first packet held has waited long enough; an event of an earlier batch finds a later
    /// deadline and is ignored.
    pub(super) fn batch_is_due(&mut self, index: EndpointIndex) {
        let now = self.clock.now();
        if self
            .flows
            .get(index)
            .is_some_and(|endpoint| endpoint.has_held_until(now))
        {
            self.flush(index);
        }
    }

    /// Hands over what is held.
    fn flush(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.holds_nothing() {
            return;
        }
        let before = endpoint.delivered();
        endpoint.receive_batch(self.clock.now(), &mut self.network.extras);
        self.after_receive(index, before);
    }
}
