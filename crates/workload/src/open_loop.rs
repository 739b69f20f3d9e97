//! Transfers that begin independently of the network, known before it is simulated.

use incastle_units::{Bytes, Time};

use crate::hosts::HostPair;

/// A workload whose transfers begin at instants independent of the network.
pub(super) trait OpenLoop {
    /// The next one; none when there are no more.
    fn take_next(&mut self) -> Option<Start>;
}

/// A transfer that begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) at: Time,
    pub(super) pair: HostPair,
    pub(super) bytes: Bytes,
}
