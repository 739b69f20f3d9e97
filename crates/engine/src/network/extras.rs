//! Extras of packets in flight: SACK blocks, UDT's control packets with their loss lists and handshakes, telemetry. They
//! are rare, and so in an arena, each in a slot that the packet stores.

use crate::layout::Arena;
use crate::network::NO_TELEMETRY;
use crate::probe::UdtControl;
use incastle_congestion::HopTelemetry;
use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock};
use incastle_units::{Bytes, Rate, Time};

/// The SACK blocks of a segment; their number is in the segment.
pub(crate) type SackBlocks = [SackBlock; MAX_SACK_BLOCKS];

/// All extras.
#[derive(Debug, Default)]
pub(crate) struct Extras {
    pub(crate) sacks: Arena<SackBlocks>,
    pub(crate) controls: Arena<UdtControl>,
    pub(crate) telemetry: Arena<Telemetry>,
}

/// Hops that a packet can gather telemetry of; those after them are not recorded.
const MAX_HOPS: usize = 8;

/// In-band telemetry (INT) of a packet: one record per switch, in the order of its path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Telemetry {
    hops: [HopTelemetry; MAX_HOPS],
    count: u8,
}

impl Telemetry {
    const NOTHING: HopTelemetry = HopTelemetry {
        rate: Rate::from_bits_per_second(0),
        at: Time::ZERO,
        sent: Bytes::ZERO,
        queue: Bytes::ZERO,
    };
    const EMPTY: Self = Self {
        hops: [Self::NOTHING; MAX_HOPS],
        count: 0,
    };
}

impl Extras {
    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.sacks.used() + self.controls.used() + self.telemetry.used()
    }

    /// A place for the telemetry of a packet.
    pub(crate) fn store_telemetry(&mut self) -> u32 {
        self.telemetry.store(Telemetry::EMPTY)
    }

    /// The telemetry in a place; empty for [`NO_TELEMETRY`].
    pub(crate) fn hops(&self, place: u32) -> &[HopTelemetry] {
        if place == NO_TELEMETRY {
            return &[];
        }
        let telemetry = self.telemetry.at(place);
        &telemetry.hops[..usize::from(telemetry.count)]
    }

    /// Adds the record of a hop.
    pub(crate) fn stamp(&mut self, place: u32, hop: HopTelemetry) {
        let telemetry = self.telemetry.at_mut(place);
        if let Some(free) = telemetry.hops.get_mut(usize::from(telemetry.count)) {
            *free = hop;
            telemetry.count += 1;
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
