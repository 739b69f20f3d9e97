//! The parameters of the memory of a switch with priorities.

use incastle_units::Bytes;

use crate::alpha::Alpha;
use crate::{Priority, PrioritySet};

/// The parameters of a [`PriorityMemory`](crate::PriorityMemory).
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityMemoryConfig {
    /// The memory of the whole switch.
    pub capacity: Bytes,
    /// The priorities that PFC protects from drops. All others are lossy.
    pub lossless: PrioritySet,
    /// Priorities that take no memory: control frames.
    pub uncounted: PrioritySet,
    /// Memory that each lossless priority of each ingress port has for itself.
    pub reserve: Bytes,
    /// alpha_e: the limit of a lossy priority at an egress port, as a multiple of the free shared memory.
    pub egress_alpha: f64,
    /// The ports, by their numbers.
    pub ports: Vec<IngressPortConfig>,
    /// Deviations from the accounting described in `priority_memory`.
    pub options: AccountingOptions,
}

/// The parameters of an ingress port.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IngressPortConfig {
    /// Memory for the packets that arrive after a pause was sent, of all its lossless priorities together.
    pub headroom: Bytes,
    /// When its priorities are paused.
    pub threshold: PauseThreshold,
}

/// When the peer is paused and resumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PauseThreshold {
    /// By the bytes of the account, those in headroom excluded.
    Static {
        /// Paused from here on.
        xoff: Bytes,
        /// Resumed down from here.
        xon: Bytes,
    },
    /// By the bytes of the account above its reserve, those in headroom excluded.
    Dynamic {
        /// Paused from this multiple of the free shared memory on.
        alpha: f64,
        /// Resumed this far below.
        resume_offset: Bytes,
    },
}

/// Facts of HPCC's simulator in which it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccountingOptions {
    /// The arithmetic of the free shared memory.
    pub arithmetic: ThresholdArithmetic,
    /// The unit that fills a headroom.
    pub headroom: HeadroomScope,
    /// The worth of a reserve.
    pub reserve: ReserveRule,
    /// The memory of a packet that exceeds the threshold before its account is paused.
    pub crossing: CrossingPacket,
    /// The accounts of packets in the queue of a link that fails.
    pub cut: CutPackets,
}

impl AccountingOptions {
    /// The facts of HPCC's simulator.
    pub const HPCC_NS3: Self = Self {
        arithmetic: ThresholdArithmetic::Wrapping32,
        headroom: HeadroomScope::Priority,
        reserve: ReserveRule::OncePerPort,
        crossing: CrossingPacket::Headroom,
        cut: CutPackets::Kept,
    };
}

/// The arithmetic of the free shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ThresholdArithmetic {
    /// Never below zero.
    #[default]
    Exact,
    /// Unsigned, of 32 bits: where headrooms and reserves exceed the capacity it is above a billion bytes.
    Wrapping32,
}

/// The unit that fills a headroom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeadroomScope {
    /// All lossless priorities of the port together.
    #[default]
    Port,
    /// Each priority alone may fill it: together they may exceed it.
    Priority,
}

/// The worth of a reserve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReserveRule {
    /// Each lossless priority of each port has it, and finds room in it.
    #[default]
    Guaranteed,
    /// Each priority uses it, but it is subtracted from the shared memory once per port. A packet that is larger than
    /// threshold and headroom is dropped even where it fits in the reserve.
    OncePerPort,
}

/// The memory of a packet that exceeds the threshold before its account is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CrossingPacket {
    /// Shared memory, where that has room: headroom takes what arrives after the pause was sent.
    #[default]
    Shared,
    /// Headroom, which must be larger by one packet.
    Headroom,
}

/// The accounts of packets in the queue of a link that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CutPackets {
    /// They leave them.
    #[default]
    Released,
    /// They stay in them for ever: `QbbNetDevice::TakeDown` empties the queue without its memory.
    Kept,
}

/// An error in a [`PriorityMemoryConfig`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum PriorityMemoryError {
    /// Headrooms and reserves take everything.
    #[error(
        "the headrooms and reserves of all ports take {taken} bytes of {capacity}: nothing is left to share"
    )]
    NoShared {
        /// Their sum.
        taken: u64,
        /// The memory of the switch.
        capacity: u64,
    },
    /// Not a ratio.
    #[error("alpha must be above 0 and at most 1000000, not {0}")]
    Alpha(f64),
    /// The thresholds are in the wrong order.
    #[error("XON must not be above XOFF, and XOFF not below the reserve")]
    Thresholds,
    /// A priority that PFC protects cannot be without accounting.
    #[error("priority {0} is both lossless and uncounted")]
    UncountedLossless(Priority),
}

impl PriorityMemoryConfig {
    /// Whether the parameters make sense together.
    pub fn check(&self) -> Result<(), PriorityMemoryError> {
        let both = self.lossless.intersection(self.uncounted).highest();
        if let Some(priority) = both {
            return Err(PriorityMemoryError::UncountedLossless(priority));
        }
        if !Alpha::is_valid(self.egress_alpha) {
            return Err(PriorityMemoryError::Alpha(self.egress_alpha));
        }
        for port in &self.ports {
            match port.threshold {
                PauseThreshold::Static { xoff, xon } if xon > xoff || xoff < self.reserve => {
                    return Err(PriorityMemoryError::Thresholds);
                }
                PauseThreshold::Dynamic { alpha, .. } if !Alpha::is_valid(alpha) => {
                    return Err(PriorityMemoryError::Alpha(alpha));
                }
                PauseThreshold::Static { .. } | PauseThreshold::Dynamic { .. } => {}
            }
        }
        let taken = self.set_apart();
        if self.options.arithmetic == ThresholdArithmetic::Exact && taken >= self.capacity {
            return Err(PriorityMemoryError::NoShared {
                taken: taken.count(),
                capacity: self.capacity.count(),
            });
        }
        Ok(())
    }

    /// The headrooms and reserves of all ports: memory that is not shared.
    pub fn set_apart(&self) -> Bytes {
        let reserves = match self.options.reserve {
            ReserveRule::Guaranteed => self.lossless.count(),
            ReserveRule::OncePerPort => 1,
        };
        let headrooms = self.ports.iter().map(|port| port.headroom);
        let reserves = std::iter::repeat_n(self.reserve, reserves * self.ports.len());
        let parts = headrooms.chain(reserves);
        parts.fold(Bytes::ZERO, Bytes::saturating_add)
    }
}
