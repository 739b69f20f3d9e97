//! Extras of packets in flight: SACK blocks, and UDT's control packets with their loss lists and handshakes. They are
//! rare, and so in an arena, each in a slot that the packet stores.

use crate::layout::Arena;
use crate::probe::UdtControl;
use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock};

/// The SACK blocks of a segment; their number is in the segment.
pub(crate) type SackBlocks = [SackBlock; MAX_SACK_BLOCKS];

/// All extras.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) sacks: Arena<SackBlocks>,
    pub(crate) controls: Arena<UdtControl>,
}

impl Extras {
    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.sacks.used() + self.controls.used()
    }

    /// Stores the SACK blocks of a segment.
    pub(crate) fn store_sacks(&mut self, blocks: &[SackBlock]) -> u32 {
        let mut slot = [SackBlock { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        slot[..blocks.len()].copy_from_slice(blocks);
        self.sacks.store(slot)
    }
}
