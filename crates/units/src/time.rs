//! Instants and spans of simulated time, in whole picoseconds.
//!
//! A `u64` of picoseconds spans 213 days. An instant and a span are different types: instants
//! subtract to a span, and only a span can be added to an instant.

use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Picoseconds in one second.
const PS_PER_SECOND: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the beginning of the simulation (or of the endpoint's clock).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);
    /// An instant that never comes.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `ps` picoseconds after the beginning.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// The whole nanosecond before it, or itself.
    #[must_use]
    pub const fn whole_ns(self) -> Self {
        Self(self.0 - self.0 % 1_000)
    }

    /// Picoseconds since the beginning.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning, rounded to a double.
    pub fn as_secs_lossy(self) -> f64 {
        Span(self.0).as_secs_lossy()
    }

    /// The span since `earlier`, or zero if `earlier` is later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// `self + span`, or [`Time::NEVER`] where that overflows.
    #[must_use]
    pub const fn saturating_add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A span of `seconds` seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * PS_PER_SECOND)
    }

    /// The nearest span to `seconds`; negative values and NaN give zero, values beyond 213 days the
    /// longest span.
    pub fn from_secs_lossy(seconds: f64) -> Self {
        Self((seconds * PS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds, rounded to a double.
    pub fn as_secs_lossy(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// `self * factor`, or the longest span where that overflows.
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * factor` in floating point, rounded down to a picosecond; never below zero nor above
    /// the longest span.
    #[must_use]
    pub fn scale_lossy(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor) as u64)
    }
}

/// Panics where the instant would overflow: 213 days have passed.
impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(
            self.0
                .checked_add(span.0)
                .expect("an instant stays within 213 days"),
        )
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// Panics where `earlier` is later than `self`: time never runs back.
impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, earlier: Time) -> Span {
        Span(self.0.checked_sub(earlier.0).expect("time never runs back"))
    }
}

/// Panics before the beginning.
impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(
            self.0
                .checked_sub(span.0)
                .expect("no instant before the beginning"),
        )
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(
            self.0
                .checked_add(other.0)
                .expect("a span stays within 213 days"),
        )
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(
            self.0
                .checked_sub(other.0)
                .expect("a span is never negative"),
        )
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(
            self.0
                .checked_mul(factor)
                .expect("a span stays within 213 days"),
        )
    }
}

impl Div<u64> for Span {
    type Output = Self;
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_subtract_to_spans() {
        let start = Time::from_ps(5);
        assert_eq!(start + Span::from_ns(1) - start, Span::from_ps(1_000));
        assert_eq!(start - Span::from_ps(5), Time::ZERO);
        let mut now = start;
        now += Span::from_ps(2);
        assert_eq!(now.as_ps(), 7);
        assert_eq!(now.saturating_since(start), Span::from_ps(2));
        assert_eq!(start.saturating_since(now), Span::ZERO);
        assert_eq!(now.saturating_add(Span::MAX), Time::NEVER);
    }

    #[test]
    #[should_panic(expected = "time never runs back")]
    fn a_negative_span_is_a_defect() {
        let _ = Time::ZERO - Time::from_ps(1);
    }

    #[test]
    #[should_panic(expected = "no instant before the beginning")]
    fn an_instant_before_the_beginning_is_a_defect() {
        let _ = Time::ZERO - Span::from_ps(1);
    }

    #[test]
    #[should_panic(expected = "an instant stays within 213 days")]
    fn an_instant_after_the_end_is_a_defect() {
        let _ = Time::NEVER + Span::from_ps(1);
    }

    #[test]
    fn spans_are_built_from_any_unit() {
        assert_eq!(Span::from_ns(1), Span::from_ps(1_000));
        assert_eq!(Span::from_us(1), Span::from_ns(1_000));
        assert_eq!(Span::from_ms(1), Span::from_us(1_000));
        assert_eq!(Span::from_secs(1), Span::from_ms(1_000));
        // 213 days and a little: 2^64 / 86400e12 = 213.5.
        assert_eq!(Span::MAX.as_ps() / Span::from_secs(86_400).as_ps(), 213);
    }

    #[test]
    fn spans_calculate() {
        let mut span = Span::from_ps(7);
        span += Span::from_ps(3);
        span -= Span::from_ps(1);
        assert_eq!(span * 3, Span::from_ps(27));
        assert_eq!(span / 2, Span::from_ps(4));
        assert_eq!(span.saturating_sub(Span::from_ps(10)), Span::ZERO);
        assert_eq!(span.saturating_mul(u64::MAX), Span::MAX);
    }

    #[test]
    #[should_panic(expected = "a span is never negative")]
    fn a_span_below_zero_is_a_defect() {
        let _ = Span::ZERO - Span::from_ps(1);
    }

    #[test]
    #[should_panic(expected = "a span stays within 213 days")]
    fn a_product_beyond_the_clock_is_a_defect() {
        let _ = Span::from_secs(1) * 18_446_745;
    }

    #[test]
    fn doubles_are_rounded_and_bounded() {
        // The double nearest to 0.3 lies below it: rounding down could lose a picosecond.
        assert_eq!(Span::from_secs_lossy(0.3), Span::from_ms(300));
        assert_eq!(Span::from_secs_lossy(1.6e-12), Span::from_ps(2));
        assert_eq!(Span::from_secs_lossy(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_lossy(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_secs_lossy(1e30), Span::MAX);
        assert_eq!(Span::from_ps(10).scale_lossy(0.59), Span::from_ps(5));
        assert_eq!(Span::from_ps(10).scale_lossy(-1.0), Span::ZERO);
        let seconds = (Time::ZERO + Span::from_ms(1_500)).as_secs_lossy();
        assert!((seconds - 1.5).abs() < f64::EPSILON);
    }
}
