//! Transfers that begin whatever happens in the network: known before it is simulated.

use incastle_units::{Bytes, Time};

use crate::hosts::HostPair;

/// A workload whose transfers begin at instants of their own.
pub(super) trait OpenLoop {
    /// The next one; none when there are no more.
    fn take_next(&mut self) -> Option<Start>;
}

/// What begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) at: Time,
    pub(super) pair: HostPair,
    pub(super) bytes: Bytes,
}
