//! A dropped packet, as plain data.

use incastle_units::Time;

use crate::core::{FlowIndex, Side};

/// A packet of a flow that a port has dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Its flow.
    pub flow: FlowIndex,
    /// The side of its sender.
    pub from: Side,
    /// The instant at which its sender passed it to the NIC.
    pub sent: Time,
    /// The sequence number on the wire: of TCP, 32 bits that wrap; of UDT's data, 31; of datagrams, their
    /// count; of UDT's control packets 0.
    pub seq: u64,
    /// Application bytes.
    pub payload: u16,
    /// Octets of the sequence space: payload, SYN and FIN; 1 for a datagram or UDT's data; 0 for a pure ACK or control.
    pub octets: u16,
}
