//! Numbers from a random source that the caller passes in, by exact arithmetic or `libm` only, so
//! that a draw is the same on every machine.

use rand_core::Rng;

/// A draw from U[0, 1), with 53 random bits.
pub fn uniform(rng: &mut dyn Rng) -> f64 {
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * UNIT
}

/// A draw from U{0, ..., bound - 1} without bias to speak of (below 2^-32 for bounds under 2^32).
/// `bound` must not be zero.
pub fn below(rng: &mut dyn Rng, bound: u64) -> u64 {
    assert!(bound > 0, "a draw below zero");
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// A draw from the exponential distribution with mean 1.
pub fn exponential(rng: &mut dyn Rng) -> f64 {
    // 1 - U lies in (0, 1], so that the logarithm is finite.
    -libm::log(1.0 - uniform(rng))
}
