//! A packet for tests.

use crate::{Linked, Slot};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) size: u16,
    behind: Slot,
}

impl Packet {
    pub(crate) fn new(size: u16) -> Self {
        Self {
            size,
            behind: Slot::NONE,
        }
    }
}

impl Default for Packet {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Linked for Packet {
    fn behind(&self) -> Slot {
        self.behind
    }

    fn set_behind(&mut self, slot: Slot) {
        self.behind = slot;
    }

    fn size(&self) -> u16 {
        self.size
    }
}
