//! The clocks of a connection (draft-gg-udt-03, section 6) and their effects. EXP's period is in `exp`;
//! ACK, NAK, pacer, OBS-change, handshake and controller have theirs.
//!
//! A timer that has expired waits for nothing: its effect is recorded, and leaves when it can. So
//! [`Connection::poll_timeout`] lies ahead after each [`Connection::handle_timeout`], even if the
//! socket takes nothing.

use incastle_congestion::{CongestionEvent, Controller};
use incastle_units::{Span, Time};
use rand_core::Rng;

use super::super::config::NakRepeat;
use super::super::reports::Repeat;
use super::{Connection, Failure};

impl Connection {
    /// The instant of [`Self::poll_timeout`] has come; an early call does no harm.
    pub fn handle_timeout(&mut self, now: Time, rng: &mut dyn Rng) {
        let now = self.clock.advance(now);
        if self.peering.on_timer(now) {
            self.fail(Failure::NoResponse);
        }
        if !self.is_established() {
            return;
        }
        self.receiver.ack.on_timer(now, self.rtt.smoothed());
        self.receiver.on_nak_timer(now);
        self.sender.pacer.on_timer(now);
        self.control.mode.on_timer(now);
        self.linger_timer(now);
        if self.exp_at() <= now {
            self.on_exp(now, rng);
        }
        if self.control.wake() <= now {
            let (rtt, capacity) = (self.rtt.smoothed(), self.capacity());
            let mut cx = self.sender.context(now, rtt, capacity, rng);
            self.control.algorithm.on_timer(&mut cx);
            self.follow_mode(now);
        }
    }

    /// When to call [`Self::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        let at = if self.is_established() {
            self.established_at()
        } else {
            self.peering.wake()
        };
        (at != Time::NEVER).then_some(at)
    }

    #[inline]
    fn established_at(&self) -> Time {
        let receiver = self.receiver.ack.wake().min(self.receiver.nak_at());
        let sender = self.sender.pacer.wake().min(self.control.mode.repeat_at());
        let own = self.exp_at().min(receiver).min(sender);
        own.min(self.shutdown.linger_at()).min(self.control.wake())
    }

    /// The round-trip time, or the control that the sender runs, has changed, and with it the periods
    /// of EXP and NAK. A sender whose packets arrive without ECT falls back to UDT's control.
    pub(super) fn set_clocks(&mut self) {
        self.exp.learn(&self.rtt, &self.config);
        self.receiver.ack.set_rtt(self.rtt.smoothed());
        let udt = !self.peering.speaks_dcudp() || self.watch.not_ect;
        let timer = udt && self.config.nak_repeat == NakRepeat::Timer;
        self.receiver.set_repeat(Repeat {
            rtt: self.rtt.smoothed(),
            period: if timer { self.exp.one() } else { Span::ZERO },
        });
    }

    fn exp_at(&self) -> Time {
        if self.shutdown.has_ended() {
            return Time::NEVER;
        }
        // A shutdown that was sent is outstanding, too.
        if self.sender.is_outstanding() || self.shutdown.is_sent() {
            self.exp.busy_at()
        } else {
            self.exp.idle_at()
        }
    }

    fn on_exp(&mut self, now: Time, rng: &mut dyn Rng) {
        let backoff = self.exp.backoff();
        self.exp.expire(now, &self.config);
        if self.exp.is_hopeless(now, &self.config) {
            return self.give_up();
        }
        if self.sender.is_outstanding() {
            self.stats.timeouts += 1;
            self.doubt_ecn(now);
            let repeat = self.dcudp().map(|dcudp| dcudp.exp_repeat);
            self.sender.on_exp(repeat.unwrap_or_default());
            self.note_timeout(now, rng);
            self.report(now, CongestionEvent::Timeout { backoff }, rng);
        } else if self.shutdown.is_sent() {
            self.shutdown.set_due(true);
        } else {
            self.packets.keep_alive_due = true;
        }
    }

    /// RFC 9000, section 13.4.2.1: where every packet with ECT was lost, the path may drop such
    /// packets. Without it they are tried again.
    fn doubt_ecn(&mut self, now: Time) {
        let most = match self.accurate() {
            Some(accurate) => accurate.ect_timeouts,
            None => self.dcudp().and_then(|dcudp| dcudp.ect_timeouts),
        };
        let doubtful = most.is_some_and(|most| self.stats.timeouts >= u64::from(most));
        if self.control.ecn && self.sender.una() == 0 && doubtful {
            self.lose_ecn(now);
        }
    }

    /// The peer is silent. Where it owed us nothing, that is its right.
    fn give_up(&mut self) {
        let left = self.sender.unacknowledged();
        if left == 0 && self.shutdown.is_parting() {
            self.end();
        } else {
            self.fail(Failure::Silent(left));
        }
    }

    fn linger_timer(&mut self, now: Time) {
        if self.shutdown.linger_at() <= now {
            let left = self.sender.unacknowledged();
            self.fail(Failure::Linger(left));
            // The peer gets one shutdown.
            self.shutdown.set_due(true);
        }
    }
}
