//! Events and their total order.
//!
//! An event is (time, kind, source). At one instant the kinds come in the order of [`Kind`], then the sources by their
//! index. Each source has at most its earliest event in the queue, and so its events come in the order in which it
//! entered them. A link's event is the arrival of its first packet, an endpoint's its earliest deadline, a schedule's
//! its next change. The order never depends on addresses, hashes or the shape of the queue. A source may leave an
//! outdated event, which it ignores when nothing is due.

use incastle_units::Time;

/// The kinds of events in their order at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// A general port has finished sending a packet.
    Departure = 0,
    /// A host's NIC dequeues the next packet.
    Dequeue = 1,
    /// The first packet on a link arrives.
    Arrival = 2,
    /// A link changes its rate, or links fail or recover.
    Control = 3,
    /// The deadline of an endpoint.
    Timer = 4,
    /// A host delivers a batch of coalesced arrivals.
    Batch = 5,
    /// A call of an application.
    Application = 6,
    /// A sample, or a boundary of the measured interval.
    Probe = 7,
}

impl Kind {
    /// Whether it belongs to a port, a host or an endpoint, each of which is in one partition.
    pub const fn is_of_one_place(self) -> bool {
        match self {
            Self::Departure | Self::Dequeue | Self::Arrival | Self::Timer | Self::Batch => true,
            Self::Control | Self::Application | Self::Probe => false,
        }
    }
}

/// One event. The derived order is the total order of events.
///
/// Two whole words, which stay in registers: written to memory field by field and read back as a whole, they would
/// stall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Its instant.
    pub at: Time,
    /// The kind above the source.
    rank: u64,
}

impl Event {
    /// Later than every event.
    pub const NEVER: Self = Self {
        at: Time::NEVER,
        rank: u64::MAX,
    };

    /// Bits of a rank: three of the kind above those of the source.
    pub const RANK_BITS: u32 = 35;

    /// The event of a source at an instant.
    #[inline]
    pub const fn new(at: Time, kind: Kind, source: u32) -> Self {
        let rank = (kind as u64) << 32 | source as u64;
        Self { at, rank }
    }

    /// Kind and source in [`Self::RANK_BITS`] bits, in the order of events at one instant.
    #[inline(always)]
    pub const fn rank(self) -> u64 {
        self.rank
    }

    /// The event with an instant and a rank.
    #[inline(always)]
    pub const fn of(at: Time, rank: u64) -> Self {
        Self { at, rank }
    }

    /// Whether it is of this kind: cheaper than [`Self::kind`].
    #[inline(always)]
    pub const fn is(self, kind: Kind) -> bool {
        self.rank >> 32 == kind as u64
    }

    /// Its kind.
    #[inline]
    pub const fn kind(self) -> Kind {
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

    /// Its source.
    #[inline]
    pub const fn source(self) -> u32 {
        self.rank as u32
    }
}
