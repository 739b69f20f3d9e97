//! Prefetch hints for probes that keep data by port or by host.
//!
//! Leaves out: the prefetch instruction, which is in incastle-memory.

use crate::core::{HostIndex, PortIndex};

/// The part of a queue's data that a hint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueuePart {
    /// Its beginning, some events ahead.
    Head,
    /// The bin of its present length, a few events ahead.
    Bin,
}

/// Takes hints and may prefetch; by default it ignores them.
pub trait PrefetchHints {
    /// The queue of a port is about to change.
    fn prefetch_queue(&self, _port: PortIndex, _part: QueuePart) {}

    /// A packet is about to reach a host.
    fn prefetch_host(&self, _host: HostIndex) {}
}
