//! When Linux takes a sender for limited by its window: for a window of data, not for an instant
//! (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`, Linux 6.18). The window then also grows on the last ACKs of a
//! response.
//!
//! Leaves out: the decay of windows that were not used (`tcp_cwnd_application_limited`).

use incastle_congestion::{ControlState, LimitedBy, WindowRule};
use incastle_units::Bytes;

use crate::tcp::config::Config;

/// The use of one window of data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// SND.NXT when it was noted (`cwnd_usage_seq`).
    until: u64,
    /// The data outstanding then (`max_packets_out`).
    most: u64,
    /// Whether the window was full (`is_cwnd_limited`).
    full: bool,
}

impl Usage {
    /// Data left up to `nxt`, or none could: `full` where the window has no room for a further segment.
    pub(super) fn note(&mut self, una: u64, nxt: u64, full: bool) {
        let outstanding = nxt - una;
        if full || una >= self.until || (!self.full && outstanding > self.most) {
            *self = Self {
                until: nxt,
                most: outstanding,
                full,
            };
        }
    }

    /// The limit on sending. In slow start a window grows to twice what was used of it.
    pub(super) fn limited_by(&self, control: &ControlState) -> LimitedBy {
        let cwnd = control.cwnd.map_or(u64::MAX, Bytes::count);
        let slow_start = control.ssthresh.is_none_or(|bytes| cwnd < bytes.count());
        if self.full || (slow_start && cwnd < 2 * self.most) {
            LimitedBy::Window
        } else {
            LimitedBy::Application
        }
    }
}

/// RecoverFS of PRR: what is outstanding (RFC 9937, section 6.1), or the window before (`prior_cwnd`).
pub(super) fn recover_fs(config: &Config, outstanding: u64, cwnd: u64) -> u64 {
    match config.window_rule {
        WindowRule::Rfc => outstanding,
        WindowRule::Linux => cwnd,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn control(cwnd: u64, ssthresh: Option<u64>) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new(cwnd * MSS)),
            ssthresh: ssthresh.map(|segments| Bytes::new(segments * MSS)),
            ..ControlState::default()
        }
    }

    #[test]
    fn a_full_window_counts_until_all_of_it_is_acknowledged_and_more_leaves() {
        let mut usage = Usage::default();
        let avoidance = control(10, Some(5));
        usage.note(0, 10 * MSS, true);
        // The last data of a response do not fill the window.
        usage.note(4 * MSS, 12 * MSS, false);
        assert_eq!(usage.limited_by(&avoidance), LimitedBy::Window);
        // The next response begins when all was acknowledged.
        usage.note(12 * MSS, 13 * MSS, false);
        assert_eq!(usage.limited_by(&avoidance), LimitedBy::Application);
        usage.note(12 * MSS, 22 * MSS, true);
        assert_eq!(usage.limited_by(&avoidance), LimitedBy::Window);
    }

    #[test]
    fn slow_start_grows_to_twice_the_most_that_was_outstanding() {
        let mut usage = Usage::default();
        usage.note(0, MSS, false);
        usage.note(0, 6 * MSS, false);
        usage.note(2 * MSS, 7 * MSS, false);
        assert_eq!(usage.limited_by(&control(11, None)), LimitedBy::Window);
        assert_eq!(usage.limited_by(&control(12, None)), LimitedBy::Application);
        assert_eq!(
            usage.limited_by(&control(11, Some(11))),
            LimitedBy::Application
        );
    }
}
