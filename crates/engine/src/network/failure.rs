//! Links that fail and recover at given instants.
//!
//! A direction of a link that fails loses the packets in its port and on the wire, and then every packet offered. The
//! switches' routes withdraw it once they have *converged*, all at the same instant, a given time later; likewise when
//! it recovers. Leaves out: the detection of a failure (carrier, BFD), the messages and the order in which real routers
//! converge, local repair, links with partial loss.

use std::collections::{BTreeMap, BTreeSet};

use incastle_queueing::PortBuffer;
use incastle_routing::Edge;
use incastle_units::{Span, Time};

use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::network::Port;

/// The source of the events at which links fail or recover, beyond that of any port.
pub(crate) const FAILURES: u32 = u32::MAX;

/// A change of a direction of a link. At one instant links fail first, and routes change last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// It fails.
    Down(PortIndex),
    /// It recovers.
    Up(PortIndex),
    /// Routes withdraw it.
    Withdraw(PortIndex),
    /// Routes restore it.
    Restore(PortIndex),
}

/// An outage of a direction of a link. Packets in its port and on the wire at the first instant are lost, and packets
/// offered before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outage {
    /// The instant of the failure.
    pub from: Time,
    /// The instant of the recovery ([`Time::NEVER`] for none).
    pub until: Time,
}

/// A change with its instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Timed {
    at: Time,
    change: Change,
}

/// All changes of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    changes: Vec<Timed>,
    /// The number of past changes.
    past: usize,
    /// The buffers of ports that are down.
    pub(crate) buffers: BTreeMap<PortIndex, PortBuffer>,
    /// The ports that routes have withdrawn.
    withdrawn: BTreeSet<PortIndex>,
}

impl Failures {
    /// The outages of each port.
    pub(crate) fn new(ports: &BTreeMap<PortIndex, Vec<Outage>>, convergence: Span) -> Self {
        let mut changes = Vec::new();
        for (&port, outages) in ports {
            let instants = outages
                .iter()
                .flat_map(|outage| [outage.from, outage.until]);
            assert!(
                instants.is_sorted_by(|a, b| a < b),
                "the outages of a link follow each other"
            );
            for &Outage { from, until } in outages {
                for (at, change) in [
                    (from, Change::Down(port)),
                    (from.saturating_add(convergence), Change::Withdraw(port)),
                    (until, Change::Up(port)),
                    (until.saturating_add(convergence), Change::Restore(port)),
                ] {
                    changes.push(Timed { at, change });
                }
            }
        }
        changes.retain(|timed| timed.at < Time::NEVER);
        changes.sort_unstable();
        Self {
            changes,
            past: 0,
            buffers: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
        }
    }

    /// Whether no link ever fails.
    pub(crate) const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Enters the next change, if there is one.
    pub(crate) fn enter_next(&self, events: &mut EventQueue) {
        if let Some(next) = self.changes.get(self.past) {
            events.push(Event::new(next.at, Kind::Control, FAILURES));
        }
    }

    /// Takes the next change, if it is due now.
    pub(crate) fn take(&mut self, now: Time) -> Option<Change> {
        let Timed { at, change } = *self.changes.get(self.past)?;
        (at <= now).then(|| {
            assert!(at == now, "a link changes at its event");
            self.past += 1;
            change
        })
    }

    /// Routes withdraw a port.
    pub(crate) fn withdraw(&mut self, port: PortIndex) {
        let new = self.withdrawn.insert(port);
        assert!(new, "routes withdraw a port once");
    }

    /// Routes restore a port.
    pub(crate) fn restore(&mut self, port: PortIndex) {
        let withdrawn = self.withdrawn.remove(&port);
        assert!(withdrawn, "routes restore a withdrawn port");
    }

    /// Whether routes have withdrawn a port.
    pub(crate) fn has_withdrawn(&self, port: PortIndex) -> bool {
        self.withdrawn.contains(&port)
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
