//! Cross-partition messages: packets on the links between two partitions, and flows that were
//! released.

use incastle_units::Time;

use crate::core::{FlowIndex, PortIndex};
use crate::network::{Extras, InFlight};

/// The messages from one partition to another.
#[derive(Debug, Default)]
pub struct Messages {
    /// Packets; those of a port in the order in which they left it. Their extras are in `extras`.
    pub(crate) packets: Vec<Crossing>,
    pub(crate) extras: Extras,
    pub(crate) released: Vec<Release>,
}

/// A packet on a link between two partitions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crossing {
    /// The port that sent it.
    pub(crate) port: PortIndex,
    pub(crate) flight: InFlight,
    /// When it left that port.
    pub(crate) left: Time,
}

/// The release of a flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release {
    pub(crate) flow: FlowIndex,
    pub(crate) at: Time,
}

impl Messages {
    /// Adds a copy of a packet, with its extras.
    pub(crate) fn post(&mut self, mut crossing: Crossing, from: &Extras) {
        crossing.flight.packet.copy_extra(from, &mut self.extras);
        self.packets.push(crossing);
    }

    /// Takes back the packets of a port that have not arrived by `now`: its link has failed.
    pub(crate) fn take_back(&mut self, port: PortIndex, now: Time) {
        let extras = &mut self.extras;
        self.packets.retain(|crossing| {
            let stays = crossing.port != port || crossing.flight.arrives <= now;
            if !stays {
                crossing.flight.packet.forget_extra(extras);
            }
            stays
        });
    }

    /// The first arrival.
    pub(crate) fn first_arrival(&self) -> Time {
        let arrivals = self.packets.iter().map(|crossing| crossing.flight.arrives);
        arrivals.min().unwrap_or(Time::NEVER)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.released.is_empty()
    }
}
