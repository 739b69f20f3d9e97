//! Cross-partition messages: packets on the links between two partitions, flows that were released, and notes of pauses.

use std::mem::take;

use incastle_queueing::Noted;
use incastle_units::Time;

use crate::core::{FlowIndex, PortIndex};
use crate::network::{EgressQueue, Extras, ExtrasInOrder, InFlight};

/// The messages from one partition to another.
#[derive(Debug, Default)]
pub struct Messages {
    /// Packets; those of a port in the order in which they left it.
    pub(crate) packets: Vec<Crossing>,
    /// Extras of `packets`, in their order.
    pub(crate) extras: ExtrasInOrder,
    pub(crate) released: Vec<Release>,
    /// For the first partition.
    pub(crate) pauses: Vec<Noted<EgressQueue>>,
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
    pub(crate) fn post(&mut self, crossing: Crossing, from: &Extras) {
        // Changed in its place: a copy of what has just been changed would wait for all writes before it, and those
        // go to cache lines of another core.
        self.packets.push(crossing);
        if let Some(posted) = self.packets.last_mut() {
            self.extras.push(&mut posted.flight.packet, from);
        }
    }

    /// Takes back the packets of a port that have not arrived by `now`: its link has failed.
    pub(crate) fn take_back(&mut self, port: PortIndex, now: Time) {
        let (packets, mut extras) = (take(&mut self.packets), take(&mut self.extras));
        let mut arena = Extras::default();
        for mut crossing in packets {
            extras.pop(&mut crossing.flight.packet, &mut arena);
            if crossing.port != port || crossing.flight.arrives <= now {
                self.post(crossing, &arena);
            }
        }
    }

    /// The first arrival.
    pub(crate) fn first_arrival(&self) -> Time {
        let arrivals = self.packets.iter().map(|crossing| crossing.flight.arrives);
        arrivals.min().unwrap_or(Time::NEVER)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty() && self.released.is_empty() && self.pauses.is_empty()
    }
}
