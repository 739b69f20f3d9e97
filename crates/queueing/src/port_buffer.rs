//! The memory of one port, as an admission test on its content.
//!
//! Stored is everything in the port's memory, the packet being sent included. Leaves out: the
//! overhead of real memories (cells, descriptors). Memory shared by ports: `shared_buffer`.

use incastle_units::{Amount, Bytes, Packets};

/// The limit on the data that one port can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortBuffer {
    /// Everything.
    Unlimited,
    /// At most this many packets or bytes.
    Limited(Amount),
}

impl PortBuffer {
    /// Whether a packet of `size` fits into the remaining space.
    #[inline]
    pub fn admits(self, stored_packets: Packets, stored_bytes: Bytes, size: Bytes) -> bool {
        match self {
            Self::Unlimited => true,
            Self::Limited(Amount::Packets(limit)) => stored_packets < limit,
            Self::Limited(Amount::Bytes(limit)) => size <= limit.saturating_sub(stored_bytes),
        }
    }
}
