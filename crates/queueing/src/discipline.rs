//! The list of queue disciplines.

use incastle_units::{Bytes, Packets};
use rand_core::Rng;

use crate::verdict::{Arrival, Discipline, QueueState, Verdict};
use crate::{DoubleThreshold, DropTail, LinearMarker, Red, Threshold};

/// Any discipline, dispatched by a match on the hot path.
pub enum Marker {
    /// No marking; the buffer alone drops.
    DropTail(DropTail),
    /// Marking above an instantaneous threshold.
    Threshold(Threshold),
    /// Marking from one threshold to another. Behind a pointer, as RED: ports are small.
    DoubleThreshold(Box<DoubleThreshold>),
    /// Marking with a probability that grows with the instantaneous queue.
    Linear(Box<LinearMarker>),
    /// Random early detection.
    Red(Box<Red>),
    /// A discipline from outside this crate.
    Custom(Box<dyn Discipline>),
}

impl Marker {
    /// The longest queue in front of a packet that is certainly admitted, unmarked, and not
    /// remembered; absent where every arrival counts.
    pub fn indifferent_up_to(&self) -> Option<(Packets, Bytes)> {
        match self {
            Self::DropTail(_) => Some((Packets::MAX, Bytes::MAX)),
            Self::Threshold(discipline) => Some(discipline.limits()),
            Self::Linear(discipline) => Some((Packets::MAX, discipline.k_min())),
            Self::DoubleThreshold(_) | Self::Red(_) | Self::Custom(_) => None,
        }
    }

    /// The longest queue in front of a packet that is not certainly marked: above, every ECN-capable packet is, and
    /// nothing else changes. Absent where there is no such limit.
    pub fn certain_above(&self) -> Option<(Packets, Bytes)> {
        match self {
            Self::Threshold(discipline) => Some(discipline.limits()),
            Self::Linear(discipline) => Some((Packets::MAX, discipline.k_max())),
            Self::DropTail(_) | Self::DoubleThreshold(_) | Self::Red(_) | Self::Custom(_) => None,
        }
    }
}

impl Discipline for Marker {
    #[inline(always)]
    fn on_arrival(&mut self, queue: &QueueState, packet: &Arrival, rng: &mut dyn Rng) -> Verdict {
        match self {
            Self::DropTail(discipline) => discipline.on_arrival(queue, packet, rng),
            Self::Threshold(discipline) => discipline.on_arrival(queue, packet, rng),
            Self::DoubleThreshold(discipline) => discipline.on_arrival(queue, packet, rng),
            Self::Linear(discipline) => discipline.on_arrival(queue, packet, rng),
            Self::Red(discipline) => discipline.on_arrival(queue, packet, rng),
            Self::Custom(discipline) => discipline.on_arrival(queue, packet, rng),
        }
    }

    fn on_refused(&mut self, queue: &QueueState, packet: &Arrival) {
        match self {
            Self::DropTail(discipline) => discipline.on_refused(queue, packet),
            Self::Threshold(discipline) => discipline.on_refused(queue, packet),
            Self::DoubleThreshold(discipline) => discipline.on_refused(queue, packet),
            Self::Linear(discipline) => discipline.on_refused(queue, packet),
            Self::Red(discipline) => discipline.on_refused(queue, packet),
            Self::Custom(discipline) => discipline.on_refused(queue, packet),
        }
    }
}
