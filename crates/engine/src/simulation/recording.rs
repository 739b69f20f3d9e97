//! Flows whose every event is told: the path of their packets and what happens inside their endpoints.
//!
//! Nothing of this lies on the path of other packets while no flow is recorded: recorded endpoints leave the
//! fast path by the test that limited ones take, and from the first of them on the ports
//! of switches count as special, which sends every packet by the slow path. What happens is the same
//! (tests/recording.rs).

use incastle_queueing::Verdict;
use incastle_transport::tcp::Batch;
use incastle_units::Time;

use super::Simulation;
use crate::core::{EndpointIndex, FlowIndex, Node, PortIndex};
use crate::flow::observation;
use crate::layout::Slot;
use crate::network::Packet;
use crate::probe::{Probe, QueueSeen, Tag, TraceEvent};

/// A packet of a recorded flow that a port is about to judge, and what it meets there.
#[derive(Clone, Copy)]
pub(super) struct Arriving {
    tag: Tag,
    queue: QueueSeen,
}

impl<P: Probe> Simulation<P> {
    /// A recorded flow has been opened.
    pub(super) fn begin_record(&mut self, flow: FlowIndex) {
        if self.observer.recording {
            return;
        }
        self.observer.recording = true;
        let of_flow = flow.index();
        assert!(
            self.flows.accounts[of_flow].recorded,
            "only recorded flows are"
        );
        let network = &mut self.network;
        for (port, owner) in network.ports.iter_mut().zip(&network.owners) {
            if matches!(owner, Node::Switch(_)) {
                port.attend();
            }
        }
    }

    /// A packet for an endpoint that is recorded.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_slowly(&mut self, packet: &Packet) {
        self.note_received(packet);
        let Some(endpoint) = self.flows.get(packet.to) else {
            return;
        };
        let before = endpoint.delivered();
        endpoint.receive(
            self.clock.now(),
            packet,
            &mut self.network.extras,
            Batch::Last,
        );
        self.after_receive(packet.to, before);
    }

    /// As `pump`, for an endpoint that is recorded or has a limiter.
    #[cold]
    #[inline(never)]
    pub(super) fn pump_slowly(&mut self, index: EndpointIndex) {
        let now = self.clock.now();
        self.observe(index);
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.is_limited() {
            self.pump_limited(index);
        } else {
            if endpoint.staged.is_none() && !endpoint.is_quiet(now) {
                self.send_queued::<true>(index);
            }
            self.look_after(index);
        }
        self.observe(index);
    }

    /// Looks at an endpoint, if it is recorded.
    pub(super) fn observe(&mut self, index: EndpointIndex) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        if endpoint.is_recorded() {
            let seen = observation(endpoint);
            self.tell_probe(index, self.clock.now(), &TraceEvent::Observed(&seen));
        }
    }

    /// An endpoint has made a packet, which lies in `slot`; `repeats` packets were sent again before it.
    pub(super) fn note_sent(&mut self, index: EndpointIndex, slot: Slot, repeats: u64) {
        let packet = self.network.pool.at(slot).packet;
        self.note_packet_sent(index, &packet, repeats);
    }

    /// The same for a packet that has no slot yet.
    pub(super) fn note_packet_sent(&mut self, index: EndpointIndex, packet: &Packet, repeats: u64) {
        let Some(endpoint) = self.flows.get(index) else {
            return;
        };
        let (host, repeated) = (endpoint.host, endpoint.retransmissions() > repeats);
        let (true, Some(tag)) = (endpoint.is_recorded(), packet.tag()) else {
            return;
        };
        let port = self.network.hosts[host.index()].port;
        let sent = TraceEvent::Sent {
            tag,
            content: packet.content(&self.network.extras),
            repeated,
            port,
            transit: self.network.ports[port.index()].transit(packet),
        };
        self.tell_probe(index, self.clock.now(), &sent);
    }

    /// A rate limiter has let a packet go.
    pub(super) fn note_released(&mut self, index: EndpointIndex, packet: &Packet) {
        if let Some(tag) = self.recorded_tag(packet) {
            self.tell_probe(index, self.clock.now(), &TraceEvent::Released(tag));
        }
    }

    /// A packet has reached its host.
    pub(super) fn note_received(&mut self, packet: &Packet) {
        if let Some(tag) = self.recorded_tag(packet) {
            self.tell_probe(packet.to, self.clock.now(), &TraceEvent::Received(tag));
        }
    }

    /// A congestion notification has reached an endpoint.
    pub(super) fn note_notified(&mut self, index: EndpointIndex, psi: u8) {
        if self.observer.recording && self.flows.accounts[index.flow().index()].recorded {
            self.tell_probe(index, self.clock.now(), &TraceEvent::Notified(psi));
        }
    }

    /// A packet that a port is about to judge, if its flow is recorded.
    pub(super) fn note_arriving(&mut self, at: PortIndex, packet: &Packet) -> Option<Arriving> {
        let tag = self.recorded_tag(packet)?;
        let queue = self
            .network
            .queue_seen(at, self.clock.now(), &mut self.observer.probe);
        Some(Arriving { tag, queue })
    }

    /// What became of it.
    pub(super) fn note_judged(
        &mut self,
        arriving: Option<&Arriving>,
        verdict: Verdict,
        at: PortIndex,
        packet: &Packet,
    ) {
        let Some(&Arriving { tag, queue }) = arriving else {
            return;
        };
        let judged = TraceEvent::Judged {
            tag,
            port: at,
            verdict,
            queue,
            transit: self.network.ports[at.index()].transit(packet),
        };
        self.tell_probe(tag.end, self.clock.now(), &judged);
    }

    /// A packet that was dropped at a port.
    pub(super) fn note_dropped(&mut self, verdict: Verdict, at: PortIndex, packet: &Packet) {
        let arriving = self.note_arriving(at, packet);
        self.note_judged(arriving.as_ref(), verdict, at, packet);
    }

    fn recorded_tag(&self, packet: &Packet) -> Option<Tag> {
        let recorded =
            self.observer.recording && self.flows.accounts[packet.to.flow().index()].recorded;
        recorded.then(|| packet.tag()).flatten()
    }

    fn tell_probe(&mut self, end: EndpointIndex, at: Time, what: &TraceEvent<'_>) {
        self.observer.probe.traced(end, at, what);
    }
}
