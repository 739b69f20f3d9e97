//! The choice of slow start, and what watches it for an early end.
//!
//! Leaves out: the growth itself and the reaction to congestion, which `reno_window` has.

use crate::hystart::Hystart;
use crate::hystart_plus_plus::HystartPlusPlus;
use crate::{AckSample, Context};

/// The end of slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlowStart {
    /// With the first loss or mark (RFC 5681).
    #[default]
    Standard,
    /// HyStart of Linux's CUBIC.
    Hystart,
    /// HyStart++ (RFC 9406).
    HystartPlusPlus,
}

/// Slow start at one ACK.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlowStartAck<'a> {
    pub(crate) ack: &'a AckSample<'a>,
    pub(crate) cwnd: u64,
    pub(crate) mss: u64,
}

/// The watch over one connection.
#[derive(Debug, Clone)]
pub(crate) enum EarlyExit {
    Hystart(Hystart),
    PlusPlus(HystartPlusPlus),
}

impl EarlyExit {
    /// A watch for the first slow start, where there is one; `paced` senders pace their segments.
    pub(crate) fn new(choice: SlowStart, paced: bool) -> Option<Box<Self>> {
        match choice {
            SlowStart::Standard => None,
            SlowStart::Hystart => Some(Box::new(Self::Hystart(Hystart::new(paced)))),
            SlowStart::HystartPlusPlus => Some(Box::new(Self::PlusPlus(HystartPlusPlus::new()))),
        }
    }

    /// An ACK in slow start; whether slow start ends with it.
    pub(crate) fn on_ack(&mut self, cx: &Context<'_>, at: SlowStartAck<'_>) -> bool {
        match self {
            Self::Hystart(hystart) => hystart.on_ack(cx, at),
            Self::PlusPlus(hystart) => hystart.on_ack(cx, at.ack),
        }
    }

    /// The divisor of the growth in slow start.
    pub(crate) fn growth_divisor(&self) -> u64 {
        match self {
            Self::Hystart(_) => 1,
            Self::PlusPlus(hystart) => hystart.growth_divisor(),
        }
    }

    /// Whether it watches no slow start but the first (RFC 9406, section 4.3).
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::PlusPlus(_))
    }

    /// A timeout: Linux watches the slow start after it too.
    pub(crate) fn on_timeout(&mut self) {
        if let Self::Hystart(hystart) = self {
            hystart.restart();
        }
    }
}
