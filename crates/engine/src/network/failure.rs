//! Links that fail, and come up again, at instants known beforehand.
//!
//! A direction of a link that goes down loses what is in its port and on the wire, and then
//! everything that is to be sent there. The switches' routes leave it out once they have *converged*,
//! all at the same instant, a given time later; likewise when it comes up. Leaves out: how a failure
//! is noticed (carrier, BFD), the messages and the order in which real routers converge, local repair,
//! links that only lose some packets.

use std::collections::{BTreeMap, BTreeSet};

use incastle_queueing::PortBuffer;
use incastle_units::{Span, Time};

use crate::core::{Event, EventQueue, Kind, Node, PortIndex};
use crate::network::{Edge, Network, Port};

/// The source of the events at which links fail or come up, beyond that of any port.
pub(crate) const FAILURES: u32 = u32::MAX;

/// What happens to a direction of a link. At one instant links fail first, and routes change last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Change {
    /// It goes down.
    Down(PortIndex),
    /// It comes up.
    Up(PortIndex),
    /// Routes withdraw it.
    Withdraw(PortIndex),
    /// Routes restore it.
    Restore(PortIndex),
}

/// All changes of a run, in order.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    changes: Vec<(Time, Change)>,
    /// How many changes have happened.
    happened: usize,
    /// The buffers of ports that are down.
    pub(crate) buffers: BTreeMap<PortIndex, PortBuffer>,
    /// The ports that routes have withdrawn.
    withdrawn: BTreeSet<PortIndex>,
}

impl Failures {
    /// The failures of each port: from when, until when.
    pub(crate) fn new(ports: Vec<(PortIndex, Vec<(Time, Time)>)>, convergence: Span) -> Self {
        let mut changes = Vec::new();
        for (port, failures) in ports {
            let ends = failures.iter().flat_map(|(down, up)| [*down, *up]);
            assert!(
                ends.is_sorted_by(|a, b| a < b),
                "the failures of a link follow each other"
            );
            for (down, up) in failures {
                changes.push((down, Change::Down(port)));
                changes.push((down.saturating_add(convergence), Change::Withdraw(port)));
                changes.push((up, Change::Up(port)));
                changes.push((up.saturating_add(convergence), Change::Restore(port)));
            }
        }
        changes.retain(|(at, _)| *at < Time::NEVER);
        changes.sort_unstable();
        Self {
            changes,
            happened: 0,
            buffers: BTreeMap::new(),
            withdrawn: BTreeSet::new(),
        }
    }

    /// Enters the next change, if there is one.
    pub(crate) fn enter_next(&self, events: &mut EventQueue) {
        if let Some((at, _)) = self.changes.get(self.happened) {
            events.push(Event::new(*at, Kind::Control, FAILURES));
        }
    }

    /// The next change, if it happens now.
    pub(crate) fn take(&mut self, now: Time) -> Option<Change> {
        let (at, change) = *self.changes.get(self.happened)?;
        (at <= now).then(|| {
            assert!(at == now, "a link changes when its event says");
            self.happened += 1;
            change
        })
    }
}

impl Network {
    /// Routes withdraw a port.
    pub(crate) fn withdraw(&mut self, port: PortIndex) {
        let new = self.failures.withdrawn.insert(port);
        assert!(new, "routes withdraw a port once");
    }

    /// Routes restore a port.
    pub(crate) fn restore(&mut self, port: PortIndex) {
        let withdrawn = self.failures.withdrawn.remove(&port);
        assert!(withdrawn, "routes restore a withdrawn port");
    }

    /// Computes the routes without the withdrawn ports.
    pub(crate) fn reroute(&mut self) {
        let withdrawn = &self.failures.withdrawn;
        let edges = edges(&self.ports, &self.owners, |port| !withdrawn.contains(&port));
        self.routes.reroute(&edges);
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
