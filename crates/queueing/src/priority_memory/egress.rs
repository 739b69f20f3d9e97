//! The egress accounts of a switch: bytes for each port and priority.
//!
//! A lossy priority is limited by a Dynamic Threshold (see `shared_buffer`), as the packet must stay within alpha times
//! the memory that is free before. A lossless priority has no limit here: PFC stops it at the ingress.

use incastle_units::Bytes;

use super::PriorityMemoryConfig;
use crate::alpha::Alpha;
use crate::{DropCause, Priority, PrioritySet};

/// The accounts.
#[derive(Debug, Clone)]
pub(super) struct Egress {
    lossless: PrioritySet,
    alpha: Alpha,
    ports: Vec<[Bytes; Priority::COUNT]>,
}

impl Egress {
    pub(super) fn new(config: &PriorityMemoryConfig) -> Self {
        Self {
            lossless: config.lossless,
            alpha: Alpha::new(config.egress_alpha),
            ports: vec![[Bytes::ZERO; Priority::COUNT]; config.ports.len()],
        }
    }

    pub(super) fn stored(&self, port: usize, priority: Priority) -> Bytes {
        self.ports[port][priority.index()]
    }

    /// Whether the account has room while `free` bytes of shared memory are free.
    pub(super) fn check(
        &self,
        port: usize,
        priority: Priority,
        size: Bytes,
        free: Bytes,
    ) -> Result<(), DropCause> {
        let after = self.stored(port, priority) + size;
        if self.lossless.contains(priority) || self.alpha.admits(after, free) {
            Ok(())
        } else {
            Err(DropCause::SharedLimit)
        }
    }

    pub(super) fn store(&mut self, port: usize, priority: Priority, size: Bytes) {
        self.ports[port][priority.index()] += size;
    }

    pub(super) fn release(&mut self, port: usize, priority: Priority, size: Bytes) {
        self.ports[port][priority.index()] -= size;
    }
}
