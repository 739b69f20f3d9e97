//! The numbers of controllers in other languages: window, rate and timer, as 64-bit floats with units.
//!
//! Python's and JavaScript's controllers are read alike. Leaves out: the calls themselves, and their messages.

use incastle_units::{Bytes, Rate, Time};

use crate::controller::Window;

/// Beyond these, a number is no limit any more: all bytes, rates and times of 64 bits.
const UNLIMITED: f64 = u64::MAX as f64;
const PS_PER_S: f64 = 1e12;

/// The values that a transport reads back from a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outputs {
    /// The window.
    pub window: Window,
    /// The rate of pacing.
    pub pacing: Option<Rate>,
    /// The next instant of its timer.
    pub timer: Option<Time>,
}

impl Outputs {
    /// Whether it sends less than before, by window or rate.
    pub fn is_slower_than(&self, before: &Self) -> bool {
        let bytes = |window| match window {
            Window::Limited(bytes) => bytes.count(),
            Window::Unlimited => u64::MAX,
        };
        let bits = |rate: Option<Rate>| rate.map_or(u64::MAX, Rate::bits_per_second);
        bytes(self.window) < bytes(before.window) || bits(self.pacing) < bits(before.pacing)
    }
}

/// A window: bytes, 0 or more, or none for no limit; otherwise it is no window.
pub fn window(number: Option<f64>) -> Option<Window> {
    match number {
        None => Some(Window::Unlimited),
        Some(number) if number >= UNLIMITED => Some(Window::Unlimited),
        Some(number) => bytes(number).map(Window::Limited),
    }
}

/// A number of bytes below all limits, or none.
pub fn bytes(number: f64) -> Option<Bytes> {
    // Not a number is not in the range either.
    (0.0..UNLIMITED)
        .contains(&number)
        .then(|| Bytes::new(number as u64))
}

/// A rate: bits per second, 1 or more, or none for no pacing. Outer none: it is no rate.
#[allow(
    clippy::option_option,
    reason = "no rate and a wrong one are different things"
)]
pub fn rate(bits: Option<f64>) -> Option<Option<Rate>> {
    match bits {
        None => Some(None),
        Some(bits) => (1.0..UNLIMITED)
            .contains(&bits)
            .then(|| Some(Rate::from_bits_per_second(bits as u64))),
    }
}

/// An instant in seconds, not before `earliest`, or none. Outer none: it is no instant, or one that is over.
#[allow(
    clippy::option_option,
    reason = "no timer and a wrong one are different things"
)]
pub fn instant(seconds: Option<f64>, earliest: Time) -> Option<Option<Time>> {
    let Some(seconds) = seconds else {
        return Some(None);
    };
    let ps = seconds * PS_PER_S;
    if ps >= UNLIMITED {
        return Some(None);
    }
    let at = Time::from_ps(ps as u64);
    (ps >= 0.0 && at >= earliest).then_some(Some(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_range_are_refused_and_huge_ones_are_no_limit() {
        assert_eq!(window(None), Some(Window::Unlimited));
        assert_eq!(window(Some(f64::INFINITY)), Some(Window::Unlimited));
        assert_eq!(window(Some(0.9)), Some(Window::Limited(Bytes::ZERO)));
        assert_eq!((window(Some(-1.0)), window(Some(f64::NAN))), (None, None));
        assert_eq!((rate(None), rate(Some(0.5))), (Some(None), None));
        assert_eq!(rate(Some(1.5)), Some(Some(Rate::from_bits_per_second(1))));
        assert_eq!(rate(Some(f64::NAN)), None);
        let now = Time::from_ps(5);
        assert_eq!(instant(Some(5e-12), now), Some(Some(now)));
        assert_eq!(instant(Some(4e-12), now), None);
        assert_eq!(instant(Some(-1.0), Time::ZERO), None);
        assert_eq!(instant(Some(1e300), now), Some(None));
        assert_eq!(instant(Some(f64::NAN), Time::ZERO), None);
    }
}
