//! Extras of packets in flight: SACK blocks, UDT's control packets with their loss lists and handshakes, telemetry. They
//! are rare, and so in an arena, each in a slot that the packet stores.

use crate::layout::Arena;
use crate::network::{Body, NO_TELEMETRY, Packet, Pool};
use crate::probe::UdtControl;
use incastle_congestion::HopTelemetry;
use incastle_rdma::Telemetry;
use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock};

/// The SACK blocks of a segment; their number is in the segment.
pub(crate) type SackBlocks = [SackBlock; MAX_SACK_BLOCKS];

/// Bytes of the telemetry of three hops, with their number.
const FIRST_HOPS: usize = 128;

/// All extras.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) sacks: Arena<SackBlocks>,
    pub(crate) controls: Arena<UdtControl>,
    pub(crate) telemetry: Arena<Telemetry>,
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

    /// A place for the telemetry of a packet.
    pub(crate) fn store_telemetry(&mut self) -> u32 {
        let place = self.telemetry.reserve(Telemetry::EMPTY);
        self.telemetry.at_mut(place).clear();
        place
    }

    /// The telemetry in a place; empty for [`NO_TELEMETRY`].
    pub(crate) fn hops(&self, place: u32) -> &[HopTelemetry] {
        if place == NO_TELEMETRY {
            return &[];
        }
        self.telemetry.at(place).hops()
    }

    /// Adds the record of a hop.
    pub(crate) fn stamp(&mut self, place: u32, hop: HopTelemetry) {
        self.telemetry.at_mut(place).push(hop);
    }

    /// Prefetches the records of the first hops.
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
