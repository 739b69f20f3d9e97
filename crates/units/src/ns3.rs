//! The transmission time of a packet as ns-3 computes it, for comparisons with simulations made there.
//!
//! Models `DataRate::CalculateTxTime` and `Seconds (double)` of ns-3 with its default 128-bit
//! `int64x64_t` and nanoseconds as resolution (the version in High-Precision-Congestion-Control). The seconds are a double;
//! its fraction is cut to 64 binary digits, and the product with 10^9 to whole nanoseconds. Almost no
//! whole number of nanoseconds is a binary fraction of a second: it comes out 1 ns less.
//!
//! Leaves out: other resolutions, negative times, and the `int64x64_t` of later versions, which rounds.

use crate::{Bytes, Rate, Span};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// 2^64, the weight of the integer part in `int64x64_t`.
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// The time that `bytes` take at `rate`, in ns-3. The rate must not be zero.
pub fn transmission_time(rate: Rate, bytes: Bytes) -> Span {
    let bits_per_second = rate.bits_per_second();
    assert!(
        bits_per_second > 0,
        "nothing is ever sent at a rate of zero"
    );
    // data-rate.cc, CalculateTxTime: bytes * 8 / bps in a double.
    seconds(bytes.count() as f64 * 8.0 / bits_per_second as f64)
}

/// The span that `Seconds (seconds)` is in ns-3. Negative values and NaN give zero; panics beyond 213
/// days.
pub fn seconds(seconds: f64) -> Span {
    // int64x64-128.h, the constructor from a double: both conversions to integers cut.
    let whole = seconds as u64;
    let fraction = ((seconds - whole as f64) * TWO_TO_64) as u64;
    // int64x64-128.cc, Umul; then Time takes the integer part (GetHigh).
    let below_second = (u128::from(fraction) * u128::from(NS_PER_SECOND)) >> 64;
    let below_second =
        u64::try_from(below_second).expect("a fraction of a second is below 10^9 ns");
    Span::from_secs(1) * whole + Span::from_ns(below_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The nanoseconds that `bytes` take at so many megabits per second.
    fn ns(bytes: u64, mbit: u64) -> u64 {
        let span = transmission_time(
            Rate::from_bits_per_second(mbit * 1_000_000),
            Bytes::new(bytes),
        );
        assert!(span.as_ps().is_multiple_of(1_000), "whole nanoseconds");
        span.as_ps() / 1_000
    }

    /// The packet of HPCC's simulations, 1048 bytes: 838.4, 335.36, 83.84, 20.96 and 0.08384 ns.
    #[test]
    fn fractions_of_a_nanosecond_are_cut() {
        let rates = [10_000, 25_000, 100_000, 400_000, 100_000_000];
        assert_eq!(rates.map(|rate| ns(1048, rate)), [838, 335, 83, 20, 0]);
        assert_eq!(
            [ns(1056, 10_000), ns(1090, 10_000), ns(60, 25_000)],
            [844, 871, 19]
        );
    }

    /// Outputs of ns-3's own `int64x64-128` (commit fc53eaae), compiled with g++ 12 for x86-64.
    #[test]
    fn whole_nanoseconds_come_out_one_less() {
        // Exactly 400, 800, 1000 and 1200 ns at 10 Gbit/s.
        let sizes = [500, 1000, 1250, 1500];
        assert_eq!(sizes.map(|bytes| ns(bytes, 10_000)), [399, 799, 999, 1_199]);
        // 160 and 320 ns at 25 Gbit/s; 64 bytes take 20.48 ns.
        assert_eq!(
            [500, 1000, 64].map(|bytes| ns(bytes, 25_000)),
            [159, 319, 20]
        );
    }

    /// Above 488 us a double has no more than 64 binary digits behind the point: only its rounding counts.
    #[test]
    fn slow_links_are_nearly_exact() {
        let rate = Rate::from_bits_per_second(8_000);
        let times = [1, 60, 64, 1048].map(|bytes| transmission_time(rate, Bytes::new(bytes)));
        let expected = [1_000_000, 59_999_999, 64_000_000, 1_048_000_000];
        assert_eq!(times, expected.map(Span::from_ns));
    }

    /// Likewise from ns-3's own code: starts of flows are read as doubles.
    #[test]
    fn instants_are_cut_as_well() {
        let cases = [
            (0.0, 0),
            (1.0, 1_000_000_000),
            (1.5, 1_500_000_000),
            (0.1, 100_000_000),
            (1.000_001, 1_000_000_999),
            (2.000_000_001, 2_000_000_001),
            (2.000_04, 2_000_039_999),
            (3.3e-9, 3),
            (213.7, 213_699_999_999),
            (-1.0, 0),
        ];
        for (given, expected) in cases {
            assert_eq!(seconds(given), Span::from_ns(expected), "{given} s");
        }
    }
}
