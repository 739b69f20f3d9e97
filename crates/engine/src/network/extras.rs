//! Extras of packets in flight: SACK blocks, UDT's control packets with their loss lists and handshakes, telemetry. They
//! are rare, and so in an arena, each in a slot that the packet stores.

use std::collections::VecDeque;

use crate::layout::{Arena, ShortLists};
use crate::network::{Body, NO_TELEMETRY, Packet, Pool};
use crate::probe::UdtControl;
use incastle_congestion::HopTelemetry;
use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock};

/// The SACK blocks of a segment; their number is in the segment.
pub(crate) type SackBlocks = [SackBlock; MAX_SACK_BLOCKS];

/// Switches whose records a packet has room for; it gets none of later ones.
const MAX_HOPS: usize = 8;
/// Bytes of the records of four hops: two cache lines.
const FIRST_HOPS: usize = 128;

/// All extras.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) sacks: Arena<SackBlocks>,
    pub(crate) controls: Arena<UdtControl>,
    /// Records of hops, in the order of the path.
    pub(crate) telemetry: ShortLists<HopTelemetry, MAX_HOPS>,
}

/// The extras of packets, in the order of the packets: one core writes them and another reads them, each from the first
/// byte to the last.
#[derive(Debug, Default)]
pub(crate) struct ExtrasInOrder {
    sacks: VecDeque<SackBlocks>,
    controls: VecDeque<UdtControl>,
    telemetry: VecDeque<HopTelemetry>,
}

impl ExtrasInOrder {
    /// Appends a copy of the extras of a packet, which has the number of its records in place of their place.
    pub(crate) fn push(&mut self, packet: &mut Packet, from: &Extras) {
        match &mut packet.body {
            Body::Segment { segment, sacks } if segment.sacks > 0 => {
                self.sacks.push_back(from.sacks.get(*sacks));
            }
            Body::UdtControl { place, .. } => self.controls.push_back(from.controls.get(*place)),
            Body::Rdma { telemetry, .. } if *telemetry != NO_TELEMETRY => {
                let hops = from.telemetry.get(*telemetry);
                self.telemetry.extend(hops);
                *telemetry = hops.len() as u32;
            }
            _ => {}
        }
    }

    /// Moves the first extras, which are those of a packet, into an arena.
    pub(crate) fn pop(&mut self, packet: &mut Packet, to: &mut Extras) {
        match &mut packet.body {
            Body::Segment { segment, sacks } if segment.sacks > 0 => {
                *sacks = to.sacks.store(first(&mut self.sacks));
            }
            Body::UdtControl { place, .. } => {
                *place = to.controls.store(first(&mut self.controls));
            }
            Body::Rdma { telemetry, .. } if *telemetry != NO_TELEMETRY => {
                let hops = self.telemetry.drain(..*telemetry as usize);
                *telemetry = to.telemetry.store(hops);
            }
            _ => {}
        }
    }
}

fn first<T>(extras: &mut VecDeque<T>) -> T {
    extras.pop_front().expect("a packet has its extras")
}

/// The packets in ports and on links, with their extras.
pub(crate) struct Arenas<'a> {
    pub(crate) pool: &'a mut Pool,
    pub(crate) extras: &'a mut Extras,
}

impl Extras {
    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.sacks.used() + self.controls.used() + self.telemetry.used()
    }

    /// The telemetry in a place; empty for [`NO_TELEMETRY`].
    pub(crate) fn hops(&self, place: u32) -> &[HopTelemetry] {
        if place == NO_TELEMETRY {
            return &[];
        }
        self.telemetry.get(place)
    }

    /// Prefetches the records of the first hops, and the room for the next.
    #[inline(always)]
    pub(crate) fn prefetch_telemetry(&self, packet: &Packet) {
        if let Body::Rdma { telemetry, .. } = &packet.body {
            self.telemetry.prefetch(*telemetry, FIRST_HOPS);
        }
    }

    /// Frees a place, unless it is [`NO_TELEMETRY`].
    pub(crate) fn free_telemetry(&mut self, place: u32) {
        if place != NO_TELEMETRY {
            self.telemetry.free(place);
        }
    }

    /// Stores the SACK blocks of a segment.
    pub(crate) fn store_sacks(&mut self, blocks: &[SackBlock]) -> u32 {
        let mut slot = [SackBlock { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        slot[..blocks.len()].copy_from_slice(blocks);
        self.sacks.store(slot)
    }
}
