//! The source of the events at which links fail or recover, and the links that routes may take or partitions cut. The
//! changes themselves are those of incastle-links, the partitions those of incastle-routing.

use incastle_routing::{Edge, PartitionError, Partitioning};

use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::network::{Failures, Network, Port};

/// The source of those events, beyond that of any port.
pub(crate) const FAILURES: u32 = u32::MAX;

/// Enters the next change, if there is one.
pub(crate) fn enter_failure(failures: &Failures<PortIndex>, events: &mut EventQueue) {
    if let Some(at) = failures.next() {
        events.push(Event::new(at, Kind::Control, FAILURES));
    }
}

/// The directions of links that routes may take.
pub(crate) fn edges(
    ports: &[Port],
    owners: &[Node],
    taken: impl Fn(PortIndex) -> bool,
) -> Vec<Edge> {
    let all = ports.iter().zip(owners).map(|(port, &from)| Edge {
        from,
        to: port.to,
        port: port.index,
    });
    all.filter(|edge| taken(edge.port)).collect()
}

impl Network {
    /// At most `count` partitions: no more than there are switches with hosts.
    pub fn partition(&self, count: usize) -> Result<Partitioning, PartitionError> {
        let links = edges(&self.ports, &self.owners, |_| true);
        Partitioning::new(self.switch_count(), &links, count, |port| self.delay(port))
    }

    /// The link behind a port.
    pub fn edge(&self, port: PortIndex) -> Edge {
        Edge {
            from: self.owner(port),
            to: self.next_hop(port),
            port,
        }
    }
}
