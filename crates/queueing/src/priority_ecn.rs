//! ECN for each priority of a port: a marker or none, judged when packets are stored or when their sending begins.
//!
//! The queue is that of the packet's own priority, without the packet. HPCC's simulator judges at dequeue and never marks
//! queue 0. Leaves out: marking by the queues of several priorities or ports together.

use crate::{LinearMarker, LinearMarkerConfig, LinearMarkerError, Priority, PrioritySet};

/// When a packet is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MarkAt {
    /// When it is stored, by the bytes in front of it.
    #[default]
    Enqueue,
    /// When its sending begins, by the bytes behind it.
    Dequeue,
}

/// The parameters of [`PriorityEcn`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PriorityEcnConfig {
    /// Absent where nothing is marked.
    pub markers: [Option<LinearMarkerConfig>; Priority::COUNT],
    /// When packets are judged.
    pub at: MarkAt,
}

impl PriorityEcnConfig {
    /// HPCC's simulator: one marker for all priorities but 0, at dequeue.
    pub fn hpcc_ns3(marker: LinearMarkerConfig) -> Self {
        let mut markers = [Some(marker); Priority::COUNT];
        markers[Priority::ZERO.index()] = None;
        Self {
            markers,
            at: MarkAt::Dequeue,
        }
    }

    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), LinearMarkerError> {
        let mut markers = self.markers.iter().flatten();
        markers.try_for_each(LinearMarkerConfig::check)
    }
}

/// The markers of one port. They lie apart: most priorities have none.
#[derive(Debug, Clone)]
pub struct PriorityEcn {
    /// The priorities with a marker.
    marked: PrioritySet,
    at: MarkAt,
    markers: Box<[Option<LinearMarker>; Priority::COUNT]>,
}

impl PriorityEcn {
    /// The configuration must pass [`PriorityEcnConfig::check`].
    pub fn new(config: &PriorityEcnConfig) -> Self {
        let mut marked = PrioritySet::EMPTY;
        for priority in Priority::ALL {
            if config.markers[priority.index()].is_some() {
                marked.insert(priority);
            }
        }
        let markers = config.markers.map(|marker| marker.map(LinearMarker::new));
        Self {
            marked,
            at: config.at,
            markers: Box::new(markers),
        }
    }

    /// The marker that judges packets of this priority at this moment of their stay.
    #[inline]
    pub fn marker(&self, at: MarkAt, priority: Priority) -> Option<&LinearMarker> {
        if at == self.at && self.marked.contains(priority) {
            self.markers[priority.index()].as_ref()
        } else {
            None
        }
    }
}
