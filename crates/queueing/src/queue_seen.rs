//! The memory of a port as a packet meets it, for records.

use incastle_units::{Amount, Bytes};

/// The memory of a port when it judged a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSeen {
    /// Packets, the one being sent included.
    pub packets: u32,
    /// Their bytes.
    pub bytes: Bytes,
    /// Its limit; the present threshold of a shared memory.
    pub limit: Option<Amount>,
}
