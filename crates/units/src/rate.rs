//! Bit rates, and the exact time that a port needs to send bytes at one.

use crate::{Bytes, Span, mul_div, ns3};

/// Picoseconds in one second, times the bits of one byte.
const PS_BITS_PER_SECOND_BYTE: u64 = 8_000_000_000_000;

/// The condition of every transmission time.
const FITS: &str = "a span stays within 213 days";

/// A bit rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bits` bits per second.
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// The time that `bytes` take at this rate, rounded down to a picosecond. For a sequence of
    /// packets use a [`Serializer`], which does not lose the fractions. The rate must not be zero;
    /// panics where the time exceeds 213 days.
    pub fn span_of(self, bytes: Bytes) -> Span {
        assert!(self.0 > 0, "nothing is ever sent at a rate of zero");
        let ps = mul_div(bytes.count(), PS_BITS_PER_SECOND_BYTE, self.0);
        Span::from_ps(ps.expect(FITS))
    }

    /// The rate of `bytes` in a span, rounded down; the largest one where it does not fit. The span must not
    /// be zero.
    pub fn of(bytes: Bytes, span: Span) -> Self {
        assert!(span > Span::ZERO, "a rate is over some time");
        let rate = mul_div(bytes.count(), PS_BITS_PER_SECOND_BYTE, span.as_ps());
        Self(rate.unwrap_or(u64::MAX))
    }

    /// The bytes that pass in a span at this rate, rounded down.
    pub fn bytes_in(self, span: Span) -> Bytes {
        let bytes = mul_div(self.0, span.as_ps(), PS_BITS_PER_SECOND_BYTE);
        Bytes::new(bytes.unwrap_or(u64::MAX))
    }

    /// Bytes per second, rounded to a double.
    pub fn bytes_per_second_lossy(self) -> f64 {
        self.0 as f64 / 8.0
    }
}

/// Converts bytes to transmission times at a rate, exactly in the long run. The fraction of a picosecond
/// that one packet leaves is carried to the next.
///
/// Invariant: after any sequence of `span` calls the spans add up to
/// floor(8e12 * bytes so far / rate) picoseconds.
#[derive(Debug, Clone)]
pub struct Serializer {
    rate: u64,
    /// Whole picoseconds per byte.
    whole: u64,
    /// The remainder of a byte's time, in picoseconds / rate.
    part: u64,
    /// The carried remainder, in picoseconds / rate; below `rate`.
    carry: u64,
    /// Whether times are those of ns-3.
    ns3: bool,
}

impl Serializer {
    /// A serializer at `rate`, which must not be zero.
    pub fn new(rate: Rate) -> Self {
        assert!(rate.0 > 0, "a port sends at a rate above zero");
        let whole = PS_BITS_PER_SECOND_BYTE / rate.0;
        let part = PS_BITS_PER_SECOND_BYTE % rate.0;
        Self {
            rate: rate.0,
            whole,
            part,
            carry: 0,
            ns3: false,
        }
    }

    /// A serializer whose times are cut to nanoseconds as in ns-3 ([`ns3::transmission_time`]).
    pub fn ns3(rate: Rate) -> Self {
        Self {
            ns3: true,
            ..Self::new(rate)
        }
    }

    /// The same at another rate.
    #[must_use]
    pub fn at_rate(&self, rate: Rate) -> Self {
        Self {
            ns3: self.ns3,
            ..Self::new(rate)
        }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        Rate(self.rate)
    }

    /// The time of one byte where it is a whole number of picoseconds: nothing is ever carried then.
    pub const fn exact(&self) -> Option<Span> {
        if self.part == 0 && !self.ns3 {
            Some(Span::from_ps(self.whole))
        } else {
            None
        }
    }

    /// The time that the next `bytes` take, the carried remainder included.
    #[inline]
    pub fn span(&mut self, bytes: Bytes) -> Span {
        if self.ns3 {
            return ns3::transmission_time(self.rate(), bytes);
        }
        let count = bytes.count();
        let whole = count.checked_mul(self.whole).expect(FITS);
        if self.part == 0 {
            return Span::from_ps(whole);
        }
        let parts = count.checked_mul(self.part);
        let extra = match parts.and_then(|parts| parts.checked_add(self.carry)) {
            Some(parts) => {
                self.carry = parts % self.rate;
                parts / self.rate
            }
            None => self.wide_extra(count),
        };
        Span::from_ps(whole.checked_add(extra).expect(FITS))
    }

    /// The same in 128 bits, an order of magnitude slower: only for amounts beyond any packet.
    #[cold]
    fn wide_extra(&mut self, count: u64) -> u64 {
        let rate = u128::from(self.rate);
        let parts = u128::from(count) * u128::from(self.part) + u128::from(self.carry);
        self.carry = (parts % rate) as u64;
        // At most `count`, since `part` and `carry` are below `rate`.
        (parts / rate) as u64
    }
}
