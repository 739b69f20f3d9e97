//! The period of EXP (draft-gg-udt-03, section 6): N (4 RTT + RTTVar + SYN), at least a floor. N counts
//! expirations without a packet from the peer.
//!
//! Under accurate ACKs, whose samples follow Karn's rule, expirations with data outstanding lengthen the period until the
//! next sample, whatever the peer sends (Karn and Partridge 1987). Else a path whose round trip has grown beyond EXP
//! repeats all data, no ACK gives a sample any more, and EXP never learns the round trip.
//!
//! It restarts on ACKs and NAKs with new content, and on any packet while nothing is outstanding. Other
//! packets of the peer, or repeated ones, do not show that our data arrive. Leaves out the effect of an
//! expiry.

use incastle_units::{Span, Time};

use super::super::config::Config;
use super::super::rtt::Rtt;

/// No period is longer: a clock that jumped is taken for a long round trip. As RFC 6298, section 2.5.
const MAX_EXP: Span = Span::from_secs(60);

/// The EXP timer. Its periods are stored: every poll reads them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exp {
    /// The beginning of the period.
    from: Time,
    /// N.
    count: u32,
    last_packet_at: Time,
    /// The same without a sample, under accurate ACKs.
    unsampled: u32,
    /// 4 RTT + RTTVar + SYN.
    one: Span,
    /// The period while data are outstanding, and while none are.
    busy: Span,
    idle: Span,
}

impl Exp {
    pub(super) fn new(now: Time, rtt: &Rtt, config: &Config) -> Self {
        let mut exp = Self {
            from: now,
            count: 1,
            last_packet_at: now,
            unsampled: 1,
            one: Span::ZERO,
            busy: Span::ZERO,
            idle: Span::ZERO,
        };
        exp.learn(rtt, config);
        exp
    }

    /// The round-trip time has changed.
    pub(super) fn learn(&mut self, rtt: &Rtt, config: &Config) {
        self.one = rtt.smoothed() * 4 + rtt.variance() + config.syn;
        self.refresh(config);
    }

    fn refresh(&mut self, config: &Config) {
        let periods = |count: u32| self.one.saturating_mul(count.into()).min(MAX_EXP);
        let period = periods(self.count);
        self.busy = periods(self.count.max(self.unsampled)).max(config.exp_floor);
        // A peer's keep-alive restarts our timer. The endpoint without a response therefore waits
        // longer, or the other would never send its own.
        self.idle = period.max(config.keep_alive * u64::from(self.count.min(2)));
        assert!(
            self.busy.min(self.idle) > Span::ZERO,
            "EXP waits for something"
        );
    }

    /// The peer sent something.
    pub(super) fn on_packet(&mut self, now: Time, config: &Config) {
        self.last_packet_at = now;
        if self.count != 1 {
            self.count = 1;
            self.refresh(config);
        }
    }

    /// A sample of the round trip that follows Karn's rule.
    pub(super) fn on_sample(&mut self, config: &Config) {
        if self.unsampled != 1 {
            self.unsampled = 1;
            self.refresh(config);
        }
    }

    /// It has expired, and samples follow Karn's rule.
    pub(super) fn hold(&mut self, config: &Config) {
        self.unsampled = self.unsampled.saturating_add(1);
        self.refresh(config);
    }

    /// The timer restarts: data leave where none were outstanding, an ACK or NAK had new content, or
    /// any packet came while nothing is outstanding.
    pub(super) fn restart(&mut self, now: Time) {
        self.from = now;
    }

    /// One more period has passed.
    pub(super) fn expire(&mut self, now: Time, config: &Config) {
        assert!(
            self.busy_at().min(self.idle_at()) <= now,
            "a period has passed"
        );
        self.count += 1;
        self.from = now;
        self.refresh(config);
    }

    /// Expirations without a packet from the peer.
    pub(super) const fn backoff(&self) -> u32 {
        self.count - 1
    }

    /// 4 RTT + RTTVar + SYN.
    pub(super) const fn one(&self) -> Span {
        self.one
    }

    /// When it fires while data are outstanding.
    #[inline]
    pub(super) fn busy_at(&self) -> Time {
        self.from.saturating_add(self.busy)
    }

    /// When it fires while none are.
    #[inline]
    pub(super) fn idle_at(&self) -> Time {
        self.from.saturating_add(self.idle)
    }

    pub(super) fn is_hopeless(&self, now: Time, config: &Config) -> bool {
        let silence = now.saturating_since(self.last_packet_at);
        self.count > config.max_exp && silence >= config.min_silence
    }
}
