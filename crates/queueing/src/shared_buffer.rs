//! A memory that all ports of a switch share, with Dynamic Thresholds.
//!
//! Source: Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
//! switches", IEEE/ACM Transactions on Networking 6(2), 1998. A port may hold at most alpha times
//! the memory that is free. Leaves out: several classes of traffic per port, reserved minimums,
//! cells.

use incastle_units::Bytes;

use crate::DropCause;
use crate::alpha::Alpha;

/// The parameters of a [`SharedBuffer`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedBufferConfig {
    /// The memory of the whole switch.
    pub capacity: Bytes,
    /// The ratio of one port's limit to the free memory.
    pub alpha: f64,
}

impl SharedBufferConfig {
    /// alpha_DT of the switches of Alizadeh et al. 2010, where one busy port gets about 700 KB of
    /// 4 MB: 0.21 / 1.21 * 4 MB = 694 KB.
    pub const DEFAULT_ALPHA: f64 = 0.21;

    /// Whether the parameters make sense.
    pub fn check(&self) -> Result<(), SharedBufferError> {
        if self.capacity == Bytes::ZERO {
            return Err(SharedBufferError::NoCapacity);
        }
        if !Alpha::is_valid(self.alpha) {
            return Err(SharedBufferError::Alpha(self.alpha));
        }
        Ok(())
    }
}

/// An error in a [`SharedBufferConfig`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SharedBufferError {
    /// A memory of no bytes.
    #[error("a shared memory must hold more than 0 bytes")]
    NoCapacity,
    /// Not a ratio.
    #[error("`alpha` of a shared memory must be above 0 and at most 1000000, not {0}")]
    Alpha(f64),
}

/// The memory's accounting. The engine calls `admit` on arrival and `release` when a packet has
/// left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedBuffer {
    capacity: Bytes,
    alpha: Alpha,
    stored: Bytes,
    max_stored: Bytes,
}

impl SharedBuffer {
    /// An empty memory of `capacity` bytes; `alpha`, rounded to a billionth, is the ratio of a
    /// port's share to free memory. Both must pass [`SharedBufferConfig::check`].
    pub fn new(capacity: Bytes, alpha: f64) -> Self {
        let checked = SharedBufferConfig { capacity, alpha }.check();
        assert_eq!(checked, Ok(()), "a shared memory's parameters were checked");
        Self {
            capacity,
            alpha: Alpha::new(alpha),
            stored: Bytes::ZERO,
            max_stored: Bytes::ZERO,
        }
    }

    /// Everything stored at the moment.
    pub const fn stored(&self) -> Bytes {
        self.stored
    }

    /// The most that was ever stored.
    pub const fn max_stored(&self) -> Bytes {
        self.max_stored
    }

    /// The memory of the whole switch.
    pub const fn capacity(&self) -> Bytes {
        self.capacity
    }

    /// The current limit of one port: whole bytes of alpha times the free memory.
    pub fn threshold(&self) -> Bytes {
        self.alpha.of(self.free())
    }

    /// The memory that is free now.
    pub const fn free(&self) -> Bytes {
        self.capacity.saturating_sub(self.stored)
    }

    /// Takes `size` bytes for a port that holds `held` already, or returns why not.
    ///
    /// In the source a queue that has reached alpha times the free memory accepts no more cells.
    /// Packets are larger: here the packet itself must stay within the threshold, which is computed
    /// before it is stored; reaching it exactly is allowed.
    #[inline]
    pub fn admit(&mut self, held: Bytes, size: Bytes) -> Result<(), DropCause> {
        let free = self.free();
        if size > free {
            return Err(DropCause::BufferFull);
        }
        if !self.alpha.admits(held + size, free) {
            return Err(DropCause::SharedLimit);
        }
        self.stored += size;
        self.max_stored = self.max_stored.max(self.stored);
        Ok(())
    }

    /// Returns `size` bytes.
    #[inline]
    pub fn release(&mut self, size: Bytes) {
        self.stored -= size;
    }
}
