//! Events and their total order.
//!
//! An event is (time, kind, source). At one instant the kinds come in the order of [`Kind`], then
//! the sources by their index; a source's own events come in the order in which it made them,
//! because each source keeps at most its earliest event in the queue (a link the arrival of its first
//! packet, an endpoint its earliest deadline, a schedule its next change). The order therefore never depends on addresses,
//! hashes or the shape of the queue. A source may leave an outdated event behind; it then finds
//! nothing due and ignores it.

use incastle_units::Time;

/// The kinds of events in their order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A general port has finished sending a packet.
    Departure = 0,
    /// A host's NIC takes the next packet that waits for it.
    Dequeue = 1,
    /// The first packet on a link arrives at its far endpoint.
    Arrival = 2,
    /// A link changes its rate, or links fail or come up.
    Control = 3,
    /// An endpoint's deadline has come.
    Timer = 4,
    /// A host hands a batch of coalesced arrivals to its endpoint.
    Batch = 5,
    /// An application has something to do.
    Application = 6,
    /// A probe looks.
    Probe = 7,
}

impl Kind {
    /// Whether it happens at a port, a host or an endpoint, each of which is in one partition of a network.
    pub(crate) const fn is_of_one_place(self) -> bool {
        match self {
            Self::Departure | Self::Dequeue | Self::Arrival | Self::Timer | Self::Batch => true,
            Self::Control | Self::Application | Self::Probe => false,
        }
    }
}

/// One event. The derived order is the total order of events.
///
/// Two whole words: an event then travels in registers. Written to memory field by field and read
/// back at once as a whole it would stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) at: Time,
    /// The kind above the source.
    rank: u64,
}

impl Event {
    /// Later than every event.
    pub(crate) const NEVER: Self = Self {
        at: Time::NEVER,
        rank: u64::MAX,
    };

    /// Bits of a source below three of a kind.
    pub(crate) const RANK_BITS: u32 = 35;

    #[inline]
    pub(crate) const fn new(at: Time, kind: Kind, source: u32) -> Self {
        let rank = (kind as u64) << 32 | source as u64;
        Self { at, rank }
    }

    /// The kind and the source in [`Self::RANK_BITS`] bits, in the order of events of one instant.
    #[inline(always)]
    pub(crate) const fn rank(self) -> u64 {
        self.rank
    }

    /// The event of an instant and a rank.
    #[inline(always)]
    pub(crate) const fn of(at: Time, rank: u64) -> Self {
        Self { at, rank }
    }

    /// Whether it is of this kind: less work than to tell which it is.
    #[inline(always)]
    pub(crate) const fn is(self, kind: Kind) -> bool {
        self.rank >> 32 == kind as u64
    }

    #[inline]
    pub(crate) const fn kind(self) -> Kind {
        match self.rank >> 32 {
            0 => Kind::Departure,
            1 => Kind::Dequeue,
            2 => Kind::Arrival,
            3 => Kind::Control,
            4 => Kind::Timer,
            5 => Kind::Batch,
            6 => Kind::Application,
            _ => Kind::Probe,
        }
    }

    #[inline]
    pub(crate) const fn source(self) -> u32 {
        self.rank as u32
    }
}
