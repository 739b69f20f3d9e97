//! The reduction after a mark, spread over a round trip by PRR as Linux has it in its state CWR (`tcp_enter_cwr`,
//! `tcp_cwnd_reduction`, `tcp_end_cwnd_reduction`, Linux 6.18). A loss ends it for a recovery.
//!
//! Leaves out: one reduction for a mark and a loss of the same round trip is the controller's matter.

use incastle_congestion::{Phase, WindowRule};
use incastle_recovery::Prr;

use super::RackTlp;
use super::usage::recover_fs;
use crate::tcp::config::Config;
use crate::tcp::sender::Sender;

impl RackTlp {
    /// The window is the controller's from here on.
    pub(super) fn end_reduction(&mut self) {
        self.prr = None;
        self.marked_until = None;
    }

    /// A loss goes on with the reduction for a mark: one window of data is reduced once (`tcp_enter_recovery`).
    pub(super) fn take_reduction_for_mark(&mut self, config: &Config) -> Option<Box<Prr>> {
        let goes_on = config.window_rule == WindowRule::Linux && self.marked_until.is_some();
        goes_on.then(|| self.prr.take()).flatten()
    }

    /// `tcp_fastretrans_alert`: it lasts until something beyond the data sent before it is acknowledged.
    #[inline(always)]
    pub(super) fn end_reduction_for_mark(&mut self, una: u64) {
        if self.marked_until.is_some_and(|until| una > until) {
            self.end_reduction();
        }
    }
}

impl Sender {
    /// Whether the window shrinks because of a mark.
    pub(super) fn is_reducing_for_mark(&self) -> bool {
        let rack = self.rack.as_ref();
        rack.is_some_and(|rack| rack.marked_until.is_some())
    }

    /// The phase for the controller: its window does not grow either while it is approached after a mark. Out of line: few
    /// senders have it.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn phase_after_marks(&self) -> Phase {
        if self.is_reducing_for_mark() {
            return Phase::Recovery;
        }
        self.recovery.phase()
    }

    /// The controller has lowered its window from `before` at an acknowledgement with ECE, which acknowledged this
    /// many octets.
    #[cold]
    pub(in crate::tcp) fn begin_reduction_for_mark(
        &mut self,
        config: &Config,
        acked: u64,
        before: u64,
    ) {
        let (una, max) = (self.space.una(), self.space.max());
        let Some(rack) = &mut self.rack else {
            return;
        };
        // RFC 9937, section 6.1, for the RecoverFS of a loss.
        let outstanding = max - una - rack.flight.sacked_octets() + acked;
        if self.recovery.phase() == Phase::Open && outstanding > 0 {
            let recover_fs = recover_fs(config, outstanding, before);
            rack.prr = Some(Box::new(Prr::new(recover_fs)));
            rack.marked_until = Some(max);
        }
    }
}
