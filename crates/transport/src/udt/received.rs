//! What the network reports of a packet in addition to its bytes.

use incastle_units::{Ecn, Time};

/// What is known of a packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The ECN field of its IP packet.
    pub ecn: Ecn,
    /// When it arrived, where that is known better than by when it is handled: several may be taken
    /// from a socket at once. Only the rates of arrival are taken from it.
    pub stamp: Option<Time>,
}

impl From<Ecn> for Received {
    /// A packet that is handled when it arrives.
    fn from(ecn: Ecn) -> Self {
        Self { ecn, stamp: None }
    }
}
