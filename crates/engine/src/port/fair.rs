//! The fair queue: deficit round robin.

use incastle_units::Bytes;

/// What a full port drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FairDrop {
    /// The tail of the longest queue.
    #[default]
    Longest,
    /// The arriving packet.
    Arriving,
}

/// Parameters of a fair queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairConfig {
    /// Bytes that each flow may send more per round; from the largest packet on each packet costs
    /// the same work.
    pub quantum: Bytes,
    /// What a full port drops.
    pub drop: FairDrop,
}
