//! A memory that all ports of a switch share, with Dynamic Thresholds.
//!
//! Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", IEEE/ACM Transactions on Networking 6(2), 1998. A port may hold at most alpha times
//! the memory that is free. Leaves out: several classes of traffic per port, reserved minimums.

use incastle_units::Bytes;

use crate::DropCause;

/// The memory's books. The engine calls `admit` on arrival and `release` when a packet has left.
#[derive(Debug, Clone)]
pub struct SharedBuffer {
    capacity: Bytes,
    alpha: f64,
    stored: Bytes,
}

impl SharedBuffer {
    /// An empty memory of `capacity` bytes; `alpha` is the ratio of a port's share to free memory.
    pub fn new(capacity: Bytes, alpha: f64) -> Self {
        assert!(alpha > 0.0, "a share of the free memory is above zero");
        Self {
            capacity,
            alpha,
            stored: Bytes::ZERO,
        }
    }

    /// Everything stored at the moment.
    pub const fn stored(&self) -> Bytes {
        self.stored
    }

    /// Takes `size` bytes for a port that holds `held` already, or says why not.
    pub fn admit(&mut self, held: Bytes, size: Bytes) -> Result<(), DropCause> {
        let free = self.capacity.saturating_sub(self.stored);
        if size > free {
            return Err(DropCause::BufferFull);
        }
        if (held + size).count() as f64 > self.alpha * free.count() as f64 {
            return Err(DropCause::SharedLimit);
        }
        self.stored += size;
        Ok(())
    }

    /// Returns `size` bytes.
    pub fn release(&mut self, size: Bytes) {
        self.stored -= size;
    }
}
