//! The occupancy of a switch at one instant, as plain data.

use incastle_units::{Bytes, Time};

use crate::core::{PortIndex, SwitchIndex};

/// The memory of a switch, or of one of its ports, at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemorySample {
    /// The instant.
    pub at: Time,
    /// The switch.
    pub switch: SwitchIndex,
    /// The port; absent for the whole switch.
    pub port: Option<PortIndex>,
    /// Bytes stored, packets being sent included.
    pub stored: Bytes,
    /// The limit at that instant, where that is known: a port's threshold, or the memory of the switch.
    pub limit: Option<Bytes>,
}
