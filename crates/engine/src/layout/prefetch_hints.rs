//! What is about to be needed: hints for those who keep data by port or by host.
//!
//! Leaves out: the prefetch itself, which is incastle-prefetch's.

use crate::core::{HostIndex, PortIndex};

/// Takes hints and may prefetch what it needs; by default it ignores them.
pub trait PrefetchHints {
    /// The queue of a port is about to change, in some events or, where it is `near`, in a few.
    fn prefetch_queue(&self, _port: PortIndex, _near: bool) {}

    /// A packet is about to reach a host.
    fn prefetch_host(&self, _host: HostIndex) {}
}
