//! The full packets of all flows, headers included: thresholds, quanta and headrooms are compared with them.
//!
//! Leaves out: acknowledgements, and the last packet of a transfer, which may be smaller.

use incastle_units::Bytes;

use crate::language::root::Root;
use crate::language::transport::Transport;
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
        let full = |extended: bool| {
            root.flows.iter().map(move |(_, group)| {
                let format = WireFormat::of(&group.transport);
                let extension = extended_header(&group.transport, root);
                let extension = if extended { extension } else { 0 };
                Bytes::new(format.wire_size(format.payload + extension))
            })
        };
        Some(Self {
            least: full(false).min()?,
            greatest: full(true).max()?,
        })
    }

    /// The greatest one; nothing without flows.
    pub(crate) fn greatest_of(root: &Root) -> Bytes {
        Self::of(root).map_or(Bytes::ZERO, |sizes| sizes.greatest)
    }
}

/// Bytes of the largest header that some full packets have in addition to that of all.
pub(crate) fn extended_header(transport: &Transport, root: &Root) -> u64 {
    let rdma = transport.rdma();
    rdma.map_or(0, |rdma| rdma.extended_header(root.run.compat))
}
