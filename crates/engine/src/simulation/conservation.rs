//! Conservation: what was sent was received, was dropped, or is still inside.
//!
//! Asserted per port, per flow and in all, in packets; and, for each end of a connection that has
//! lost and repeated nothing, in bytes. What a sender with losses believes to be in flight may differ
//! from what is (a loss not yet detected), and is not compared.

use incastle_transport::tcp;

use super::Simulation;
use crate::endpoint::Transport;
use crate::{FlowIndex, FlowRecord, Probe, Side};

/// What ports and hosts hold of a flow.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    packets: u64,
    /// Application bytes on their way to the near end and to the far end.
    payload: [u64; 2],
}

impl<P: Probe> Simulation<P> {
    /// Asserts conservation at this instant.
    pub fn check_conservation(&self) {
        let mut inside = vec![Inside::default(); self.flow_count()];
        let mut with_extras = 0;
        let pool = &self.network.pool;
        for port in &self.network.ports {
            port.check_conservation(pool);
        }
        let in_ports = self.network.ports.iter().flat_map(|port| port.inside(pool));
        let flows = (0..self.flow_count()).map(FlowIndex::from_index);
        let at_hosts = flows.flat_map(|flow| self.flows.at_hosts(flow, pool));
        let mut cnms = 0;
        for packet in in_ports.chain(at_hosts) {
            if packet.is_cnm() {
                cnms += 1;
                continue;
            }
            let of = &mut inside[packet.to.flow().index()];
            of.packets += 1;
            of.payload[packet.to.side() as usize] += u64::from(packet.payload());
            with_extras += usize::from(packet.has_extra());
        }
        for (index, inside) in inside.iter().enumerate() {
            let flow = FlowIndex::from_index(index);
            let record = self.flows.record(flow, self.now);
            check_packets(flow, &record, inside);
            self.check_bytes(flow, &record, inside);
        }
        let totals = &self.totals;
        assert!(
            totals.cnms_sent == totals.cnms_received + totals.cnms_dropped + cnms,
            "{} notifications sent, {} received, {} dropped, {cnms} inside",
            totals.cnms_sent,
            totals.cnms_received,
            totals.cnms_dropped,
        );
        assert!(
            with_extras == self.network.extras.used(),
            "everything in the arena has its packet"
        );
    }

    /// SND.NXT - SND.UNA = data inside the network + data received whose ACK is not back, for each
    /// direction of a connection without losses. SND.UNA stands on both sides and cancels.
    fn check_bytes(&self, flow: FlowIndex, record: &FlowRecord, inside: &Inside) {
        if record.dropped > 0 || record.stray > 0 {
            return;
        }
        for (sender, receiver) in [(Side::Near, Side::Far), (Side::Far, Side::Near)] {
            self.check_udt_bytes(flow, (sender, receiver), inside);
            let (Some(from), Some(to)) = (
                self.connection(flow, sender),
                self.connection(flow, receiver),
            ) else {
                continue;
            };
            if from.stats().retransmissions > 0 || from.stats().timeouts > 0 {
                continue;
            }
            // A FIN takes a sequence number but is no data.
            let sent = from.snd_nxt().min(from.written());
            let under_way = inside.payload[receiver as usize];
            assert!(
                sent == to.delivered() + under_way && from.acknowledged() <= to.delivered(),
                "flow {}: SND.UNA {}, SND.NXT {sent}, {} bytes received, {under_way} inside",
                flow.index(),
                from.acknowledged(),
                to.delivered(),
            );
        }
    }

    /// The same for UDT, which counts what it has sent.
    fn check_udt_bytes(&self, flow: FlowIndex, (sender, receiver): (Side, Side), inside: &Inside) {
        let end = |side| match &self.flows.peek(flow.end(side))?.transport {
            Transport::Udt(end) => end.connection(),
            Transport::Tcp(_) | Transport::Datagram(_) => None,
        };
        let (Some(from), Some(to)) = (end(sender), end(receiver)) else {
            return;
        };
        if from.stats().retransmissions > 0 {
            return;
        }
        let (sent, delivered) = (from.stats().payload_sent, to.stats().delivered);
        let under_way = inside.payload[receiver as usize];
        assert!(
            sent == delivered + under_way,
            "flow {}: {sent} bytes sent, {delivered} received, {under_way} inside",
            flow.index(),
        );
    }

    /// The connection at one end of a flow, while it lives.
    fn connection(&self, flow: FlowIndex, side: Side) -> Option<&tcp::Connection> {
        match &self.flows.peek(flow.end(side))?.transport {
            Transport::Tcp(connection) => Some(connection),
            Transport::Datagram(_) | Transport::Udt(_) => None,
        }
    }
}

fn check_packets(flow: FlowIndex, record: &FlowRecord, inside: &Inside) {
    let sent = record.near.packets_sent + record.far.packets_sent;
    let received = record.near.packets_received + record.far.packets_received;
    assert!(
        sent == received + record.stray + record.dropped + inside.packets,
        "flow {}: {sent} packets sent, {received} received, {} stray, {} dropped, {} inside",
        flow.index(),
        record.stray,
        record.dropped,
        inside.packets,
    );
}
