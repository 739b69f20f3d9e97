//! Conservation: packets sent = received + dropped + inside.
//!
//! Asserted per port, per flow and in all, in packets; and in bytes, for each direction of a connection without
//! losses and retransmissions. With losses, a sender's estimate of the bytes in flight may differ from the truth (a
//! loss not yet detected), and is not compared.

use incastle_transport::tcp;

use super::AllPartitions;
use super::stack::HostStack;
use crate::core::{FlowIndex, Node, Side, SwitchIndex};
use crate::flow::{FlowRecord, Transport};
use crate::network::Packet;
use crate::probe::Probe;

/// The packets of a flow in ports and at hosts.
#[derive(Debug, Clone, Copy, Default)]
struct Inside {
    packets: u64,
    /// Application bytes on their path, by the side that they are for.
    payload: [u64; 2],
}

impl<P: Probe> AllPartitions<'_, P> {
    /// Asserts conservation at this instant.
    pub fn check_conservation(&self) {
        let mut inside = vec![Inside::default(); self.flow_count()];
        let mut cnms = 0;
        for partition in self.partitions() {
            partition.stack.check_ports();
            for packet in partition.stack.packets_inside() {
                if packet.is_cnm() {
                    cnms += 1;
                    continue;
                }
                if packet.is_pause() {
                    continue;
                }
                let of = &mut inside[packet.to.flow().index()];
                of.packets += 1;
                of.payload[packet.to.side() as usize] += u64::from(packet.payload());
            }
        }
        for (index, inside) in inside.iter().enumerate() {
            let flow = FlowIndex::from_index(index);
            let record = self.flow(flow);
            check_packets(flow, &record, inside);
            self.check_bytes(flow, &record, inside);
        }
        let totals = self.totals();
        assert!(
            totals.cnms_sent == totals.cnms_received + totals.cnms_dropped + cnms,
            "{} notifications sent, {} received, {} dropped, {cnms} inside",
            totals.cnms_sent,
            totals.cnms_received,
            totals.cnms_dropped,
        );
    }

    /// SND.NXT - SND.UNA = data inside the network + data received whose ACK has not arrived, for each
    /// direction of a connection without losses. SND.UNA stands on both sides and cancels. Data that
    /// arrived out of order are received too: they wait at the receiver.
    fn check_bytes(&self, flow: FlowIndex, record: &FlowRecord, inside: &Inside) {
        if record.dropped > 0 || record.stray > 0 {
            return;
        }
        for sender in Side::BOTH {
            let receiver = sender.peer();
            self.check_udt_bytes(flow, sender, receiver, inside);
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
            let (delivered, held) = (to.delivered(), to.held());
            assert!(
                sent == delivered + held + under_way && from.acknowledged() <= delivered,
                "flow {}: SND.UNA {}, SND.NXT {sent}, {delivered} bytes received in order, \
                 {held} held, {under_way} inside",
                flow.index(),
                from.acknowledged(),
            );
        }
    }

    /// The same for UDT, by its counters of bytes sent.
    fn check_udt_bytes(&self, flow: FlowIndex, sender: Side, receiver: Side, inside: &Inside) {
        let connection = |side| match self.transport(flow, side)? {
            Transport::Udt(endpoint) => endpoint.connection(),
            Transport::Tcp(_) | Transport::Datagram(_) | Transport::Rdma(_) => None,
        };
        let (Some(from), Some(to)) = (connection(sender), connection(receiver)) else {
            return;
        };
        if from.stats().retransmissions > 0 {
            return;
        }
        let (sent, delivered) = (from.stats().payload_sent, to.stats().delivered);
        let (held, under_way) = (to.held(), inside.payload[receiver as usize]);
        assert!(
            sent == delivered + held + under_way,
            "flow {}: {sent} bytes sent, {delivered} received in order, {held} held, {under_way} inside",
            flow.index(),
        );
    }

    /// The connection at one endpoint, while it lives.
    fn connection(&self, flow: FlowIndex, side: Side) -> Option<&tcp::Connection> {
        match self.transport(flow, side)? {
            Transport::Tcp(connection) => Some(connection),
            Transport::Datagram(_) | Transport::Udt(_) | Transport::Rdma(_) => None,
        }
    }

    fn transport(&self, flow: FlowIndex, side: Side) -> Option<&Transport> {
        let mut partitions = self.partitions().iter();
        partitions
            .find_map(|partition| Some(&partition.stack.flows.peek(flow.endpoint(side))?.transport))
    }
}

impl<P: Probe> HostStack<P> {
    /// Asserts conservation in the ports that send here, and in the arena.
    fn check_ports(&self) {
        let network = &self.fabric.network;
        let pool = &network.pool;
        let mut with_extras = 0;
        for port in &network.ports {
            if self.fabric.has(network.owner(port.index)) {
                port.check_conservation(pool);
            }
            with_extras += port
                .inside(pool)
                .filter(|packet| packet.has_extra())
                .count();
        }
        for switch in (0..network.switch_count()).map(SwitchIndex::from_index) {
            if self.fabric.has(Node::Switch(switch)) {
                network.check_accounts(switch);
            }
        }
        with_extras += self
            .packets_at_hosts()
            .filter(|packet| packet.has_extra())
            .count();
        assert!(
            with_extras == network.extras.used(),
            "every value in the arena belongs to a packet"
        );
    }

    /// Packets in ports and at hosts, without those passed to another partition.
    fn packets_inside(&self) -> impl Iterator<Item = &Packet> {
        let network = &self.fabric.network;
        let pool = &network.pool;
        let (cut, uncut): (Vec<_>, Vec<_>) = network.ports.iter().partition(|port| port.is_cut());
        let in_ports = uncut.into_iter().flat_map(|port| port.inside(pool));
        let stored = cut.into_iter().flat_map(|port| port.stored(pool));
        in_ports.chain(stored).chain(self.packets_at_hosts())
    }

    fn packets_at_hosts(&self) -> impl Iterator<Item = &Packet> {
        let network = &self.fabric.network;
        let flows = (0..self.flows.count()).map(FlowIndex::from_index);
        let of_flows = flows.flat_map(|flow| self.flows.at_hosts(flow, &network.pool));
        of_flows.chain(network.in_nics())
    }
}

fn check_packets(flow: FlowIndex, record: &FlowRecord, inside: &Inside) {
    let sent = record.initiator.packets_sent + record.responder.packets_sent;
    let received = record.initiator.packets_received + record.responder.packets_received;
    assert!(
        sent == received + record.stray + record.dropped + inside.packets,
        "flow {}: {sent} packets sent, {received} received, {} stray, {} dropped, {} inside",
        flow.index(),
        record.stray,
        record.dropped,
        inside.packets,
    );
}
