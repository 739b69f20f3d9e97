//! The framing of packets on the link layer.

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

    /// Bytes on the wire of a packet with as many, IP's header included.
    #[inline(always)]
    pub fn wire_bytes(self, ip_bytes: u16) -> u16 {
        (ip_bytes + self.overhead).max(self.minimum)
    }
}
