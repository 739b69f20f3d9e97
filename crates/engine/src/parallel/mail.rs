//! What one part of a network has for another: packets on the links between them, and news of flows
//! that are over.

use incastle_units::Time;

use crate::core::{FlowIndex, PortIndex};
use crate::layout::InFlight;
use crate::network::Extras;

/// The mail from one part to another.
#[derive(Debug, Default)]
pub struct Mail {
    /// Packets with the ports that sent them; those of a port in the order of their arrivals. What
    /// they carry besides lies in `extras`.
    pub(super) packets: Vec<(PortIndex, InFlight)>,
    pub(super) extras: Extras,
    /// Flows that were released, and when.
    pub(super) released: Vec<(FlowIndex, Time)>,
}

impl Mail {
    /// Adds a packet that stays where it was, with what it carries.
    pub(super) fn post(&mut self, port: PortIndex, mut flight: InFlight, from: &Extras) {
        flight.packet.copy_extra(from, &mut self.extras);
        self.packets.push((port, flight));
    }

    /// Takes back what a port has sent and what has not arrived by `now`: its link has failed.
    pub(super) fn take_back(&mut self, port: PortIndex, now: Time) {
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
    pub(super) fn first_arrival(&self) -> Time {
        let arrivals = self.packets.iter().map(|(_, flight)| flight.arrives);
        arrivals.min().unwrap_or(Time::NEVER)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.released.is_empty()
    }
}
