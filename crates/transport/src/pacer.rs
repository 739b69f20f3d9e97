//! The pacer of every transport: each packet waits for the transmission time, at the controller's rate,
//! of the packet before it. The arithmetic is exact integer time. draft-gg-udt-03, section 6.1, calls
//! that time the SND interval.
//!
//! A sender that is woken late catches up, so that a busy machine keeps the rate. A pause of the
//! application or of a window is not made up for by a burst, which would build up a queue without
//! reason. Leaves out: which packets leave unpaced, which is the sender's matter.

use incastle_units::{Bytes, Rate, Serializer, Span, Time};

/// The maximum lags of a departure behind now.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Lags {
    /// The limit for a packet that has waited for its time.
    pub(crate) late: Span,
    /// After a pause: packets that are due within it leave together.
    pub(crate) paused: Span,
}

/// The departures of one sender.
#[derive(Debug, Clone)]
pub(crate) struct Pacer {
    /// Carries the remainder from packet to packet, as long as the rate stays.
    serializer: Option<Serializer>,
    /// The next departure.
    next: Time,
    /// When a waiting packet may go, or NEVER.
    wake: Time,
    lags: Lags,
    /// Since the last packet there was nothing that the pacer held back.
    paused: bool,
}

impl Default for Pacer {
    /// One that allows no lag.
    fn default() -> Self {
        Self::new(Lags::default())
    }
}

impl Pacer {
    pub(crate) const fn new(lags: Lags) -> Self {
        Self {
            serializer: None,
            next: Time::ZERO,
            wake: Time::NEVER,
            lags,
            paused: true,
        }
    }

    /// One that allows no lag, with the next departure at `next`.
    pub(crate) fn starting(next: Time) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// Nothing waits for its time: there is nothing to send, or a window or the peer holds it back.
    #[inline]
    pub(crate) const fn pause(&mut self) {
        self.paused = true;
    }

    /// When a waiting packet may go, or NEVER.
    #[inline]
    pub(crate) const fn wake(&self) -> Time {
        self.wake
    }

    /// Whether the next packet has to wait; then the pacer wakes the sender.
    #[inline]
    pub(crate) fn holds(&mut self, now: Time) -> bool {
        let waits = now < self.next;
        if waits {
            self.wake = self.next;
        }
        waits
    }

    /// Whether a packet waits for the next departure.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.wake == self.next
    }

    pub(crate) fn on_timer(&mut self, now: Time) {
        if self.wake <= now {
            self.wake = Time::NEVER;
        }
    }

    /// A packet left while no rate holds anything back.
    #[inline]
    pub(crate) fn on_unpaced(&mut self, now: Time) {
        self.next = now;
    }

    /// A packet left that takes `size` of the rate.
    #[inline(always)]
    pub(crate) fn on_sent(&mut self, now: Time, rate: Rate, size: Bytes) {
        let interval = self.interval(rate, size);
        let Lags { late, paused } = self.lags;
        let lag = if std::mem::take(&mut self.paused) {
            paused.min(late)
        } else {
            late
        };
        self.depart(now, interval, lag);
    }

    /// The same with the credit of Linux's TCP: the time since the packet was due shortens its interval by
    /// up to half (`tcp_update_skb_after_send` of net/ipv4/tcp_output.c, Linux 6.18).
    pub(crate) fn on_sent_with_credit(&mut self, now: Time, rate: Rate, size: Bytes) {
        let interval = self.interval(rate, size);
        self.depart(now, interval, Span::from_ps(interval.as_ps() / 2));
    }

    /// The time that `size` takes of the rate.
    #[inline(always)]
    fn interval(&mut self, rate: Rate, size: Bytes) -> Span {
        // A controller that forbids sending has a window for that.
        let rate = rate.max(Rate::from_bits_per_second(1));
        let serializer = match &mut self.serializer {
            Some(serializer) if serializer.rate() == rate => serializer,
            slot => slot.insert(Serializer::new(rate)),
        };
        serializer.span(size)
    }

    /// The next departure after one that may lag behind `now`.
    #[inline(always)]
    fn depart(&mut self, now: Time, interval: Span, lag: Span) {
        let allowed = now.as_ps().saturating_sub(lag.as_ps());
        let from = self.next.max(Time::from_ps(allowed));
        let next = from.saturating_add(interval);
        assert!(next >= self.next, "departures keep their order");
        self.next = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7 Gbit/s: 1 byte takes 8000 / 7 = 1142 6/7 ps.
    #[test]
    fn the_remainder_is_carried() {
        let mut pacer = Pacer::default();
        let rate = Rate::from_bits_per_second(7_000_000_000);
        for _ in 0..7 {
            pacer.on_sent(Time::ZERO, rate, Bytes::new(1));
        }
        assert_eq!(pacer.next, Time::from_ps(8000));
        // A new rate starts without one.
        pacer.on_sent(Time::ZERO, rate, Bytes::new(1));
        let other = Rate::from_bits_per_second(8_000_000_000);
        pacer.on_sent(Time::ZERO, other, Bytes::new(1));
        assert_eq!(pacer.next, Time::from_ps(8000 + 1142 + 1000));
    }

    /// 8 Gbit/s: 1000 bytes take 1 us.
    #[test]
    fn the_credit_of_a_pause_is_at_most_half_of_an_interval() {
        let rate = Rate::from_bits_per_second(8_000_000_000);
        let ns = |count: u64| Time::from_ps(count * 1_000);
        let mut pacer = Pacer::default();
        // At 0 nothing was due before.
        pacer.on_sent_with_credit(ns(0), rate, Bytes::new(1000));
        assert_eq!(pacer.next, ns(1_000));
        // 300 ns late: the next interval is 700 ns; 10 us late: 500 ns.
        pacer.on_sent_with_credit(ns(1_300), rate, Bytes::new(1000));
        assert_eq!(pacer.next, ns(2_000));
        pacer.on_sent_with_credit(ns(12_000), rate, Bytes::new(1000));
        assert_eq!(pacer.next, ns(12_500));
    }

    #[test]
    fn a_packet_waits_for_its_time_and_the_pacer_wakes_its_sender() {
        let mut pacer = Pacer::default();
        assert!(!pacer.holds(Time::ZERO));
        pacer.on_sent(
            Time::ZERO,
            Rate::from_bits_per_second(8_000_000_000),
            Bytes::new(1000),
        );
        let next = Time::ZERO + Span::from_us(1);
        assert!(pacer.holds(Time::ZERO));
        assert_eq!(pacer.wake(), next);
        pacer.on_timer(next);
        assert_eq!(pacer.wake(), Time::NEVER);
        assert!(!pacer.holds(next));
    }
}
