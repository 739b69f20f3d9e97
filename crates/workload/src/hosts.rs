//! The two hosts of a flow, by the engine's indices.

use incastle_engine::core::HostIndex;
use incastle_scenario::topology::pairs::Pair;

/// The two hosts of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPair {
    /// The sender of the data; the initiator of a connection.
    pub from: HostIndex,
    /// The other.
    pub to: HostIndex,
}

impl From<Pair> for HostPair {
    fn from(pair: Pair) -> Self {
        Self {
            from: HostIndex::from_index(pair.from),
            to: HostIndex::from_index(pair.to),
        }
    }
}

impl From<HostPair> for Pair {
    fn from(pair: HostPair) -> Self {
        Self {
            from: pair.from.index(),
            to: pair.to.index(),
        }
    }
}

/// The engine's indices of hosts.
pub(crate) fn indices(hosts: &[usize]) -> Vec<HostIndex> {
    hosts
        .iter()
        .map(|&host| HostIndex::from_index(host))
        .collect()
}
