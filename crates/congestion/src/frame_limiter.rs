//! A rate limiter in a host's NIC: the reaction point of one flow, and the frames that it holds.
//!
//! It is between an endpoint and the NIC's queue, below any transport, and exists from the first notification on.
//! While it is inactive frames pass it by. A frame of s bytes occupies the limiter for s / rate. After a change of the
//! rate, the rest of the frame is sent at the new one. Its queue is short and never drops: further frames stay with
//! the sender. Source: 802.1Qau. Leaves out: several flows in one limiter.

use std::collections::VecDeque;

use incastle_units::{Bytes, Rate, Span, Time};
use rand_core::Rng;

use crate::{Feedback, RateLimiter, RateState, ReactionPoint, ReactionPointConfig};

/// The reaction points of a host: one for each of its flows that is notified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReactionPointSettings {
    /// Their parameters; the line rate is that of the host's NIC.
    pub template: ReactionPointConfig,
    /// Packets that each of them holds at most, at least one.
    pub queue: u32,
}

/// The limiter, of frames `F`, with its random numbers.
pub struct FrameLimiter<F, R> {
    point: ReactionPoint,
    line: Rate,
    rng: R,
    /// Frames with their sizes.
    queue: VecDeque<(Bytes, F)>,
    room: usize,
    /// The end of the frame released last, at the present rate.
    free_at: Time,
    /// The state last reported to the probe.
    reported: Option<RateState>,
}

impl<F, R: Rng> FrameLimiter<F, R> {
    /// A limiter in a NIC of this line rate, before the first notification.
    pub fn new(settings: ReactionPointSettings, line: Rate, rng: R) -> Self {
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
    pub fn is_active(&self) -> bool {
        self.point.rate().is_some() || !self.queue.is_empty()
    }

    /// Whether it takes another frame. At line rate it takes none: it drains, and then frames pass it by.
    pub fn has_room(&self) -> bool {
        self.queue.len() < self.room && self.rate() < self.line
    }

    /// Takes a frame of a size. There must be room.
    pub fn push(&mut self, size: Bytes, frame: F) {
        assert!(self.has_room(), "further frames stay with the sender");
        self.queue.push_back((size, frame));
    }

    /// The frames inside.
    pub fn held(&self) -> impl Iterator<Item = &F> {
        self.queue.iter().map(|(_, frame)| frame)
    }

    /// Takes the frames inside.
    pub fn drain(&mut self) -> impl Iterator<Item = F> {
        self.queue.drain(..).map(|(_, frame)| frame)
    }

    /// A notification has arrived.
    pub fn notified(&mut self, now: Time, feedback: Feedback) {
        self.at_a_new_rate(now, |point, rng| point.on_cnm(now, feedback, rng));
    }

    /// The instant of `next_timer` may have come.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.point.next_timer().is_some_and(|at| at <= now) {
            self.at_a_new_rate(now, |point, rng| point.on_timer(now, rng));
        }
    }

    /// The next timer of the reaction point.
    pub fn next_timer(&self) -> Option<Time> {
        self.point.next_timer()
    }

    /// The next release, if frames wait.
    pub fn next_release(&self) -> Option<Time> {
        (!self.queue.is_empty()).then_some(self.free_at)
    }

    /// Releases the next frame, if it may leave now.
    pub fn release(&mut self, now: Time) -> Option<F> {
        if self.free_at > now {
            return None;
        }
        let (size, frame) = self.queue.pop_front()?;
        self.point.on_sent(now, size, &mut self.rng);
        self.free_at = now + self.rate().span_of(size);
        Some(frame)
    }

    /// Reports an empty queue to the reaction point.
    pub fn rest(&mut self, now: Time) {
        if self.queue.is_empty() {
            self.point.on_idle(now);
        }
    }

    /// The state, if it has changed since the last call.
    pub fn poll_state(&mut self) -> Option<RateState> {
        let state = self.point.state();
        (self.reported.replace(state) != Some(state)).then_some(state)
    }

    fn rate(&self) -> Rate {
        self.point.rate().unwrap_or(self.line)
    }

    /// Applies a change of the rate: the rest of the frame released last is sent at the new one.
    fn at_a_new_rate(&mut self, now: Time, change: impl FnOnce(&mut ReactionPoint, &mut R)) {
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
    use rand_xoshiro::Xoshiro256PlusPlus;
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
    fn limiter() -> FrameLimiter<(), Xoshiro256PlusPlus> {
        let settings = ReactionPointSettings {
            template: ReactionPointConfig {
                timer: Span::from_us(2),
                jitter: 0.0,
                ..ReactionPointConfig::new(LINE)
            },
            queue: 2,
        };
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut limiter = FrameLimiter::new(settings, LINE, rng);
        limiter.notified(Time::ZERO, QUARTER);
        let size = Bytes::new(750);
        limiter.push(size, ());
        limiter.push(size, ());
        assert!(limiter.release(Time::ZERO).is_some());
        limiter
    }

    /// Asserts that the second frame leaves at an instant, and not a picosecond before.
    fn leaves_at(mut limiter: FrameLimiter<(), Xoshiro256PlusPlus>, at: Time) {
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
