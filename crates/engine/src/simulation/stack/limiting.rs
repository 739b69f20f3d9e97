//! Rate limiting: an endpoint whose congestion notifications have given it a reaction point.
//!
//! Its frames pass the limiter in front of the NIC; once the reaction point is inactive they pass it by. Source: see
//! `FrameLimiter`. Leaves out: notifications for released flows.

use incastle_congestion::{Feedback, FrameLimiter};

use super::HostStack;
use crate::core::{EndpointIndex, HostIndex, Purpose, Source, substream};
use crate::network::{Network, Packet};
use crate::probe::{Probe, TraceEvent};

impl<P: Probe> HostStack<P> {
    /// A CNM has reached the host of its endpoint.
    #[cold]
    pub(super) fn notified(&mut self, host: HostIndex, packet: &Packet, psi: u8) {
        let now = self.fabric.clock.now();
        self.fabric.totals.cnms_received += 1;
        self.fabric.accounts[packet.to.flow().index()].cnms += 1;
        let host = &self.fabric.network.hosts[host.index()];
        let (settings, port) = (host.reaction_point, host.port);
        let (Some(endpoint), Some(settings)) = (self.flows.get(packet.to), settings) else {
            return;
        };
        endpoint.digest.mix(now.as_ps(), u64::from(psi));
        let line = self.fabric.network.ports[port.index()].rate();
        let seed = self.fabric.network.seed;
        let limiter = endpoint.limiter_or(|| {
            let index = u64::from(packet.to.0);
            let rng = substream(seed, Source::Endpoint, index, Purpose::RateLimiter);
            FrameLimiter::new(settings, line, rng)
        });
        limiter.notified(now, Feedback { psi });
        self.fabric
            .trace_endpoint(packet.to, &TraceEvent::Notified(psi));
        self.pump(packet.to);
    }

    /// As `pump`, for an endpoint with an active limiter.
    #[cold]
    pub(super) fn pump_limited(&mut self, index: EndpointIndex) {
        while self.release_one(index) {}
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let Some(limiter) = endpoint.limiter() else {
            return;
        };
        limiter.rest(self.fabric.clock.now());
        let active = limiter.is_active();
        if let Some(state) = limiter.poll_state() {
            self.fabric.probe.rate_changed(
                index.flow(),
                index.side(),
                self.fabric.clock.now(),
                &state,
            );
        }
        if active {
            self.look_after(index);
        } else {
            // At line rate from here on.
            self.pump(index);
        }
    }

    /// Fills a limiter and releases its first frame to the NIC, if it may leave now; returns whether it did.
    fn release_one(&mut self, index: EndpointIndex) -> bool {
        let now = self.fabric.clock.now();
        let Some(mut endpoint) = self.flows.get(index) else {
            return false;
        };
        loop {
            let repeats = endpoint.transport.retransmissions();
            let Network { pool, extras, .. } = &mut self.fabric.network;
            let Some(slot) = endpoint.fill_limiter(now, extras, pool) else {
                break;
            };
            if endpoint.is_recorded() {
                let packet = pool.at(slot).packet;
                self.trace_sent(index, &packet, repeats, None);
                endpoint = self.flows.get(index).expect("it has just sent");
            }
        }
        if endpoint.staged.is_some() {
            return false;
        }
        let limiter = endpoint.limiter().expect("the endpoint is limited");
        let Some(slot) = limiter.release(now) else {
            return false;
        };
        let host = endpoint.host;
        let packet = self.fabric.network.pool.at(slot).packet;
        self.fabric
            .trace_packet(index, &packet, TraceEvent::Released);
        if self.stage(host, index, slot) {
            return false;
        }
        self.fabric.send(host, slot);
        true
    }
}
