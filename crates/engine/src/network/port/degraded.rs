//! A port whose link is degraded: it has departure events, and the fate of each packet is drawn when it has left.

use incastle_links::{DegradedLink, Fate};
use incastle_units::Time;

use super::Port;
use super::exchange::{Departed, Onward, Sent, Wakes};
use crate::layout::{Inserted, Order, Slot};
use crate::network::{InFlight, Packet, Pool};

/// A degraded direction of a link: the fates of its packets, and the order of their arrivals, since a packet may overtake
/// those sent before it.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) link: DegradedLink,
    pub(crate) order: Order,
}

impl Port {
    /// A packet has left the port: it is on the wire now, or lost.
    #[inline(never)]
    pub(crate) fn carry_degraded(
        &mut self,
        sent: &Sent,
        now: Time,
        pool: &mut Pool,
        wire: &mut Wire,
    ) -> Departed {
        let mut wakes = Wakes {
            arrival: None,
            departure: sent.next,
        };
        let (at, overtakes) = match wire
            .link
            .fate(now, self.delay, pool.at(sent.slot).packet.size)
        {
            Fate::Arrives { at, overtakes } => (at, overtakes),
            Fate::Lost(cause) => {
                let packet = &pool.at(sent.slot).packet;
                self.gate.lose_on_wire(now, cause, packet);
                let onward = Onward::Lost(sent.slot, cause);
                return Departed { onward, wakes };
            }
        };
        let arrives = if overtakes {
            at
        } else {
            at.max(self.last_arrival(pool).unwrap_or(at))
        };
        let slot = sent.slot;
        let inserted = self.insert(slot, [now, arrives], pool, wire);
        wakes.arrival = inserted.arrival;
        let onward = Onward::OnLink {
            slot,
            arrives,
            overtaken: inserted.overtaken,
        };
        Departed { onward, wakes }
    }

    /// The arrival of the last packet on the link.
    fn last_arrival(&self, pool: &Pool) -> Option<Time> {
        self.row.first_arrival()?;
        Some(pool.at(self.row.last()).arrives)
    }

    /// Puts a packet on the link, which left the port at the first instant and arrives at the second one.
    fn insert(&mut self, slot: Slot, at: [Time; 2], pool: &mut Pool, wire: &mut Wire) -> Inserted {
        let inserted = wire.order.insert(&mut self.row, slot, at, pool);
        if inserted.overtaken.is_some() {
            self.forget_next_hop();
        }
        inserted
    }

    /// In the receiving partition: a packet is on the link, which left the port at this instant.
    pub(crate) fn take_over_degraded(
        &mut self,
        flight: &InFlight,
        left: Time,
        pool: &mut Pool,
        wire: &mut Wire,
    ) -> Inserted {
        let slot = pool.put(flight.packet);
        self.insert(slot, [left, flight.arrives], pool, wire)
    }

    /// In the receiving partition: the packets that had left the port by `now` are lost.
    pub(crate) fn forget_left(
        &mut self,
        now: Time,
        pool: &mut Pool,
        wire: &mut Wire,
    ) -> Vec<Packet> {
        self.forget_next_hop();
        wire.order.remove_left(&mut self.row, now, pool)
    }
}
