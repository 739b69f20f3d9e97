//! A receiver's echo of congestion marks: RFC 3168's latch and DCTCP's two-state machine. Leaves
//! out: when the ACKs leave, which the receiver decides.

use incastle_units::Ecn;

use super::config::{CeChange, EcnMode};
use super::segment::Flags;

/// Packets, from the first mark on (Linux 6.18).
const QUICK_ACKS: u8 = 2;

/// The state of the echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EchoState {
    /// No ECN.
    Off,
    /// RFC 3168, section 6.1.3: on from a mark until CWR.
    Classic {
        echoing: bool,
        /// Packets that are acknowledged immediately, where Linux's quick ACKs are on.
        quick: u8,
    },
    /// RFC 8257, section 3.2: the CE bit of the last data packet (DCTCP.CE).
    Dctcp { ce: bool, kind: CeChange },
}

impl EchoState {
    pub(super) fn new(mode: EcnMode) -> Self {
        match mode {
            EcnMode::Off => Self::Off,
            EcnMode::Classic => Self::Classic {
                echoing: false,
                quick: 0,
            },
            EcnMode::Dctcp(kind) => Self::Dctcp { ce: false, kind },
        }
    }

    /// Whether an ACK that leaves now carries ECE.
    #[inline]
    pub(super) fn echoes(self) -> bool {
        match self {
            Self::Off => false,
            Self::Classic { echoing, .. } => echoing,
            Self::Dctcp { ce, .. } => ce,
        }
    }

    /// The rule for ACKs if a packet with this ECN field would change DCTCP's state.
    #[inline]
    pub(super) fn change(self, ecn: Ecn) -> Option<CeChange> {
        match self {
            Self::Dctcp { ce, kind } if ce != (ecn == Ecn::Ce) => Some(kind),
            _ => None,
        }
    }

    /// Whether Linux acknowledges a data packet immediately: with CWR (`tcp_ecn_accept_cwr`), or, under classic ECN,
    /// if the first mark is on it or on the one before, and the same of a packet without ECT, which is a
    /// retransmission (`tcp_data_ecn_check`). The sender's window may be very small.
    #[inline]
    pub(super) fn is_quick(&mut self, ecn: Ecn, flags: Flags) -> bool {
        let is_cwr = flags.contains(Flags::CWR);
        let Self::Classic { echoing, quick } = self else {
            return is_cwr;
        };
        // CWR ends the echo before a mark on the same packet begins another.
        let is_first = ecn == Ecn::Ce && (!*echoing || is_cwr);
        if is_first || ecn == Ecn::NotEct {
            *quick = QUICK_ACKS;
        }
        let is_quick = *quick > 0 || is_cwr;
        *quick = quick.saturating_sub(1);
        is_quick
    }

    /// Takes in the ECN field and the flags of a data packet.
    #[inline]
    pub(super) fn on_packet(&mut self, ecn: Ecn, flags: Flags) {
        let marked = ecn == Ecn::Ce;
        match self {
            Self::Off => {}
            // CWR ends the echo of earlier marks, not that of a mark on the packet itself.
            Self::Classic { echoing, .. } => {
                *echoing = marked || (*echoing && !flags.contains(Flags::CWR));
            }
            Self::Dctcp { ce, .. } => *ce = marked,
        }
    }
}
