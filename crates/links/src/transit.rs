//! The time of a packet over a link, for records.

use incastle_units::Span;

/// The time of a packet from a port to the next hop without queueing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transit {
    /// Serialization.
    pub serialisation: Span,
    /// Propagation.
    pub propagation: Span,
}
