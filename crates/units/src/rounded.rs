//! Quantities rounded to three digits for readers: `9.41 Gbit/s`. Inexact; exact ones are [`Display`](std::fmt::Display).
//!
//! Python's `incastle.units.si` writes the same strings. Leaves out: sizes, other numbers of digits.

use crate::text::{DURATIONS, RATES};

/// 1000 of a unit, as far as three digits show, is written as 1 of the next.
const ROUNDS_UP: f64 = 1.0 + 0.5 * 1e-3;

/// A span of time.
pub fn seconds(seconds: f64) -> String {
    rounded(
        seconds,
        &DURATIONS.map(|(name, picoseconds)| (name, picoseconds as f64 / 1e12)),
        "s",
    )
}

/// A rate.
pub fn bits_per_second(rate: f64) -> String {
    rounded(
        rate,
        &RATES.map(|(name, bits)| (name, bits as f64)),
        "bit/s",
    )
}

/// In the largest unit that fits, the smallest first in `units`; in `base` if none does.
fn rounded(value: f64, units: &[(&str, f64)], base: &str) -> String {
    let reached = value.abs() * ROUNDS_UP;
    let fitting = units.iter().rfind(|(_, factor)| *factor <= reached);
    let (name, factor) = fitting.copied().unwrap_or((base, 1.0));
    let size = value / factor;
    let decimals = match size.abs() {
        below if below < 10.0 => 2,
        below if below < 100.0 => 1,
        _ => 0,
    };
    let text = format!("{size:.decimals$}");
    let text = if decimals > 0 {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_in_the_largest_unit_that_fits() {
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(9.4132e-6), "9.41 us");
        assert_eq!(seconds(94.96e-6), "95 us");
        assert_eq!(seconds(100e-6), "100 us");
        assert_eq!(seconds(12_345.0), "12345 s");
        assert_eq!(bits_per_second(2.5e9), "2.5 Gbit/s");
    }

    #[test]
    fn almost_one_of_a_unit_is_one() {
        assert_eq!(seconds(999.6e-6), "1 ms");
        assert_eq!(seconds(999.4e-6), "999 us");
        assert_eq!(bits_per_second(999.9e6), "1 Gbit/s");
    }
}
