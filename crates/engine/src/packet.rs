//! A packet in the network: a small `Copy` value. Its payload is a length; SACK blocks, rare, lie in
//! an arena beside it.

use incastle_transport::datagram::Datagram;
use incastle_transport::tcp::{MAX_SACK_BLOCKS, SackBlock, Segment};
use incastle_units::{Bytes, Ecn};

use crate::{EndpointIndex, HostIndex};

/// What the packet carries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    Segment(Segment),
    Datagram(Datagram),
    /// A congestion notification message (QCN) with its quantised feedback.
    Cnm {
        psi: u8,
    },
}

/// A packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet {
    pub(crate) body: Body,
    /// The endpoint that it is for.
    pub(crate) to: EndpointIndex,
    /// The host of that endpoint.
    pub(crate) host: HostIndex,
    /// Where its SACK blocks lie in the arena; meaningless where the segment has none.
    pub(crate) extra: u32,
    /// Bytes on the wire, framing included.
    pub(crate) size: u16,
    /// The ECN field.
    pub(crate) ecn: Ecn,
    /// The traffic class.
    pub(crate) class: u8,
}

// Together with its arrival time a packet fills one cache line.
const _: () = assert!(size_of::<Packet>() <= 56);

impl Body {
    /// The segment inside, to be written over.
    #[inline(always)]
    pub(crate) fn as_segment(&mut self) -> &mut Segment {
        if !matches!(self, Self::Segment(_)) {
            *self = Self::Segment(Segment::EMPTY);
        }
        match self {
            Self::Segment(segment) => segment,
            Self::Datagram(_) | Self::Cnm { .. } => unreachable!("it was just made a segment"),
        }
    }
}

impl Packet {
    /// A packet that says nothing, to be written over.
    pub(crate) const EMPTY: Self = Self {
        body: Body::Segment(Segment::EMPTY),
        to: EndpointIndex(0),
        host: HostIndex(0),
        extra: 0,
        size: 0,
        ecn: Ecn::NotEct,
        class: 0,
    };

    pub(crate) fn size(&self) -> Bytes {
        Bytes::new(u64::from(self.size))
    }

    /// Application bytes inside.
    pub(crate) fn payload(&self) -> u16 {
        match &self.body {
            Body::Segment(segment) => segment.payload,
            Body::Datagram(datagram) => datagram.payload as u16,
            Body::Cnm { .. } => 0,
        }
    }

    /// Whether it belongs to no transport.
    pub(crate) fn is_cnm(&self) -> bool {
        matches!(&self.body, Body::Cnm { .. })
    }

    /// Whether SACK blocks of it lie in the arena.
    pub(crate) fn has_extra(&self) -> bool {
        matches!(&self.body, Body::Segment(segment) if segment.sacks > 0)
    }

    /// Two words that tell this packet from others of its run.
    pub(crate) fn identity(&self) -> (u64, u64) {
        let head = u64::from(self.to.0) << 32 | u64::from(self.size) << 8 | self.ecn as u64;
        match &self.body {
            Body::Segment(segment) => {
                let flags = u64::from(segment.flags.bits()) << 24;
                (
                    head ^ flags,
                    u64::from(segment.seq) << 32 | u64::from(segment.ack),
                )
            }
            Body::Datagram(datagram) => (head, datagram.seq),
            Body::Cnm { psi } => (head ^ 1 << 59, u64::from(*psi)),
        }
    }
}

/// SACK blocks of packets in flight.
#[derive(Debug, Default)]
pub(crate) struct SackArena {
    slots: Vec<[SackBlock; MAX_SACK_BLOCKS]>,
    free: Vec<u32>,
}

impl SackArena {
    /// Stores the blocks of a packet.
    pub(crate) fn store(&mut self, blocks: &[SackBlock]) -> u32 {
        let mut slot = [SackBlock { start: 0, end: 0 }; MAX_SACK_BLOCKS];
        slot[..blocks.len()].copy_from_slice(blocks);
        if let Some(place) = self.free.pop() {
            self.slots[place as usize] = slot;
            return place;
        }
        self.slots.push(slot);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight")
    }

    /// Takes the blocks of a packet that has arrived or is dropped.
    pub(crate) fn take(&mut self, place: u32) -> [SackBlock; MAX_SACK_BLOCKS] {
        self.free.push(place);
        self.slots[place as usize]
    }

    /// Slots in use.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
