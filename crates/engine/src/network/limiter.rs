//! A rate limiter in a host's NIC: the reaction point of one flow, and the frames that it holds.
//!
//! It is between an endpoint and the NIC's queue, below any transport, and exists from the first notification on.
//! While it is inactive frames pass it by. A frame of s bytes occupies the limiter for s / rate. After a change of the
//! rate, the rest of the frame is sent at the new one. Its queue is short and never drops: further frames stay with
//! the sender. The rates are those of `incastle_congestion`. Leaves out: several flows in one limiter.

use std::collections::VecDeque;

use incastle_congestion::{Feedback, RateLimiter, RateState, ReactionPoint, ReactionPointConfig};
use incastle_units::{Rate, Span, Time};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::network::Packet;

/// The reaction points of a host: one for each of its flows that is notified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReactionPointSettings {
    /// Their parameters; the line rate is that of the host's NIC.
    pub template: ReactionPointConfig,
    /// Packets that each of them holds at most, at least one.
    pub queue: u32,
}

/// The limiter.
pub(crate) struct Limiter {
    point: ReactionPoint,
    line: Rate,
    rng: Xoshiro256PlusPlus,
    queue: VecDeque<Packet>,
    room: usize,
    /// The end of the frame released last, at the present rate.
    free_at: Time,
    /// The state last reported to the probe.
    reported: Option<RateState>,
}

impl Limiter {
    pub(crate) fn new(
        settings: ReactionPointSettings,
        line: Rate,
        rng: Xoshiro256PlusPlus,
    ) -> Self {
        assert!(settings.queue > 0, "a limiter holds at least one packet");
        let config = ReactionPointConfig {
            line_rate: line,
            ..settings.template
        };
        Self {
            point: ReactionPoint::new(config),
            line,
            rng,
            queue: VecDeque::new(),
            room: settings.queue as usize,
            free_at: Time::ZERO,
            reported: None,
        }
    }

    /// Whether frames pass through it.
    pub(crate) fn is_active(&self) -> bool {
        self.point.rate().is_some() || !self.queue.is_empty()
    }

    /// Whether it takes another frame. At line rate it takes none: it drains, and then frames pass it by.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < self.room && self.rate() < self.line
    }

    pub(crate) fn push(&mut self, packet: Packet) {
        assert!(self.has_room(), "further frames stay with the sender");
        self.queue.push_back(packet);
    }

    /// The frames inside.
    pub(crate) fn held(&self) -> &VecDeque<Packet> {
        &self.queue
    }

    /// A notification has arrived.
    pub(crate) fn notified(&mut self, now: Time, feedback: Feedback) {
        self.at_a_new_rate(now, |point, rng| point.on_cnm(now, feedback, rng));
    }

    /// The instant of `next_timer` may have come.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.point.next_timer().is_some_and(|at| at <= now) {
            self.at_a_new_rate(now, |point, rng| point.on_timer(now, rng));
        }
    }

    /// The next timer of the reaction point.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.point.next_timer()
    }

    /// The next release, if frames wait.
    pub(crate) fn next_release(&self) -> Option<Time> {
        (!self.queue.is_empty()).then_some(self.free_at)
    }

    /// Releases the next frame, if it may leave now.
    pub(crate) fn release(&mut self, now: Time) -> Option<Packet> {
        if self.free_at > now {
            return None;
        }
        let packet = self.queue.pop_front()?;
        let size = packet.size();
        self.point.on_sent(now, size, &mut self.rng);
        self.free_at = now + self.rate().span_of(size);
        Some(packet)
    }

    /// Reports an empty queue to the reaction point.
    pub(crate) fn rest(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.point.on_idle(now);
        }
    }

    /// The state, if it has changed since the last call.
    pub(crate) fn poll_state(&mut self) -> Option<RateState> {
        let state = self.point.state();
        (self.reported.replace(state) != Some(state)).then_some(state)
    }

    fn rate(&self) -> Rate {
        self.point.rate().unwrap_or(self.line)
    }

    /// Applies a change of the rate: the rest of the frame released last is sent at the new one.
    fn at_a_new_rate(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut ReactionPoint, &mut Xoshiro256PlusPlus),
    ) {
        let before = self.rate().bits_per_second();
        change(&mut self.point, &mut self.rng);
        let after = self.rate().bits_per_second();
        let left = u128::from(self.free_at.saturating_since(now).as_ps());
        if left > 0 && before != after {
            let left = left * u128::from(before) / u128::from(after);
            let left = u64::try_from(left).expect("a frame passes within months");
            self.free_at = now + Span::from_ps(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use incastle_units::Bytes;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    const LINE: Rate = Rate::from_bits_per_second(1_000_000_000);
    /// A quarter of the rate: 32 of 128.
    const QUARTER: Feedback = Feedback { psi: 32 };

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    /// At 750 Mbit/s from the start on, with two frames of 750 bytes, the first of which leaves
    /// immediately: 6000 bits take 8 us.
    fn limiter() -> Limiter {
        let settings = ReactionPointSettings {
            template: ReactionPointConfig {
                timer: Span::from_us(2),
                jitter: 0.0,
                ..ReactionPointConfig::new(LINE)
            },
            queue: 2,
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut limiter = Limiter::new(settings, LINE, rng);
        limiter.notified(Time::ZERO, QUARTER);
        let frame = Packet {
            size: 750,
            ..Packet::EMPTY
        };
        assert_eq!(frame.size(), Bytes::new(750));
        limiter.push(frame);
        limiter.push(frame);
        assert!(limiter.release(Time::ZERO).is_some());
        limiter
    }

    /// Asserts that the second frame leaves at an instant, and not a picosecond before.
    fn leaves_at(mut limiter: Limiter, at: Time) {
        assert!(limiter.release(at - Span::from_ps(1)).is_none());
        assert!(limiter.release(at).is_some());
    }

    #[test]
    fn a_frame_takes_its_time_at_the_rate() {
        leaves_at(limiter(), at(8));
    }

    #[test]
    fn the_rest_of_a_frame_takes_longer_at_a_lower_rate() {
        // After 2 us 6 us are left; at three quarters of the rate they are 8 us.
        let mut limiter = limiter();
        limiter.notified(at(2), QUARTER);
        leaves_at(limiter, at(10));
    }

    #[test]
    fn the_rest_of_a_frame_takes_less_time_at_a_higher_rate() {
        // Fast recovery: from 750 half-way to 1000 Mbit/s. The 6 us that are left become 6 x 750 /
        // 875.
        let mut limiter = limiter();
        limiter.handle_timeout(at(2));
        leaves_at(limiter, at(2) + Span::from_ps(5_142_857));
    }

    #[test]
    fn a_frame_that_has_passed_delays_nothing() {
        let mut limiter = limiter();
        limiter.notified(at(9), QUARTER);
        assert!(limiter.release(at(9)).is_some());
    }
}
