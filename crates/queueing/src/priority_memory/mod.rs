//! The memory of a switch with priorities: PFC's ingress accounts, and egress accounts of lossy priorities.
//!
//! Sources: IEEE 802.1Q, clause 36 (PFC); the accounting is that of HPCC's simulator
//! (alibaba-edu/High-Precision-Congestion-Control, switch-mmu.cc), whose deviations are options. Every packet has an
//! ingress account (where it came in) and an egress account (where it leaves); memory is shared between all ingress
//! accounts. As there, a pause is considered when a packet of the account is stored, a resume when one is released.
//! Leaves out: cells, reserves of egress queues and of lossy priorities, several pools, multicast.

mod config;
mod egress;
mod ingress;

use incastle_units::Bytes;

pub use config::{
    AccountingOptions, CrossingPacket, CutPackets, HeadroomScope, IngressPortConfig,
    PauseThreshold, PriorityMemoryConfig, PriorityMemoryError, ReserveRule, ThresholdArithmetic,
};
pub use ingress::IngressAccount;

use crate::{DropCause, Priority, PrioritySet};
use egress::Egress;
use ingress::Ingress;

/// A packet's accounts and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passage {
    /// The port where it came in.
    pub ingress: usize,
    /// The port where it leaves.
    pub egress: usize,
    /// Its priority.
    pub priority: Priority,
    /// Its size.
    pub size: Bytes,
}

/// The memory that takes a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// None is counted.
    Uncounted,
    /// The reserve of its account.
    Reserve,
    /// Shared memory, with a part in the reserve where that has room.
    Shared,
    /// The headroom of its ingress port.
    Headroom,
}

/// A change of an ingress account that its peer has to learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseTransition {
    /// The account has reached XOFF.
    Pause,
    /// The account has fallen to XON.
    Resume,
}

/// A packet that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stored {
    /// The memory that takes it.
    pub placement: Placement,
    /// `Pause` where its account has reached XOFF with it.
    pub transition: Option<PauseTransition>,
}

/// The memory.
#[derive(Debug, Clone)]
pub struct PriorityMemory {
    uncounted: PrioritySet,
    ingress: Ingress,
    egress: Egress,
    stored: Bytes,
    max_stored: Bytes,
    cut: CutPackets,
}

impl PriorityMemory {
    /// An empty memory. The configuration must pass [`PriorityMemoryConfig::check`].
    pub fn new(config: &PriorityMemoryConfig) -> Self {
        assert_eq!(
            config.check(),
            Ok(()),
            "the memory's parameters were checked"
        );
        Self {
            uncounted: config.uncounted,
            ingress: Ingress::new(config),
            egress: Egress::new(config),
            stored: Bytes::ZERO,
            max_stored: Bytes::ZERO,
            cut: config.options.cut,
        }
    }

    /// Stores an arriving packet, or returns why it is dropped.
    pub fn admit(&mut self, packet: &Passage) -> Result<Stored, DropCause> {
        let Passage {
            ingress,
            egress,
            priority,
            size,
        } = *packet;
        if self.uncounted.contains(priority) {
            return Ok(Stored {
                placement: Placement::Uncounted,
                transition: None,
            });
        }
        let free = self.ingress.free();
        let placement = self.ingress.place(ingress, priority, size)?;
        self.egress.check(egress, priority, size, free)?;
        self.egress.store(egress, priority, size);
        self.stored += size;
        self.max_stored = self.max_stored.max(self.stored);
        Ok(Stored {
            placement,
            transition: self.ingress.store(ingress, priority, size, placement),
        })
    }

    /// Stores an arriving packet if that certainly pauses nobody, takes no headroom and makes no new maximum; returns
    /// whether it has. The accounts may still have packets that have left.
    pub fn admit_calmly(&mut self, packet: &Passage) -> bool {
        let Passage {
            ingress,
            egress,
            priority,
            size,
        } = *packet;
        if self.uncounted.contains(priority) {
            return true;
        }
        let stored = self.stored + size;
        let certain = stored <= self.max_stored
            && self
                .egress
                .check(egress, priority, size, self.ingress.free())
                .is_ok()
            && self.ingress.store_calmly(ingress, priority, size);
        if certain {
            self.egress.store(egress, priority, size);
            self.stored = stored;
        }
        certain
    }

    /// Whether more packets in its accounts never mean that one more fits: without the deviations of HPCC's simulator.
    pub fn is_monotonic(&self) -> bool {
        self.ingress.is_monotonic()
    }

    /// Whether no peer is paused.
    pub const fn is_calm(&self) -> bool {
        self.ingress.is_calm()
    }

    /// An admitted packet has left; returns `Resume` where its ingress account has fallen to XON.
    pub fn release(&mut self, packet: &Passage) -> Option<PauseTransition> {
        let Passage {
            ingress,
            egress,
            priority,
            size,
        } = *packet;
        if self.uncounted.contains(priority) {
            return None;
        }
        self.egress.release(egress, priority, size);
        self.stored -= size;
        self.ingress.release(ingress, priority, size)
    }

    /// An admitted packet is lost with the link that it waited for; returns as [`Self::release`] does.
    pub fn cut(&mut self, packet: &Passage) -> Option<PauseTransition> {
        match self.cut {
            CutPackets::Released => return self.release(packet),
            CutPackets::Kept if self.counts(packet.priority) => self.stored -= packet.size,
            CutPackets::Kept => {}
        }
        None
    }

    /// Whether packets of a priority take memory.
    pub const fn counts(&self, priority: Priority) -> bool {
        !self.uncounted.contains(priority)
    }

    /// The account of a priority at an ingress port.
    pub fn ingress(&self, port: usize, priority: Priority) -> IngressAccount {
        self.ingress.account(port, priority)
    }

    /// The bytes of a priority for an egress port.
    pub fn egress(&self, port: usize, priority: Priority) -> Bytes {
        self.egress.stored(port, priority)
    }

    /// The most that a paused account of an ingress port may store outside headroom now, while the shared memory has
    /// room.
    pub fn ingress_limit(&self, port: usize) -> Bytes {
        self.ingress.limit(port)
    }

    /// The most that a paused account of an ingress port may store, headroom empty, to be resumed now.
    pub fn resume_level(&self, port: usize) -> Bytes {
        self.ingress.resume_level(port)
    }

    /// Shared memory that is free.
    pub fn free(&self) -> Bytes {
        self.ingress.free()
    }

    /// Shared memory in use.
    pub const fn shared_used(&self) -> Bytes {
        self.ingress.shared_used()
    }

    /// All packets inside at the moment that are counted.
    pub const fn stored(&self) -> Bytes {
        self.stored
    }

    /// The most that was ever counted.
    pub const fn max_stored(&self) -> Bytes {
        self.max_stored
    }

    /// The most headroom of a port that was ever in use.
    pub fn max_headroom_used(&self, port: usize) -> Bytes {
        self.ingress.max_headroom_used(port)
    }

    /// The link of a port has failed, and its peer is paused no more: the next packet that is stored above XOFF pauses
    /// it again.
    pub fn forget_pauses(&mut self, port: usize) {
        self.ingress.forget_pauses(port);
    }
}
