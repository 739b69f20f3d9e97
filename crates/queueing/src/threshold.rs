//! Threshold marking: an arriving packet is marked iff the instantaneous queue is longer than K.
//!
//! Source: DCTCP's switch, Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1, and
//! RFC 8257, section 3.1. Leaves out: averages, hysteresis (see `double_threshold`), marking on
//! departure.

use incastle_units::{Amount, Bytes, Packets};
use rand_core::Rng;

use crate::{Arrival, Discipline, DropCause, QueueState, Verdict};

/// The parameters of [`Threshold`]. K has no default: it belongs to a rate and a round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThresholdConfig {
    /// K: a packet that finds more than this waiting is marked.
    pub marking_threshold: Amount,
    /// Drop packets above K that cannot be marked, as some real switches do.
    pub drop_not_ect: bool,
}

impl ThresholdConfig {
    /// Marks above `marking_threshold` and leaves packets that are not ECN-capable alone.
    pub const fn new(marking_threshold: Amount) -> Self {
        Self {
            marking_threshold,
            drop_not_ect: false,
        }
    }
}

/// The DCTCP marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    // One of the two limits is out of reach: two comparisons are cheaper than a match on the unit.
    packets: Packets,
    bytes: Bytes,
    not_ect: Verdict,
}

impl Threshold {
    /// A marker with these parameters.
    pub const fn new(config: ThresholdConfig) -> Self {
        let (packets, bytes) = match config.marking_threshold {
            Amount::Packets(limit) => (limit, Bytes::MAX),
            Amount::Bytes(limit) => (Packets::MAX, limit),
        };
        Self {
            packets,
            bytes,
            not_ect: if config.drop_not_ect {
                Verdict::Drop(DropCause::NotEcnCapable)
            } else {
                Verdict::Admit
            },
        }
    }

    /// The most that may wait in front of a packet that is not marked.
    pub(crate) const fn limits(&self) -> (Packets, Bytes) {
        (self.packets, self.bytes)
    }
}

impl Discipline for Threshold {
    #[inline]
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, _: &mut dyn Rng) -> Verdict {
        if queue.waiting_packets <= self.packets && queue.waiting_bytes <= self.bytes {
            Verdict::Admit
        } else if packet.ecn.is_capable() {
            Verdict::Mark
        } else {
            self.not_ect
        }
    }
}
