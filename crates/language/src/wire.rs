//! Sizes of a transport's packets: application bytes, IP packets and frames.
//!
//! Headers without options: TCP 20 bytes (RFC 9293), UDP 8 (RFC 768), IPv4 20 (RFC 791); IEEE 802.3 for frames.
//! Leaves out: TCP options, fragments.

use crate::transport::{Framing, Kind, Transport};
use crate::udt;

/// Bytes of TCP and IP headers.
const TCP_HEADERS: u64 = 40;
/// Bytes of UDP and IP headers.
pub const UDP_HEADERS: u64 = 28;
/// Ethernet: header 14, FCS 4, preamble 8, gap 12.
const ETHERNET_OVERHEAD: u16 = 38;
/// The minimum Ethernet frame, with preamble and gap.
const ETHERNET_MINIMUM: u16 = 84;

/// Sizes of the packets of a transport.
#[derive(Debug, Clone, Copy)]
pub struct WireFormat {
    /// Application bytes of a full packet.
    pub payload: u64,
    /// Bytes of headers in each IP packet.
    pub headers: u64,
    /// Bytes that framing adds to each IP packet.
    pub overhead: u16,
    /// The minimum size on the wire.
    pub minimum: u16,
}

impl WireFormat {
    /// The packets of a transport.
    pub fn of(transport: &Transport) -> Self {
        let (overhead, minimum) = match transport.framing {
            Framing::Ip => (0, 0),
            Framing::Ethernet => (ETHERNET_OVERHEAD, ETHERNET_MINIMUM),
        };
        Self {
            payload: transport.payload().count(),
            headers: match &transport.kind {
                Kind::Tcp(_) => TCP_HEADERS,
                Kind::Datagram(_) => UDP_HEADERS,
                Kind::Udt(_) | Kind::Dcudp(_) => udt::HEADERS,
                Kind::Rdma(rdma) => rdma.headers(),
            },
            overhead,
            minimum,
        }
    }

    /// Bytes on the wire of a packet with this payload.
    pub fn wire_size(&self, payload: u64) -> u64 {
        self.framed(self.ip_size(payload))
    }

    /// Bytes of the IP packet with this payload.
    pub fn ip_size(&self, payload: u64) -> u64 {
        payload + self.headers
    }

    /// Bytes on the wire of an IP packet of this size.
    pub fn framed(&self, ip: u64) -> u64 {
        let framed = ip + u64::from(self.overhead);
        framed.max(u64::from(self.minimum))
    }
}
