//! Links that fail and recover at given instants.
//!
//! A direction of a link that fails loses the packets in its port and on the wire, and then every packet offered. The
//! switches' routes withdraw it once they have *converged*, all at the same instant, a given time later; likewise when
//! it recovers. Leaves out: the detection of a failure (carrier, BFD), the messages and the order in which real routers
//! converge, local repair, links with partial loss.

use std::collections::{BTreeMap, BTreeSet};

use incastle_queueing::PortBuffer;
use incastle_units::{Span, Time};

/// A change of a direction of a link, which `P` identifies by its port. At one instant links fail first, and routes change last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkChange<P> {
    /// It fails.
    Down(P),
    /// It recovers.
    Up(P),
    /// Routes withdraw it.
    Withdraw(P),
    /// Routes restore it.
    Restore(P),
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
struct Timed<P> {
    at: Time,
    change: LinkChange<P>,
}

/// All changes of a run, in order.
#[derive(Debug)]
pub struct Failures<P> {
    changes: Vec<Timed<P>>,
    /// The number of past changes.
    past: usize,
    /// The buffers of ports that are down.
    pub buffers: BTreeMap<P, PortBuffer>,
    /// The ports that routes have withdrawn.
    withdrawn: BTreeSet<P>,
}

impl<P: Copy + Ord> Failures<P> {
    /// The outages of each port.
    pub fn new(ports: &BTreeMap<P, Vec<Outage>>, convergence: Span) -> Self {
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
                    (from, LinkChange::Down(port)),
                    (from.saturating_add(convergence), LinkChange::Withdraw(port)),
                    (until, LinkChange::Up(port)),
                    (until.saturating_add(convergence), LinkChange::Restore(port)),
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
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The instant of the next change, if there is one.
    pub fn next(&self) -> Option<Time> {
        Some(self.changes.get(self.past)?.at)
    }

    /// Takes the next change, if it is due now.
    pub fn take(&mut self, now: Time) -> Option<LinkChange<P>> {
        let Timed { at, change } = *self.changes.get(self.past)?;
        (at <= now).then(|| {
            assert!(at == now, "a link changes at its event");
            self.past += 1;
            change
        })
    }

    /// Routes withdraw a port.
    pub fn withdraw(&mut self, port: P) {
        let new = self.withdrawn.insert(port);
        assert!(new, "routes withdraw a port once");
    }

    /// Routes restore a port.
    pub fn restore(&mut self, port: P) {
        let withdrawn = self.withdrawn.remove(&port);
        assert!(withdrawn, "routes restore a withdrawn port");
    }

    /// Whether routes have withdrawn a port.
    pub fn has_withdrawn(&self, port: P) -> bool {
        self.withdrawn.contains(&port)
    }
}
