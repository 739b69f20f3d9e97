//! Congestion notifications: a switch samples an arriving frame, a CNM travels back to its source,
//! the source's reaction point obeys.
//!
//! A CNM is a frame of 64 bytes on the real path from the switch to the source's host; it waits in
//! queues and may be dropped there like any other. None is sent for a CNM. Source: IEEE 802.1Qau as
//! Devkota and Reddy (2010) describe it. Leaves out: the CNM's other fields (congestion point id,
//! Q_off, Q_delta), VLAN tags, and notifications for flows that are over.

use incastle_congestion::Feedback;
use incastle_queueing::Verdict;
use incastle_units::Bytes;

use super::Simulation;
use crate::core::{
    EndpointIndex, HostIndex, Node, PortIndex, Purpose, Side, Source, SwitchIndex, substream,
};
use crate::network::{Body, Limiter, Packet};
use crate::probe::Probe;

/// A CNM on the wire.
const CNM_SIZE: u16 = 64;

impl<P: Probe> Simulation<P> {
    /// Shows a frame to the congestion point of the port that it is about to enter.
    #[cold]
    pub(super) fn sample(&mut self, at: PortIndex, packet: &Packet) {
        if packet.is_cnm() {
            return;
        }
        let waiting = self
            .network
            .backlog(at, self.clock.now(), &mut self.observer.probe);
        let queue = Bytes::new(waiting.waiting_bytes);
        let port = &mut self.network.ports[at.index()];
        let Some(sampler) = &mut port.sampler else {
            return;
        };
        let Some(sample) = sampler.sample(queue, packet.size()) else {
            return;
        };
        self.observer.probe.congestion_sampled(
            at,
            self.clock.now(),
            packet.to.flow(),
            &sample,
            queue,
        );
        if sample.psi > 0 {
            self.notify_source(at, packet.to.peer(), sample.psi);
        }
    }

    /// Sends a CNM from the switch of a port to the endpoint.
    fn notify_source(&mut self, from: PortIndex, to: EndpointIndex, psi: u8) {
        let host = self.host_of(to);
        let Node::Switch(switch) = self.network.owners[from.index()] else {
            unreachable!("congestion points lie at switches")
        };
        self.totals.cnms_sent += 1;
        let cnm = Packet {
            body: Body::Cnm { psi },
            to,
            host,
            size: CNM_SIZE,
            ..Packet::EMPTY
        };
        self.forward(switch, &cnm);
    }

    /// The host of an endpoint, also of a flow that is over.
    fn host_of(&self, end: EndpointIndex) -> HostIndex {
        let record = &self.flows.accounts[end.flow().index()];
        match end.side() {
            Side::Near => record.from,
            Side::Far => record.to,
        }
    }

    fn forward(&mut self, switch: SwitchIndex, packet: &Packet) {
        let out = self.network.routes.port(switch, packet, self.clock.now());
        if self.network.ports.get(out.index()).is_some() {
            self.enter_special(out, packet);
        } else {
            self.drop_unreachable(out, packet);
        }
    }

    /// Enters what became of a packet at a port of a switch.
    #[inline(always)]
    pub(super) fn judged(&mut self, verdict: Verdict, at: PortIndex, packet: &Packet) {
        if packet.is_cnm() {
            self.totals.cnms_dropped += u64::from(matches!(verdict, Verdict::Drop(_)));
            return;
        }
        self.totals.count(verdict);
        let account = &mut self.flows.accounts[packet.to.flow().index()];
        match verdict {
            Verdict::Admit => {}
            Verdict::Mark => account.marked += 1,
            Verdict::Drop(_) => {
                account.dropped += 1;
                if let Some(lost) = packet.lost() {
                    self.observer.probe.dropped(at, self.clock.now(), &lost);
                }
                self.expect_without(packet);
            }
        }
    }

    /// A CNM has reached the host of the flow's endpoint that it is for.
    #[cold]
    pub(super) fn notified(&mut self, host: HostIndex, packet: &Packet, psi: u8) {
        let now = self.clock.now();
        self.totals.cnms_received += 1;
        self.flows.accounts[packet.to.flow().index()].cnms += 1;
        let host = &self.network.hosts[host.index()];
        let (settings, port) = (host.reaction_point, host.port);
        let (Some(endpoint), Some(settings)) = (self.flows.get(packet.to), settings) else {
            return;
        };
        endpoint.digest.mix(now.as_ps(), u64::from(psi));
        let line = self.network.ports[port.index()].rate();
        let seed = self.network.seed;
        let limiter = endpoint.limiter_or(|| {
            let index = u64::from(packet.to.0);
            let rng = substream(seed, Source::Endpoint, index, Purpose::RateLimiter);
            Limiter::new(settings, line, rng)
        });
        limiter.notified(now, Feedback { psi });
        self.note_notified(packet.to, psi);
        self.pump(packet.to);
    }

    /// As `pump`, for an endpoint whose frames have to pass its limiter.
    #[cold]
    pub(super) fn pump_limited(&mut self, index: EndpointIndex) {
        while self.release_one(index) {}
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let Some(limiter) = endpoint.limiter() else {
            return;
        };
        limiter.rest(self.clock.now());
        let active = limiter.is_active();
        if let Some(state) = limiter.news() {
            self.observer
                .probe
                .rate_changed(index.flow(), index.side(), self.clock.now(), &state);
        }
        if active {
            self.look_after(index);
        } else {
            // Released: from here on at line rate.
            self.pump(index);
        }
    }

    /// Fills a limiter and lets its first frame go to the NIC, if it may leave now; returns
    /// whether to try again.
    fn release_one(&mut self, index: EndpointIndex) -> bool {
        let now = self.clock.now();
        while let Some(endpoint) = self.flows.get(index) {
            let repeats = endpoint.retransmissions();
            let Some(packet) = endpoint.fill_limiter(now, &mut self.network.extras) else {
                break;
            };
            self.note_packet_sent(index, &packet, repeats);
        }
        let Some(endpoint) = self.flows.get(index) else {
            return false;
        };
        if endpoint.staged.is_some() {
            return false;
        }
        let limiter = endpoint.limiter().expect("the endpoint is limited");
        let Some(packet) = limiter.release(now) else {
            return false;
        };
        let host = endpoint.host;
        self.note_released(index, &packet);
        let slot = self.network.pool.put(packet);
        let Some(endpoint) = self.flows.get(index) else {
            return false;
        };
        if let Some(at) = self.network.nic_busy(host, now) {
            endpoint.stage(slot);
            self.network.wait(host, index, at, &mut self.clock.events);
            return false;
        }
        self.send(host, slot);
        true
    }
}
