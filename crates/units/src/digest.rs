//! Running hashes of the events of a run: one per port and one per endpoint, combined in index order.
//!
//! Each hash covers the events of one object only (time, packet, verdict): probes, records and the number of
//! workers do not affect the result. Not cryptographic: it does not resist an attacker.

/// A running hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

/// Odd constants with well-spread bits (the fractional parts of sqrt 2 and sqrt 3).
const FIRST: u64 = 0x6A09_E667_F3BC_C909;
const SECOND: u64 = 0xBB67_AE85_84CA_A73B;

impl Default for Digest {
    fn default() -> Self {
        Self(FIRST)
    }
}

impl Digest {
    /// Mixes two words in.
    #[inline]
    pub fn mix(&mut self, a: u64, b: u64) {
        // A 64 x 64 -> 128 bit product folded in half spreads every input bit.
        let product = u128::from(self.0 ^ a) * u128::from(b ^ SECOND);
        self.0 = ((product >> 64) as u64 ^ product as u64)
            .wrapping_add(SECOND)
            .rotate_left(17);
    }

    /// The hash so far.
    pub const fn value(self) -> u64 {
        self.0
    }
}
