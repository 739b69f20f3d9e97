//! The limit on sending, for the controller's samples, and bursts of segmentation offload. Leaves out the
//! windows themselves.

use incastle_congestion::LimitedBy;

use super::config::Config;

/// The limit found by the last poll.
#[derive(Debug, Clone)]
pub(super) struct SendLimit {
    by: LimitedBy,
    /// The window has no room for the next segment, and nothing has happened since that was found.
    full: bool,
}

impl SendLimit {
    pub(super) const fn new() -> Self {
        Self {
            by: LimitedBy::Application,
            full: false,
        }
    }

    #[inline]
    pub(super) fn by(&self) -> LimitedBy {
        self.by
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Something has happened: the limit found by the last poll may no longer apply.
    #[inline(always)]
    pub(super) fn reconsider(&mut self) {
        self.full = false;
    }

    /// The host's NIC takes nothing more for now: until the next poll it limits this sender, not
    /// the window.
    pub(super) fn hold_back(&mut self) {
        self.full = false;
        self.by = LimitedBy::Application;
    }

    #[inline]
    pub(super) fn set(&mut self, by: LimitedBy) {
        self.by = by;
    }

    /// No further segment fits.
    #[inline]
    pub(super) fn set_full(&mut self, by: LimitedBy) {
        self.by = by;
        self.full = true;
    }
}

/// Room for new data, in octets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) outstanding: u64,
    /// The bytes that both windows admit.
    pub(super) free: u64,
    /// The bytes that the application has written and that were never sent.
    pub(super) unsent: u64,
}

/// The burst that leaves now.
#[derive(Debug, Clone)]
pub(super) struct Burst {
    /// Segments of it that may still leave.
    left: u32,
}

impl Burst {
    pub(super) const fn new() -> Self {
        Self { left: 0 }
    }

    /// The window is full.
    #[inline]
    pub(super) fn end(&mut self) {
        self.left = 0;
    }

    /// Segmentation offload: permitted segments wait until `burst` of them (at most half a window)
    /// can leave together. They also leave if nothing is outstanding or if they are the last data.
    pub(super) fn may_leave(&mut self, config: &Config, room: Room) -> bool {
        let Room {
            outstanding,
            free,
            unsent,
        } = room;
        if self.left == 0 {
            let mss = u64::from(config.mss);
            let half = u64::midpoint(outstanding, free) / mss;
            let target = u64::from(config.burst).min(half).max(1) * mss;
            if outstanding > 0 && unsent > free && free < target {
                return false;
            }
            self.left = free.div_ceil(mss).clamp(1, u64::from(u32::MAX)) as u32;
        }
        self.left -= 1;
        true
    }
}
