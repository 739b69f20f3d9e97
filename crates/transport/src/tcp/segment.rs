//! A TCP segment as the simulated wire carries it: the header's fields and a payload length.
//!
//! Sequence numbers are the 32 bits of RFC 9293 and wrap. Options (timestamps, SACK blocks) take no
//! bytes on the simulated wire, as in ns-2; the blocks of a segment are passed separately.

use incastle_units::Time;

/// Control bits (RFC 9293, section 3.1; ECE and CWR from RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(u8);

impl Flags {
    /// No bits.
    pub const NONE: Self = Self(0);
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// The acknowledgement field is significant.
    pub const ACK: Self = Self(0x10);
    /// ECN echo.
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether all bits of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The bits as on the wire.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// One block of a selective acknowledgement (RFC 2018): `start` to `end`, exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SackBlock {
    /// First sequence number of the block.
    pub start: u32,
    /// The sequence number after its last.
    pub end: u32,
}

/// The most SACK blocks that fit into one segment with a timestamp (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 3;

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Timestamp value: when it was sent.
    pub timestamp: Time,
    /// Timestamp echo: the timestamp of the segment that this one acknowledges, or
    /// [`Time::NEVER`].
    pub echo: Time,
    /// The next sequence number expected by the sender of this segment.
    pub ack: u32,
    /// Sequence number of the first payload byte (or of SYN, FIN).
    pub seq: u32,
    /// Bytes that the sender of this segment is ready to receive beyond `ack`.
    pub window: u32,
    /// Payload bytes.
    pub payload: u16,
    /// Control bits.
    pub flags: Flags,
    /// The number of SACK blocks, which are passed separately.
    pub sacks: u8,
}

impl Segment {
    /// An empty segment, to be written over.
    pub const EMPTY: Self = Self {
        timestamp: Time::ZERO,
        echo: Time::NEVER,
        seq: 0,
        ack: 0,
        window: 0,
        payload: 0,
        flags: Flags::NONE,
        sacks: 0,
    };

    /// The name of its kind, for records.
    pub fn name(&self) -> &'static str {
        let has = |flag| self.flags.contains(flag);
        match (has(Flags::SYN), has(Flags::ACK)) {
            (true, true) => "syn-ack",
            (true, false) => "syn",
            (false, _) if self.payload > 0 => "data",
            (false, _) if has(Flags::FIN) => "fin",
            (false, _) => "ack",
        }
    }
}
