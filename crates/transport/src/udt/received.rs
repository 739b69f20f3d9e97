//! The network's report on a packet, in addition to its bytes.

use incastle_units::{Ecn, Time};

/// The network's report on an arrived packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The ECN field of its IP packet.
    pub ecn: Ecn,
    /// The time of arrival, where it is more exact than the time of handling: several packets may
    /// be taken from a socket together. Only the rates of arrival are taken from it.
    pub stamp: Option<Time>,
}

impl From<Ecn> for Received {
    /// A packet that is handled when it arrives.
    fn from(ecn: Ecn) -> Self {
        Self { ecn, stamp: None }
    }
}
