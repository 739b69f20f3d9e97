//! The framing of packets on the link layer.

use incastle_units::Ecn;

/// The framing of an IP packet on the link layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Framing {
    /// Added to every packet.
    pub overhead: u16,
    /// The minimum size on the wire.
    pub minimum: u16,
    /// The traffic class (802.1Q's priority), for fair queues of classes.
    pub class: u8,
}

impl Framing {
    /// IP packets only.
    pub const IP: Self = Self {
        overhead: 0,
        minimum: 0,
        class: 0,
    };
    /// Ethernet: header 14, FCS 4, preamble 8, gap 12; at least 84 bytes in all.
    pub const ETHERNET: Self = Self {
        overhead: 38,
        minimum: 84,
        class: 0,
    };

    /// Bytes of a packet on the wire.
    #[inline(always)]
    pub(crate) fn wire_bytes(self, leaving: &Leaving) -> u16 {
        (leaving.payload + leaving.headers + self.overhead).max(self.minimum)
    }
}

/// A packet that leaves its endpoint.
pub(crate) struct Leaving {
    /// Application bytes.
    pub(crate) payload: u16,
    /// Bytes of the headers, IP's included.
    pub(crate) headers: u16,
    pub(crate) ecn: Ecn,
}
