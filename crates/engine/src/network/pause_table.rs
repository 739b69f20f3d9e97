//! The pauses of a run as a table: a row for each port and priority with any.

use incastle_queueing::{PauseStatistics, Priority, SentPauses, StormStatistics};
use incastle_units::{Bytes, Time};

use super::Network;
use crate::core::{Node, PortIndex};

/// The pauses of one priority at one port, in both directions of its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortPauses {
    /// The port.
    pub port: PortIndex,
    /// The priority.
    pub priority: Priority,
    /// Pauses of the port by the other end of its link, the one in effect included.
    pub received: PauseStatistics,
    /// Pauses of the other end by the port's switch, or by a broken NIC.
    pub sent: SentPauses,
    /// Packets that came in by the port's link and were dropped because headroom was full.
    pub headroom_drops: u64,
    /// Storms at the port, which its watchdog has found.
    pub storms: StormStatistics,
    /// Packets that were dropped in them.
    pub storm_drops: u64,
}

impl Network {
    /// The rows in which anything is not zero, by port, then by priority.
    pub fn pause_table(&self, now: Time) -> Vec<PortPauses> {
        let rows = self.ports().flat_map(|port| {
            let rows = Priority::ALL.map(|priority| self.pauses_at(port, priority, now));
            rows.into_iter().flatten()
        });
        rows.collect()
    }

    /// The pauses of a priority at a port of a switch with priorities, or at a host that was paused.
    pub fn pauses(
        &self,
        port: PortIndex,
        priority: Priority,
        now: Time,
    ) -> Option<PauseStatistics> {
        let receiver = self.ports[port.index()].receiver();
        let of_port = receiver.map(|receiver| receiver.pauses(priority, now));
        of_port.or_else(|| match self.owners[port.index()] {
            Node::Switch(_) => None,
            Node::Host(host) => self.pauses_of_host(host, priority, now),
        })
    }

    /// The most headroom that packets from a port's link have used, at a switch with priorities.
    pub fn max_headroom_used(&self, port: PortIndex) -> Option<Bytes> {
        let Node::Switch(switch) = self.owners[port.index()] else {
            return None;
        };
        let pausing = self.switches[switch.index()].lossless.as_ref()?;
        let number = self.numbers[port.index()] as usize;
        Some(pausing.lossless.memory().max_headroom_used(number))
    }

    fn pauses_at(&self, port: PortIndex, priority: Priority, now: Time) -> Option<PortPauses> {
        let mut row = PortPauses {
            port,
            priority,
            received: self.pauses(port, priority, now).unwrap_or_default(),
            sent: SentPauses::default(),
            headroom_drops: 0,
            storms: StormStatistics::default(),
            storm_drops: 0,
        };
        let nothing = row;
        if let Some(receiver) = self.ports[port.index()].receiver() {
            row.storms = receiver.storms(priority, now);
            row.storm_drops = receiver.dropped(priority);
        }
        match self.owners[port.index()] {
            Node::Switch(switch) => {
                if let Some(pausing) = &self.switches[switch.index()].lossless {
                    let number = self.numbers[port.index()] as usize;
                    row.sent = pausing.lossless.sent(number, priority);
                    row.headroom_drops = pausing.lossless.headroom_drops(number, priority);
                }
            }
            Node::Host(host) => row.sent = self.stormed(host, priority),
        }
        (row != nothing || row.received != PauseStatistics::default()).then_some(row)
    }
}
