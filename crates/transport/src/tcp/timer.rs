//! The retransmission timer (RFC 6298, section 5) and round-trip samples. While the peer's window
//! is closed, the persist timer takes its place (RFC 9293, section 3.8.6.1). The reaction to a
//! timeout is in `recovery`.

use incastle_units::{Span, Time};
use rand_core::Rng;

use super::config::RtoConfig;
use super::rto::{Rto, doubled};

/// Without timestamps: the segment whose round trip is timed.
#[derive(Debug, Clone, Copy)]
struct Timed {
    /// Its end.
    end: u64,
    /// When it left, or NEVER.
    at: Time,
}

impl Timed {
    /// No segment.
    const NOTHING: Self = Self {
        end: 0,
        at: Time::NEVER,
    };
}

/// What the timer is for. With RACK one timer serves all three (RFC 8985, section 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A retransmission timeout, or a probe of a closed window.
    Retransmission,
    /// RACK: segments that may have been reordered count as lost.
    Reordering,
    /// A tail loss probe.
    Probe,
}

/// The persist timer.
#[derive(Debug, Clone, Default)]
struct Persist {
    running: bool,
    probe_due: bool,
    /// Probes since the window closed.
    probes: u8,
}

/// The timer of one sender.
///
/// Invariant: while the persist timer runs, it is armed.
#[derive(Debug, Clone)]
pub(super) struct RetransmissionTimer {
    /// When the retransmission or persist timer fires, or NEVER.
    at: Time,
    rto: Rto,
    timed: Timed,
    last_sent: Time,
    /// Timeouts since the last new acknowledgement.
    timeouts: u32,
    persist: Persist,
    purpose: Purpose,
}

impl RetransmissionTimer {
    pub(super) fn new(config: &RtoConfig) -> Self {
        Self {
            at: Time::NEVER,
            rto: Rto::new(config),
            timed: Timed::NOTHING,
            last_sent: Time::ZERO,
            timeouts: 0,
            persist: Persist::default(),
            purpose: Purpose::Retransmission,
        }
    }

    /// When it fires, or NEVER.
    #[inline]
    pub(super) fn at(&self) -> Time {
        self.at
    }

    pub(super) fn rto(&self) -> &Rto {
        &self.rto
    }

    /// Timeouts since the last new acknowledgement.
    pub(super) fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Starts it anew.
    #[inline(always)]
    pub(super) fn arm(&mut self, now: Time, config: &RtoConfig, rng: &mut dyn Rng) {
        self.at = now.saturating_add(self.rto.timeout(config, rng));
        assert!(self.at > now, "a timeout takes time");
    }

    #[inline]
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// It fires then, for this purpose.
    pub(super) fn set(&mut self, purpose: Purpose, at: Time) {
        assert!(!self.persist.running, "the persist timer runs alone");
        self.purpose = purpose;
        self.at = at;
    }

    #[inline]
    pub(super) fn stop(&mut self) {
        self.at = Time::NEVER;
    }

    /// A segment left: the timer runs.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Time, config: &RtoConfig, rng: &mut dyn Rng) {
        self.last_sent = now;
        self.end_persist();
        if self.at == Time::NEVER {
            self.arm(now, config, rng);
        }
    }

    /// When a segment left last.
    pub(super) fn last_sent(&self) -> Time {
        self.last_sent
    }

    /// A new acknowledgement, perhaps with a round trip.
    #[inline]
    pub(super) fn on_new_ack(&mut self, rtt: Option<Span>, config: &RtoConfig) {
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, config);
        }
        self.timeouts = 0;
    }

    /// How long nothing has helped: the time since it was started, or since a later partial
    /// acknowledgement, which did not restart it.
    pub(super) fn waited(&self, now: Time, partial_at: Time, config: &RtoConfig) -> Span {
        if partial_at == Time::NEVER {
            now.saturating_since(self.at) + self.rto.armed(config)
        } else {
            now.saturating_since(partial_at)
        }
    }

    /// A timeout: the next one takes twice as long (RFC 6298, section 5.5).
    pub(super) fn back_off(&mut self) {
        self.timeouts += 1;
        self.rto.back_off();
    }

    /// The segment or SYN that was sent last is timed, where none is; `end` is its end.
    pub(super) fn time(&mut self, now: Time, end: u64) {
        if self.timed.at == Time::NEVER {
            self.timed = Timed { end, at: now };
        }
    }

    /// Karn's rule: a segment that was sent again is not timed.
    pub(super) fn forget_timed(&mut self) {
        self.timed = Timed::NOTHING;
    }

    /// The round trip of the timed segment, where `ack` acknowledges it.
    #[inline]
    pub(super) fn timed_round_trip(&mut self, now: Time, ack: u64) -> Option<Span> {
        let Timed { end, at } = self.timed;
        if at == Time::NEVER || ack < end {
            return None;
        }
        assert!(at <= now, "a segment is acknowledged after it left");
        self.timed = Timed::NOTHING;
        Some(now - at)
    }

    /// A SYN left: the timer runs, and the SYN is timed.
    pub(super) fn on_syn_sent(&mut self, now: Time, config: &RtoConfig, rng: &mut dyn Rng) {
        if self.at == Time::NEVER {
            self.arm(now, config, rng);
        }
        self.timed = Timed { end: 0, at: now };
    }

    /// A SYN's timer fired.
    pub(super) fn on_syn_timeout(&mut self, now: Time, config: &RtoConfig, rng: &mut dyn Rng) {
        self.rto.back_off();
        self.arm(now, config, rng);
    }

    /// The handshake is over, perhaps with a round trip.
    pub(super) fn on_established(&mut self, rtt: Option<Span>, config: &RtoConfig) {
        self.stop();
        self.forget_timed();
        if let Some(rtt) = rtt {
            self.rto.sample(rtt, config);
        }
    }

    /// The handshake is over after a SYN was sent more than once.
    pub(super) fn syn_was_lost(&mut self, config: &RtoConfig) {
        self.rto.syn_was_lost(config);
    }

    /// Whether nothing was sent for longer than the timeout (RFC 5681, section 4.1); then idleness is
    /// counted anew.
    pub(super) fn take_idle(&mut self, now: Time) -> bool {
        let idle = now.saturating_since(self.last_sent) > self.rto.base();
        if idle {
            self.last_sent = now;
        }
        idle
    }

    /// The peer's window is closed, and nothing is outstanding that could bring news of it.
    pub(super) fn begin_persist(&mut self, now: Time) {
        if !self.persist.running {
            self.persist.running = true;
            self.persist.probes = 0;
            self.at = now.saturating_add(self.rto.base());
        }
    }

    /// The peer's window has opened.
    #[inline]
    pub(super) fn end_persist(&mut self) {
        if self.persist.running {
            self.persist.running = false;
            self.persist.probe_due = false;
            self.stop();
        }
    }

    pub(super) fn is_persisting(&self) -> bool {
        self.persist.running
    }

    /// The persist timer fired: a probe is due.
    pub(super) fn on_persist_timeout(&mut self, now: Time, config: &RtoConfig) {
        assert!(self.persist.running, "a probe tests a closed window");
        self.persist.probe_due = true;
        self.persist.probes = self.persist.probes.saturating_add(1);
        let wait = doubled(self.rto.base(), self.persist.probes, config.max);
        self.at = now.saturating_add(wait);
    }

    #[inline]
    pub(super) fn is_probe_due(&self) -> bool {
        self.persist.probe_due
    }

    /// Takes a zero-window probe that must leave.
    #[inline]
    pub(super) fn take_probe(&mut self) -> bool {
        std::mem::take(&mut self.persist.probe_due)
    }
}
