//! Verdicts that follow from the occupancy of a port alone: no state of its discipline changes, no random number is drawn.
//!
//! For the fast path of a simulator. In 32 bits: ports are small. Leaves out: shared memory, which has a say in every
//! verdict.

use incastle_units::Amount;

use crate::{Marker, PortBuffer};

/// The occupancy up to which a packet certainly passes unmarked. Packets exclude the arriving one, bytes include it. It is
/// the lower of the limits of buffer and discipline, less the maximum stored in addition to the packet being sent.
#[derive(Debug, Clone, Copy)]
pub struct ClearPassage {
    packets: u32,
    bytes: u32,
}

/// The most that may wait in front of an ECN-capable packet that is not certainly marked.
#[derive(Debug, Clone, Copy)]
pub struct CertainMark {
    packets: u32,
    bytes: u32,
}

impl ClearPassage {
    /// Every packet is judged.
    pub const NEVER: Self = Self {
        packets: 0,
        bytes: 0,
    };

    /// That of a port with this buffer and discipline.
    pub fn of(buffer: PortBuffer, marker: &Marker) -> Self {
        let Some((packets, bytes)) = marker.indifferent_up_to() else {
            return Self::NEVER;
        };
        // One of the stored packets is being sent, all others wait.
        let (mut packets, mut bytes) = (packets.count().saturating_add(1), bytes.count());
        match buffer {
            PortBuffer::Unlimited => {}
            PortBuffer::Limited(Amount::Bytes(limit)) => bytes = bytes.min(limit.count()),
            PortBuffer::Limited(Amount::Packets(limit)) => {
                let Some(waiting) = limit.count().checked_sub(1) else {
                    return Self::NEVER;
                };
                packets = packets.min(waiting);
            }
        }
        Self {
            packets: bounded(packets),
            bytes: bounded(bytes),
        }
    }

    /// Whether an arriving packet passes: `packets` are stored before it, and `bytes` with it.
    #[inline(always)]
    pub fn allows(self, packets: u32, bytes: u64) -> bool {
        (packets <= self.packets) & (bytes <= u64::from(self.bytes))
    }
}

impl CertainMark {
    /// No mark is certain.
    pub const NEVER: Self = Self {
        packets: u32::MAX,
        bytes: u32::MAX,
    };

    /// That of a discipline.
    pub fn of(marker: &Marker) -> Self {
        let Some((packets, bytes)) = marker.certain_above() else {
            return Self::NEVER;
        };
        Self {
            packets: bounded(packets.count()),
            bytes: bounded(bytes.count()),
        }
    }

    /// Whether an arriving ECN-capable packet is marked while this number of packets and bytes waits.
    #[inline]
    pub fn applies(self, packets: u32, bytes: u64) -> bool {
        packets > self.packets || self.bytes < u32::MAX && bytes > u64::from(self.bytes)
    }
}

fn bounded(limit: u64) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}
