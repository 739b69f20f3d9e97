//! When datagrams arrived: the kernel stamps them as they come in (SO_TIMESTAMPNS), however late and many
//! at once they are taken from the socket. UDT's packet pairs need it: a pair that is read in one system
//! call has no interval.
//!
//! Only an endpoint with UDT's control alone has them. `quinn-udp` has 96 bytes for the control messages of coalesced
//! datagrams. With a time stamp there is no room for the ECN field, which DCUDP and accurate ACKs need. DCUDP's
//! capacity is configured instead. If such an endpoint falls back to UDT's control, it stamps datagrams as it reads them.
//! All of one round get the instant of its first call. A backlog takes several calls in immediate
//! succession, and their instants would show the speed of the calls.
//!
//! Leaves out: datagrams that a NIC or the kernel has coalesced (GRO). They have one stamp, which shows the
//! receiving rate but no capacity.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::socket::{setsockopt, sockopt};

use crate::Control;
use crate::port::Port;

/// Stamps that seem older are the system clock's that was set.
const OLDEST: Duration = Duration::from_secs(1);

/// Both clocks at one instant: the kernel stamps with the one, everything else goes by the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks {
    pub(crate) now: Instant,
    system: Duration,
    /// When the first call of this round of reading had ended.
    round: Instant,
}

impl Clocks {
    pub(crate) fn read() -> Self {
        let system = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = Instant::now();
        Self {
            now,
            system: system.unwrap_or_default(),
            round: now,
        }
    }

    /// After another call of the same round.
    pub(crate) fn read_again(&self) -> Self {
        let clocks = Self::read();
        assert!(clocks.now >= self.now, "the clock does not run back");
        Self {
            round: self.round,
            ..clocks
        }
    }

    /// When a datagram came: by its stamp, where it has one that can be, else by its round.
    pub(crate) fn arrival(&self, stamp: Option<Duration>) -> Instant {
        stamp
            .and_then(|stamp| self.instant(stamp))
            .unwrap_or(self.round)
    }

    /// The instant of a stamp; absent where it cannot be.
    fn instant(&self, stamp: Duration) -> Option<Instant> {
        let age = self.system.checked_sub(stamp)?;
        let possible = age <= OLDEST;
        possible.then(|| self.now.checked_sub(age)).flatten()
    }
}

impl Port {
    /// Before the first connection of that control: all but UDT's want the ECN field rather than stamps.
    pub(crate) fn prepare(&self, control: Control) {
        if control != Control::Udt
            && let Err(error) = setsockopt(&self.socket, sockopt::ReceiveTimestampns, &false)
        {
            // A connection whose marks are lost reports that, and goes on without.
            tracing::warn!(%error, "time stamps cannot be switched off");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_as_old_on_both_clocks() {
        let clocks = Clocks::read();
        let before = |ms| {
            let stamp = clocks.system.checked_sub(Duration::from_millis(ms))?;
            clocks.instant(stamp)
        };
        assert_eq!(before(0), Some(clocks.now));
        assert_eq!(before(7), clocks.now.checked_sub(Duration::from_millis(7)));
        // Time stamps from before and after the clock was set.
        assert_eq!(before(1_001), None);
        assert_eq!(
            clocks.instant(clocks.system + Duration::from_millis(1)),
            None
        );
    }

    #[test]
    fn what_has_no_stamp_came_with_the_first_call_of_its_round() {
        let first = Clocks::read();
        let third = first.read_again().read_again();
        assert_eq!(third.arrival(None), first.now);
        let stamp = third.system.checked_sub(Duration::from_millis(7));
        assert_eq!(
            Some(third.arrival(stamp)),
            third.now.checked_sub(Duration::from_millis(7))
        );
        // A stamp that cannot be is none.
        assert_eq!(third.arrival(Some(Duration::ZERO)), first.now);
    }
}
