//! The window rule that NewReno, DCTCP and CUBIC share: conditions of growth, slow start and
//! congestion avoidance by acknowledged bytes (RFC 5681, RFC 3465), and halving. It remembers the last
//! reaction, so that loss and marks of one window of data count once. `slow_start` has the methods that
//! end slow start before congestion.
//!
//! Linux counts windows in whole segments and reduces them by their own size ([`WindowRule`]).
//!
//! Leaves out: the temporary inflation of the window in fast recovery (transport), congestion window
//! validation beyond "do not grow an unused window" (RFC 7661).

use incastle_units::Bytes;

use crate::slow_start::{EarlyExit, SlowStart, SlowStartAck};
use crate::{
    AckSample, CongestionEvent, Context, ControlState, Echo, LimitedBy, Phase, Reaction, Window,
};

/// How windows are counted, and what a reaction takes its share of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WindowRule {
    /// Bytes; the data in flight (RFC 5681, equations 3 and 4).
    #[default]
    Rfc,
    /// Whole segments; the window. `tcp_slow_start`, `tcp_cong_avoid_ai`, `tcp_reno_ssthresh`, Linux 6.18.
    Linux,
}

/// Sizes and switches of the window rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewRenoConfig {
    /// The maximum segment size.
    pub mss: Bytes,
    /// The window at the start and after idleness.
    pub initial_window: Bytes,
    /// The floor after an ECN reaction, at least one segment. (After a loss it is two segments,
    /// after a timeout one: RFC 5681.)
    pub min_cwnd: Bytes,
    /// Whether ACKs with ECE grow the window.
    pub grow_on_ece: bool,
    /// L of RFC 3465: one ACK grows the window in slow start by at most this many segments.
    pub abc_limit: u32,
    /// The end of slow start.
    pub slow_start: SlowStart,
    /// Whether the transport paces segments by [`crate::PacingRatio`]: HyStart takes account of it.
    pub paced: bool,
    /// The units of windows, and the base of reactions.
    pub rule: WindowRule,
}

impl NewRenoConfig {
    /// The defaults for a segment size: an initial window of 10 segments (RFC 6928) and a floor of
    /// 2 segments. The window does not grow on ECE (RFC 3168, section 6.1.2). L = 2 (RFC 3465,
    /// section 2.3), so that delayed ACKs do not slow the start; RFC 5681 has L = 1.
    pub const fn new(mss: Bytes) -> Self {
        Self {
            mss,
            initial_window: Bytes::new(10 * mss.count()),
            min_cwnd: Bytes::new(2 * mss.count()),
            grow_on_ece: false,
            abc_limit: 2,
            slow_start: SlowStart::Standard,
            paced: false,
            rule: WindowRule::Rfc,
        }
    }
}

/// The cause of the last reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Ecn,
    Loss,
    Timeout,
}

/// The last reaction, and the window of data that it covers.
#[derive(Debug, Clone, Copy)]
struct Reacted {
    cause: Cause,
    /// SND.NXT at the reaction: everything before it was sent at the old window.
    until: u64,
    /// The flight before the reaction.
    flight: u64,
}

/// The window and its threshold, in bytes. As small as it can be: every end of every flow has one.
#[derive(Debug, Clone)]
pub(crate) struct RenoWindow {
    mss: u64,
    initial_window: u64,
    min_cwnd: u64,
    cwnd: u64,
    /// `u64::MAX` while unset.
    ssthresh: u64,
    /// Acknowledged data that have not yet become growth: the remainder of equation 3, in bytes
    /// times bytes, less than cwnd bytes; under Linux's rule segments acknowledged.
    counted: u64,
    /// The bytes that the current ACK acknowledged: they were in flight until it came.
    just_acked: u64,
    /// The end of the last reaction's window of data; meaningless without a cause.
    until: u64,
    flight: u64,
    /// Watches slow start, where it may end before congestion.
    exit: Option<Box<EarlyExit>>,
    abc_limit: u32,
    grow_on_ece: bool,
    recovering: bool,
    rule: WindowRule,
    cause: Option<Cause>,
}

impl RenoWindow {
    pub(crate) fn new(config: NewRenoConfig) -> Self {
        let mss = config.mss;
        assert!(mss > Bytes::ZERO, "a segment holds at least one byte");
        assert!(config.initial_window >= mss, "initial_window >= 1 segment");
        assert!(config.min_cwnd >= mss, "min_cwnd >= 1 segment");
        assert!(config.abc_limit >= 1, "abc_limit >= 1");
        Self {
            mss: mss.count(),
            initial_window: config.initial_window.count(),
            min_cwnd: config.min_cwnd.count(),
            cwnd: config.initial_window.count(),
            ssthresh: u64::MAX,
            counted: 0,
            just_acked: 0,
            until: 0,
            flight: 0,
            exit: EarlyExit::new(config.slow_start, config.paced),
            abc_limit: config.abc_limit,
            grow_on_ece: config.grow_on_ece,
            recovering: false,
            rule: config.rule,
            cause: None,
        }
    }

    pub(crate) fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// The window in the transport's form.
    #[inline]
    pub(crate) fn limit(&self) -> Window {
        Window::Limited(Bytes::new(self.cwnd))
    }

    pub(crate) fn mss(&self) -> u64 {
        self.mss
    }

    /// Bytes that the current ACK acknowledged.
    pub(crate) fn just_acked(&self) -> u64 {
        self.just_acked
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    pub(crate) fn state(&self) -> ControlState {
        ControlState {
            cwnd: Some(Bytes::new(self.cwnd)),
            ssthresh: (self.ssthresh != u64::MAX).then_some(Bytes::new(self.ssthresh)),
            ..ControlState::default()
        }
    }

    /// Takes note of an ACK and grows the window where it may.
    #[inline]
    pub(crate) fn on_ack(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) {
        if !self.may_grow(cx, ack) {
            return;
        }
        if self.rule == WindowRule::Linux {
            return self.grow_by_segments(ack);
        }
        if self.in_slow_start() {
            self.slow_start(ack);
        } else {
            self.avoid_congestion(ack.acked.count());
        }
    }

    /// `tcp_reno_cong_avoid`.
    #[inline(never)]
    fn grow_by_segments(&mut self, ack: &AckSample<'_>) {
        // FLAG_DATA_ACKED: data that are only reported grow nothing yet.
        if ack.acked == Bytes::ZERO {
            return;
        }
        let left = if self.in_slow_start() {
            self.slow_start(ack)
        } else {
            ack.segments.into()
        };
        self.avoid_congestion_by(left, self.segments());
    }

    /// The window in whole segments.
    pub(crate) fn segments(&self) -> u64 {
        self.cwnd / self.mss()
    }

    /// Takes note of an ACK; whether it may grow the window.
    #[inline]
    pub(crate) fn may_grow(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) -> bool {
        self.just_acked = ack.acked.count();
        if self.exit.is_some() && self.in_slow_start() {
            self.watch_slow_start(cx, ack);
        }
        // The full ACK that ends a recovery leaves the window at ssthresh (RFC 6582, section 3.2,
        // step 3). The recovery has already counted the data that it acknowledges.
        // In Linux the state is Open again by then, and the ACK counts.
        let ends = self.recovering && self.rule == WindowRule::Rfc;
        let in_recovery = ends || ack.phase == Phase::Recovery;
        self.recovering = ack.phase == Phase::Recovery;
        let echoed = ack.echo == Echo::Congestion && !self.grow_on_ece;
        !in_recovery && !echoed && ack.limited_by == LimitedBy::Window
    }

    /// Ends slow start where the delay or the ACKs say that the path is full.
    #[cold]
    fn watch_slow_start(&mut self, cx: &Context<'_>, ack: &AckSample<'_>) {
        let (cwnd, mss) = (self.cwnd, self.mss);
        let at = SlowStartAck { ack, cwnd, mss };
        if self.exit.as_mut().is_some_and(|exit| exit.on_ack(cx, at)) {
            self.ssthresh = cwnd.max(2 * mss);
            self.exit.take_if(|exit| exit.is_over());
        }
    }

    /// Slow start, in counted bytes: RFC 5681, equation 2, with the limit of RFC 3465, section 2.2.
    /// After a timeout it is one segment per ACK, since an ACK may cover data that arrived long
    /// before (RFC 3465, section 2.3).
    /// Under Linux's rule it ends at ssthresh (`tcp_slow_start`); gives the acknowledged segments that are left for
    /// congestion avoidance.
    #[inline]
    pub(crate) fn slow_start(&mut self, ack: &AckSample<'_>) -> u64 {
        let limit = match ack.phase {
            Phase::AfterTimeout => 1,
            Phase::Open | Phase::Recovery => u64::from(self.abc_limit),
        };
        let growth = ack.acked.count().min(limit * self.mss());
        let divisor = self.exit.as_ref().map_or(1, |exit| exit.growth_divisor());
        if self.rule == WindowRule::Linux {
            let mut segments = u64::from(ack.segments).min(limit);
            if divisor > 1 {
                self.counted += segments;
                segments = self.counted / divisor;
                self.counted %= divisor;
            }
            let room = (self.ssthresh - self.cwnd).div_ceil(self.mss());
            let growth = segments.min(room);
            self.cwnd = self.cwnd.saturating_add(growth * self.mss());
            return segments - growth;
        }
        self.cwnd = self.cwnd.saturating_add(growth / divisor);
        0
    }

    /// `tcp_cong_avoid_ai`: one segment for each `credit` acknowledged ones.
    pub(crate) fn avoid_congestion_by(&mut self, segments: u64, credit: u64) {
        if segments == 0 {
            return;
        }
        // The rest of a larger credit counts as one segment (`tcp_cong_avoid_ai`).
        if self.counted >= credit {
            self.counted = 0;
            self.cwnd += self.mss();
        }
        self.counted += segments;
        let growth = self.counted / credit;
        self.counted -= growth * credit;
        self.cwnd = self.cwnd.saturating_add(growth * self.mss());
    }

    /// Bytes as whole segments, under Linux's rule.
    fn whole(&self, bytes: u64) -> u64 {
        match self.rule {
            WindowRule::Rfc => bytes,
            WindowRule::Linux => bytes - bytes % self.mss(),
        }
    }

    /// Congestion avoidance: RFC 5681, equation 3, with the bytes acknowledged in place of one segment
    /// per ACK. Delayed ACKs therefore do not slow the growth. The increase is SMSS * acked / cwnd;
    /// the remainder is kept for the next ACK. The RFC's other form, one segment when a window of data
    /// was counted, comes up to a round trip later after each cut.
    #[inline]
    fn avoid_congestion(&mut self, acked: u64) {
        // At most one segment per round trip: an ACK of several windows counts as one.
        let credit = acked.min(self.cwnd).saturating_mul(self.mss());
        self.counted = self.counted.saturating_add(credit);
        let growth = self.counted / self.cwnd;
        self.counted -= growth * self.cwnd;
        self.cwnd = self.cwnd.saturating_add(growth);
    }

    /// NewReno's reaction to every event; to marks a window of `on_mark`, once per window of data.
    pub(crate) fn on_congestion(
        &mut self,
        cx: &Context<'_>,
        event: CongestionEvent,
        on_mark: impl FnOnce(&Self) -> u64,
    ) -> Reaction {
        match event {
            CongestionEvent::Ecn if self.reacted(cx) => Reaction::Ignored,
            CongestionEvent::Ecn => {
                let target = on_mark(self);
                self.on_ecn(cx, target);
                Reaction::Reduced
            }
            CongestionEvent::Loss { .. } => self.on_loss(cx, half),
            CongestionEvent::Timeout { backoff } => {
                self.on_timeout(cx, backoff, half);
                Reaction::Reduced
            }
            CongestionEvent::IdleRestart => {
                self.on_idle_restart();
                Reaction::Ignored
            }
            CongestionEvent::Over => Reaction::Ignored,
        }
    }

    /// Takes the window that another growth rule computed.
    pub(crate) fn grow_to(&mut self, cwnd: u64) {
        assert!(cwnd >= self.cwnd, "growth never shortens the window");
        self.cwnd = cwnd;
    }

    /// Whether the marks that the current ACK echoes belong to a window of data with an earlier
    /// reaction (RFC 3168, section 6.1.2). The bound itself belongs to it: CWR travels on the data
    /// that begins there.
    #[inline]
    pub(crate) fn reacted(&self, cx: &Context<'_>) -> bool {
        self.last_reaction()
            .is_some_and(|last| cx.snd_una <= last.until)
    }

    /// The flight when the current ACK arrived, limited by the window: the base of a reaction to
    /// congestion (RFC 5681, equation 4). Under Linux's rule the window.
    pub(crate) fn flight(&self, cx: &Context<'_>) -> u64 {
        match self.rule {
            WindowRule::Rfc => (cx.in_flight.count() + self.just_acked).min(self.cwnd),
            WindowRule::Linux => self.cwnd,
        }
    }

    /// Reacts to marks by a window of `target` bytes, never less than the floor.
    pub(crate) fn on_ecn(&mut self, cx: &Context<'_>, target: u64) {
        self.remember_mark(cx);
        self.move_to(target.min(self.cwnd));
    }

    /// The reaction to a mark covers the window of data that has been sent so far.
    pub(crate) fn remember_mark(&mut self, cx: &Context<'_>) {
        let flight = self.flight(cx);
        self.remember(cx, Cause::Ecn, flight);
    }

    /// Moves the window to `target` bytes, not below the floor, and ends slow start there. A window
    /// that is below the floor since a timeout is not raised.
    pub(crate) fn move_to(&mut self, target: u64) {
        let target = self.whole(target);
        self.ssthresh = target.max(2 * self.mss());
        self.cwnd = target.max(self.cwnd.min(self.min_cwnd));
        self.counted = 0;
    }

    /// The flight before the cut, if the data that was lost (at SND.UNA) was sent before a cut on a
    /// mark.
    pub(crate) fn cut_on_mark(&self, cx: &Context<'_>) -> Option<u64> {
        self.last_reaction()
            .filter(|last| last.cause == Cause::Ecn && cx.snd_una < last.until)
            .map(|last| last.flight)
    }

    /// Reacts to a loss by a share of the flight: RFC 5681, equation 4 and section 3.2, step 2.
    ///
    /// If the same window of data was already cut on a mark, the loss is measured against the
    /// flight before that cut. Both are one reaction, that to the loss.
    pub(crate) fn on_loss(&mut self, cx: &Context<'_>, share: impl Fn(u64) -> u64) -> Reaction {
        let flight = self.cut_on_mark(cx).unwrap_or(match self.rule {
            WindowRule::Rfc => cx.in_flight.count(),
            WindowRule::Linux => self.cwnd,
        });
        self.remember(cx, Cause::Loss, flight);
        let before = self.cwnd;
        self.ssthresh = self.whole(share(flight)).max(2 * self.mss());
        self.cwnd = self.cwnd.min(self.ssthresh);
        if self.cwnd < before {
            Reaction::Reduced
        } else {
            Reaction::Ignored
        }
    }

    /// Reacts to a timeout: RFC 5681, section 3.1. A segment that times out again leaves ssthresh
    /// where it is (equation 4 holds for its first timeout only).
    pub(crate) fn on_timeout(
        &mut self,
        cx: &Context<'_>,
        backoff: u32,
        share: impl Fn(u64) -> u64,
    ) {
        // `tcp_enter_loss`: a window of data reduces ssthresh once, and again after progress in the state Loss.
        let after_timeout = self.cause == Some(Cause::Timeout);
        let reduced = self.rule == WindowRule::Linux && self.covers(cx) && !after_timeout;
        let flight = self.flight_at_timeout(cx);
        self.remember(cx, Cause::Timeout, flight);
        self.recovering = false;
        if let Some(exit) = &mut self.exit {
            exit.on_timeout();
        }
        if backoff == 0 && !reduced {
            self.ssthresh = self.whole(share(flight)).max(2 * self.mss());
        }
        // The loss window: one segment.
        self.cwnd = self.mss();
    }

    /// FlightSize at a timeout. If a retransmission was lost in a SACK recovery, new data kept
    /// leaving behind it for a whole timeout. They are not cumulatively acknowledged, but are far
    /// more than the network ever held. No more counts than was in flight when the recovery began.
    fn flight_at_timeout(&self, cx: &Context<'_>) -> u64 {
        match self.rule {
            WindowRule::Linux => self.cwnd,
            WindowRule::Rfc if self.covers(cx) => cx.in_flight.count().min(self.flight),
            WindowRule::Rfc => cx.in_flight.count(),
        }
    }

    /// Whether the first outstanding data were sent before the last reaction.
    fn covers(&self, cx: &Context<'_>) -> bool {
        let last = self.last_reaction();
        last.is_some_and(|last| cx.snd_una < last.until)
    }

    /// The last reaction was needless. As Linux has it, the window and the threshold are at least those before.
    pub(crate) fn restore(&mut self, before: &ControlState) {
        let cwnd = before.cwnd.map_or(0, Bytes::count);
        self.cwnd = self.cwnd.max(cwnd);
        let ssthresh = before.ssthresh.map_or(u64::MAX, Bytes::count);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.counted = 0;
        self.recovering = false;
        self.cause = None;
    }

    /// The restart window after idleness: RFC 5681, section 4.1.
    pub(crate) fn on_idle_restart(&mut self) {
        self.cwnd = self.cwnd.min(self.initial_window);
        self.counted = 0;
    }

    fn remember(&mut self, cx: &Context<'_>, cause: Cause, flight: u64) {
        self.counted = 0;
        self.cause = Some(cause);
        self.until = cx.snd_nxt;
        self.flight = flight;
        self.exit.take_if(|exit| exit.is_over());
    }

    #[inline]
    fn last_reaction(&self) -> Option<Reacted> {
        let (until, flight) = (self.until, self.flight);
        self.cause.map(|cause| Reacted {
            cause,
            until,
            flight,
        })
    }
}

/// The half of a flight: RFC 5681, equation 4.
pub(crate) fn half(flight: u64) -> u64 {
    flight / 2
}
