//! Cross-partition messages: packets on the links between two partitions, and flows that were
//! released.

use incastle_units::Time;

use crate::core::{FlowIndex, PortIndex};
use crate::network::{Extras, InFlight};

/// The messages from one partition to another.
#[derive(Debug, Default)]
pub struct Messages {
    /// Packets with the ports that sent them; those of a port in the order of their arrivals. What
    /// they carry besides lies in `extras`.
    pub(crate) packets: Vec<(PortIndex, InFlight)>,
    pub(crate) extras: Extras,
    /// Flows that were released, and when.
    pub(crate) released: Vec<(FlowIndex, Time)>,
}

impl Messages {
    /// Adds a packet that stays where it was, with what it carries.
    pub(crate) fn post(&mut self, port: PortIndex, mut flight: InFlight, from: &Extras) {
        flight.packet.copy_extra(from, &mut self.extras);
        self.packets.push((port, flight));
    }

    /// Takes back what a port has sent and what has not arrived by `now`: its link has failed.
    pub(crate) fn take_back(&mut self, port: PortIndex, now: Time) {
        let extras = &mut self.extras;
        self.packets.retain(|(from, flight)| {
            let stays = *from != port || flight.arrives <= now;
            if !stays {
                flight.packet.forget_extra(extras);
            }
            stays
        });
    }

    /// When the first packet arrives.
    pub(crate) fn first_arrival(&self) -> Time {
        let arrivals = self.packets.iter().map(|(_, flight)| flight.arrives);
        arrivals.min().unwrap_or(Time::NEVER)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.released.is_empty()
    }
}
