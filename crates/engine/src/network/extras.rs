//! What packets in flight carry besides their headers' fixed fields: SACK blocks, and UDT's control
//! packets with their loss lists and handshakes. Rare, so it lies here, each in a slot that the packet
//! names.

use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock};
use incastle_transport::udt::wire::{Beside, ControlHeader, Handshake, Losses, NumberRange};

/// Slots that are filled, taken and filled again.
#[derive(Debug)]
pub(crate) struct Arena<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Arena<T> {
    /// Keeps a value until it is taken.
    pub(crate) fn store(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.slots[place as usize] = value;
            return place;
        }
        self.slots.push(value);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight")
    }

    /// Looks at the value of a packet on its way.
    pub(crate) fn get(&self, place: u32) -> T {
        self.slots[place as usize]
    }

    /// Takes the value of a packet that has arrived or is dropped.
    pub(crate) fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.slots[place as usize]
    }

    /// Looks at a value that stays.
    pub(crate) fn at(&self, place: u32) -> &T {
        &self.slots[place as usize]
    }

    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// The SACK blocks of a segment; how many of them count, the segment says.
pub(crate) type SackBlocks = [SackBlock; MAX_SACK_BLOCKS];

/// A control packet of UDT with what lies beside it.
#[derive(Debug, Clone, Copy)]
pub struct UdtControl {
    /// Its header.
    pub header: ControlHeader,
    body: UdtBody,
}

/// Ranges of one NAK at the most: a connection sends no more.
const MAX_RANGES: usize = 8;

#[derive(Debug, Clone, Copy)]
enum UdtBody {
    Nothing,
    Losses([NumberRange; MAX_RANGES], u8),
    Handshake(Handshake),
}

impl UdtControl {
    pub(crate) fn new(header: ControlHeader, beside: Beside<'_>) -> Self {
        let body = match beside {
            Beside::Nothing => UdtBody::Nothing,
            Beside::Handshake(handshake) => UdtBody::Handshake(*handshake),
            Beside::Losses(losses) => {
                let mut ranges = losses.ranges();
                let first = ranges.next().expect("a NAK names something");
                let mut kept = [first; MAX_RANGES];
                let mut count = 1;
                for range in ranges {
                    kept[count] = range;
                    count += 1;
                }
                UdtBody::Losses(kept, count as u8)
            }
        };
        Self { header, body }
    }

    /// What lies beside the header.
    pub fn beside(&self) -> Beside<'_> {
        match &self.body {
            UdtBody::Nothing => Beside::Nothing,
            UdtBody::Losses(ranges, count) => {
                Beside::Losses(Losses::typed(&ranges[..usize::from(*count)]))
            }
            UdtBody::Handshake(handshake) => Beside::Handshake(handshake),
        }
    }
}

/// All of it.
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
