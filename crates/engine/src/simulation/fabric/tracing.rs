//! Recorded flows: each verdict on their packets, and each arrival, is reported to the probe.
//!
//! While no flow is recorded it is not on the path of packets: recorded endpoints leave the fast path by the test
//! for limited ones. From the first recorded endpoint on the ports of switches are special, and every packet takes
//! the slow path. Results are the same (tests/it/recording.rs).

use incastle_queueing::Verdict;

use super::Fabric;
use crate::core::{EndpointIndex, Node, PortIndex};
use crate::network::Packet;
use crate::probe::{Probe, QueueSeen, Tag, TraceEvent};

/// A packet of a recorded flow that a port is about to judge, and the queue that it meets.
#[derive(Clone, Copy)]
pub(super) struct Arriving {
    tag: Tag,
    queue: QueueSeen,
}

impl<P: Probe> Fabric<P> {
    /// A recorded flow is opened.
    pub(in crate::simulation) fn begin_record(&mut self) {
        if self.recording {
            return;
        }
        self.recording = true;
        let network = &mut self.network;
        for (port, owner) in network.ports.iter_mut().zip(&network.owners) {
            if matches!(owner, Node::Switch(_)) {
                port.attend();
            }
        }
    }

    /// Reports an event at an endpoint, if its flow is recorded.
    pub(in crate::simulation) fn trace_endpoint(
        &mut self,
        index: EndpointIndex,
        event: &TraceEvent<'_>,
    ) {
        if self.records(index) {
            self.probe.traced(index, self.clock.now(), event);
        }
    }

    /// Reports an event of a packet at an endpoint, if its flow is recorded.
    pub(in crate::simulation) fn trace_packet(
        &mut self,
        index: EndpointIndex,
        packet: &Packet,
        event: impl FnOnce(Tag) -> TraceEvent<'static>,
    ) {
        if let Some(tag) = self.recorded_tag(packet) {
            self.probe.traced(index, self.clock.now(), &event(tag));
        }
    }

    /// A packet that a port is about to judge, if its flow is recorded.
    pub(super) fn trace_arriving(&mut self, at: PortIndex, packet: &Packet) -> Option<Arriving> {
        let tag = self.recorded_tag(packet)?;
        let queue = self
            .network
            .queue_seen(at, self.clock.now(), &mut self.probe);
        Some(Arriving { tag, queue })
    }

    /// Reports the verdict on it.
    pub(super) fn trace_judged(
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
            transit: self.network.transit(at, packet, self.clock.now()),
        };
        self.probe.traced(tag.endpoint, self.clock.now(), &judged);
    }

    /// Reports a packet that was dropped at a port.
    pub(super) fn trace_dropped(&mut self, verdict: Verdict, at: PortIndex, packet: &Packet) {
        let arriving = self.trace_arriving(at, packet);
        self.trace_judged(arriving.as_ref(), verdict, at, packet);
    }

    fn records(&self, index: EndpointIndex) -> bool {
        self.recording && self.accounts[index.flow().index()].recorded
    }

    fn recorded_tag(&self, packet: &Packet) -> Option<Tag> {
        let recorded = self.recording && !packet.is_pause() && self.records(packet.to);
        recorded.then(|| packet.tag()).flatten()
    }
}
