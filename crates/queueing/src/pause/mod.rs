//! Pauses by priority: the frame, its sender, its receiver, and the receiver's watchdog.
//!
//! Sources: IEEE 802.1Q, clause 36, and 802.3, annexes 31B and 31D: a frame has a time for each of its priorities, in
//! quanta of 512 bit times at the rate of the link; 0 resumes. HPCC's simulator has frames without expiry instead
//! (`OnOff`). Leaves out: different times in one frame, the pause of a whole link (802.3x), negotiation (DCBX).

mod guarded;
mod receiver;
mod sender;
mod watchdog;

use incastle_units::{Rate, Span};

pub use guarded::{GuardedReceiver, PauseEffect};
pub use receiver::{PauseChange, PauseReceiver, PauseStatistics};
pub use sender::{PauseSender, PauseSenderConfig, SentPauses};
pub use watchdog::{
    StormStatistics, Watchdog, WatchdogAction, WatchdogChange, WatchdogConfig, WatchdogError,
};

use crate::PrioritySet;
use crate::headroom::QUANTUM;

/// A pause frame. Its size is [`PAUSE_FRAME_SIZE`](crate::PAUSE_FRAME_SIZE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseFrame {
    /// Its priorities (the class-enable vector).
    pub priorities: PrioritySet,
    /// The time for which they are paused, in quanta; 0 resumes them.
    pub quanta: u16,
}

/// The end of a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PauseMode {
    /// A frame that resumes, or the end of its time (802.1Q). The sender refreshes it.
    #[default]
    Quanta,
    /// A frame that resumes (HPCC's simulator).
    OnOff,
    /// None begins: frames are sent, and ignored where they arrive (HPCC's simulator with `ENABLE_PFC 0`).
    Ignored,
}

/// The length of a pause, rounded down to a picosecond.
pub fn pause_span(quanta: u16, rate: Rate) -> Span {
    rate.span_of(QUANTUM * u64::from(quanta))
}
