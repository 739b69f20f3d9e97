//! The full packets of all flows, headers included: thresholds, quanta and headrooms are compared with them.
//!
//! Leaves out: acknowledgements, and the last packet of a transfer, which may be smaller.

use incastle_units::Bytes;

use crate::language::root::Root;
use crate::language::wire::WireFormat;

/// The sizes of full packets on the wire.
#[derive(Clone, Copy)]
pub(crate) struct PacketSizes {
    pub(crate) least: Bytes,
    pub(crate) greatest: Bytes,
}

impl PacketSizes {
    /// Those of a scenario; absent without flows.
    pub(crate) fn of(root: &Root) -> Option<Self> {
        let full = root.flows.iter().map(|(_, group)| {
            let format = WireFormat::of(&group.transport);
            Bytes::new(format.wire_size(format.payload))
        });
        let (least, greatest) = (full.clone().min()?, full.max()?);
        Some(Self { least, greatest })
    }

    /// The greatest one; nothing without flows.
    pub(crate) fn greatest_of(root: &Root) -> Bytes {
        Self::of(root).map_or(Bytes::ZERO, |sizes| sizes.greatest)
    }
}
