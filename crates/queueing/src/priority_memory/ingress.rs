//! The ingress accounts of a switch: one for each port and priority, with reserve, shared memory and headroom.
//!
//! Headroom is for the packets that arrive after a pause was sent: an account that is not paused stores its packets in its
//! reserve and in shared memory, the one included that reaches the threshold. Then 802.1Q's headroom suffices. The order of a
//! release is headroom first, as in HPCC's simulator: the account is then above its threshold no longer than its bytes are.

use incastle_units::Bytes;

use super::{
    AccountingOptions, CrossingPacket, HeadroomScope, IngressPortConfig, PauseThreshold,
    PauseTransition, Placement, PriorityMemoryConfig, ReserveRule, ThresholdArithmetic,
};
use crate::alpha::Alpha;
use crate::{DropCause, Priority, PrioritySet};

/// The bytes of one priority that came in at one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IngressAccount {
    /// Bytes in the reserve and in shared memory.
    pub stored: Bytes,
    /// Bytes in headroom.
    pub headroom: Bytes,
    /// Whether the peer is paused.
    pub paused: bool,
}

#[derive(Debug, Clone)]
enum Threshold {
    Static { xoff: Bytes, xon: Bytes },
    Dynamic { alpha: Alpha, resume_offset: Bytes },
}

#[derive(Debug, Clone)]
struct IngressPort {
    headroom: Bytes,
    threshold: Threshold,
    accounts: [IngressAccount; Priority::COUNT],
    /// The sum of the accounts.
    headroom_used: Bytes,
    max_headroom_used: Bytes,
}

impl IngressPort {
    fn new(config: &IngressPortConfig) -> Self {
        Self {
            headroom: config.headroom,
            threshold: match config.threshold {
                PauseThreshold::Static { xoff, xon } => Threshold::Static { xoff, xon },
                PauseThreshold::Dynamic {
                    alpha,
                    resume_offset,
                } => Threshold::Dynamic {
                    alpha: Alpha::new(alpha),
                    resume_offset,
                },
            },
            accounts: [IngressAccount::default(); Priority::COUNT],
            headroom_used: Bytes::ZERO,
            max_headroom_used: Bytes::ZERO,
        }
    }
}

/// The accounts.
#[derive(Debug, Clone)]
pub(super) struct Ingress {
    ports: Vec<IngressPort>,
    lossless: PrioritySet,
    reserve: Bytes,
    options: AccountingOptions,
    capacity: Bytes,
    set_apart: Bytes,
    shared_used: Bytes,
    /// Accounts whose peer is paused.
    paused: usize,
}

impl Ingress {
    pub(super) fn new(config: &PriorityMemoryConfig) -> Self {
        Self {
            ports: config.ports.iter().map(IngressPort::new).collect(),
            lossless: config.lossless,
            reserve: config.reserve,
            options: config.options,
            capacity: config.capacity,
            set_apart: config.set_apart(),
            shared_used: Bytes::ZERO,
            paused: 0,
        }
    }

    pub(super) fn is_monotonic(&self) -> bool {
        self.options.arithmetic == ThresholdArithmetic::Exact
            && self.options.reserve != ReserveRule::OncePerPort
    }

    /// Whether no peer is paused.
    pub(super) const fn is_calm(&self) -> bool {
        self.paused == 0
    }

    pub(super) fn account(&self, port: usize, priority: Priority) -> IngressAccount {
        self.ports[port].accounts[priority.index()]
    }

    pub(super) fn max_headroom_used(&self, port: usize) -> Bytes {
        self.ports[port].max_headroom_used
    }

    /// Bytes of shared memory in use.
    pub(super) const fn shared_used(&self) -> Bytes {
        self.shared_used
    }

    /// Shared memory that is free.
    pub(super) fn free(&self) -> Bytes {
        match self.options.arithmetic {
            ThresholdArithmetic::Exact => self
                .capacity
                .saturating_sub(self.set_apart)
                .saturating_sub(self.shared_used),
            // switch-mmu.cc, GetPfcThreshold: a difference of uint32_t.
            ThresholdArithmetic::Wrapping32 => {
                let unreserved = self.capacity.count().wrapping_sub(self.set_apart.count());
                let free = unreserved.wrapping_sub(self.shared_used.count()) as u32;
                Bytes::new(u64::from(free))
            }
        }
    }

    /// The bytes of an account above its reserve, headroom excluded.
    fn shared_of(&self, account: &IngressAccount, priority: Priority) -> Bytes {
        account.stored.saturating_sub(self.reserve_of(priority))
    }

    fn reserve_of(&self, priority: Priority) -> Bytes {
        if self.lossless.contains(priority) {
            self.reserve
        } else {
            Bytes::ZERO
        }
    }

    /// The most that a paused account may store outside headroom, while the shared memory has room.
    pub(super) fn limit(&self, port: usize) -> Bytes {
        match self.ports[port].threshold {
            Threshold::Static { xoff, .. } => xoff,
            Threshold::Dynamic { alpha, .. } => self.reserve + alpha.of(self.free()),
        }
    }

    /// Where a packet is stored, or why it is dropped.
    pub(super) fn place(
        &self,
        port: usize,
        priority: Priority,
        size: Bytes,
    ) -> Result<Placement, DropCause> {
        let account = self.account(port, priority);
        let after = account.stored + size;
        let grown =
            after.saturating_sub(self.reserve_of(priority)) - self.shared_of(&account, priority);
        if !self.lossless.contains(priority) {
            let fits = grown <= self.free();
            return fits
                .then_some(Placement::Shared)
                .ok_or(DropCause::BufferFull);
        }
        let fits_headroom = size + self.headroom_used(port, priority) <= self.ports[port].headroom;
        if self.options.reserve == ReserveRule::OncePerPort
            && !fits_headroom
            && size + self.shared_of(&account, priority) + self.reserve > self.limit(port)
        {
            // switch-mmu.cc, CheckIngressAdmission.
            return Err(DropCause::HeadroomFull);
        }
        let crosses = self.options.crossing == CrossingPacket::Shared && !account.paused;
        if after <= self.reserve {
            Ok(Placement::Reserve)
        } else if (crosses || after <= self.limit(port)) && grown <= self.free() {
            Ok(Placement::Shared)
        } else if fits_headroom {
            Ok(Placement::Headroom)
        } else {
            Err(DropCause::HeadroomFull)
        }
    }

    /// The bytes in headroom that limit this priority.
    fn headroom_used(&self, port: usize, priority: Priority) -> Bytes {
        match self.options.headroom {
            HeadroomScope::Port => self.ports[port].headroom_used,
            HeadroomScope::Priority => self.account(port, priority).headroom,
        }
    }

    /// Stores a packet where `place` has room for it; returns `Pause` if the peer is to be paused now.
    pub(super) fn store(
        &mut self,
        port: usize,
        priority: Priority,
        size: Bytes,
        placement: Placement,
    ) -> Option<PauseTransition> {
        let before = self.shared_of(&self.account(port, priority), priority);
        let state = &mut self.ports[port];
        let account = &mut state.accounts[priority.index()];
        if placement == Placement::Headroom {
            account.headroom += size;
            state.headroom_used += size;
            state.max_headroom_used = state.max_headroom_used.max(state.headroom_used);
        } else {
            account.stored += size;
        }
        let after = self.shared_of(&self.account(port, priority), priority);
        self.shared_used += after - before;
        self.should_pause(port, priority).then(|| {
            self.ports[port].accounts[priority.index()].paused = true;
            self.paused += 1;
            PauseTransition::Pause
        })
    }

    /// Stores a packet if it fits outside headroom and its account stays below XOFF; returns whether it does. Packets that
    /// have left may still be in the accounts: with fewer of them it fits all the more, as no threshold is lower then.
    #[inline]
    pub(super) fn store_calmly(&mut self, port: usize, priority: Priority, size: Bytes) -> bool {
        let (reserve, free) = (self.reserve_of(priority), self.free());
        let state = &mut self.ports[port];
        let account = &mut state.accounts[priority.index()];
        let after = account.stored + size;
        let shared = after.saturating_sub(reserve);
        let grown = shared - account.stored.saturating_sub(reserve);
        if grown > free {
            return false;
        }
        let reached = self.lossless.contains(priority)
            && match state.threshold {
                Threshold::Static { xoff, .. } => after >= xoff,
                Threshold::Dynamic { alpha, .. } => alpha.is_reached(shared, free - grown),
            };
        if !reached {
            account.stored = after;
            self.shared_used += grown;
        }
        !reached
    }

    /// Releases a packet; returns `Resume` if the peer is to be resumed now.
    pub(super) fn release(
        &mut self,
        port: usize,
        priority: Priority,
        size: Bytes,
    ) -> Option<PauseTransition> {
        let before = self.shared_of(&self.account(port, priority), priority);
        let state = &mut self.ports[port];
        let account = &mut state.accounts[priority.index()];
        let from_headroom = account.headroom.min(size);
        account.headroom -= from_headroom;
        state.headroom_used -= from_headroom;
        account.stored -= size - from_headroom;
        let after = self.shared_of(&self.account(port, priority), priority);
        self.shared_used -= before - after;
        self.should_resume(port, priority).then(|| {
            self.ports[port].accounts[priority.index()].paused = false;
            self.paused -= 1;
            PauseTransition::Resume
        })
    }

    /// switch-mmu.cc, CheckShouldPause: headroom is in use, or the threshold is reached.
    fn should_pause(&self, port: usize, priority: Priority) -> bool {
        let account = self.account(port, priority);
        if !self.lossless.contains(priority) || account.paused {
            return false;
        }
        let reached = match self.ports[port].threshold {
            Threshold::Static { xoff, .. } => account.stored >= xoff,
            Threshold::Dynamic { alpha, .. } => {
                alpha.is_reached(self.shared_of(&account, priority), self.free())
            }
        };
        account.headroom > Bytes::ZERO || reached
    }

    /// switch-mmu.cc, CheckShouldResume: headroom is empty, and the account is low enough.
    fn should_resume(&self, port: usize, priority: Priority) -> bool {
        let account = &self.ports[port].accounts[priority.index()];
        account.paused
            && account.headroom == Bytes::ZERO
            && account.stored <= self.resume_level(port)
    }

    /// The most that a paused account may store to be resumed: XON, or below the threshold by the offset, at least its
    /// reserve.
    pub(super) fn resume_level(&self, port: usize) -> Bytes {
        match self.ports[port].threshold {
            Threshold::Static { xon, .. } => xon,
            Threshold::Dynamic {
                alpha,
                resume_offset,
            } => self.reserve + alpha.of(self.free()).saturating_sub(resume_offset),
        }
    }

    /// The link of a port has failed: its peer is paused no more.
    pub(super) fn forget_pauses(&mut self, port: usize) {
        for account in &mut self.ports[port].accounts {
            self.paused -= usize::from(std::mem::replace(&mut account.paused, false));
        }
    }
}
