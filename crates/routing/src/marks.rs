//! The byte of a packet that ports change: its ECN field, and how far it has come.
//!
//! Leaves out: when a port marks.

use incastle_units::Ecn;

/// The ECN field in the two lowest bits; above it the number of ports passed, which wraps: a hint for the next-hop
/// cache.
#[derive(Debug, Clone, Copy)]
pub struct Marks(u8);

impl Marks {
    const ECN: u8 = 3;
    const PASSED: u8 = 4;

    /// The marks of a packet that has passed no port.
    #[inline(always)]
    pub const fn of(ecn: Ecn) -> Self {
        Self(ecn as u8)
    }

    /// The ECN field.
    #[inline(always)]
    pub const fn ecn(self) -> Ecn {
        match self.0 & Self::ECN {
            0 => Ecn::NotEct,
            1 => Ecn::Ect0,
            2 => Ecn::Ce,
            _ => Ecn::Ect1,
        }
    }

    /// The ECN field as a number.
    #[inline(always)]
    pub const fn ecn_bits(self) -> u64 {
        (self.0 & Self::ECN) as u64
    }

    /// Sets another ECN field.
    #[inline(always)]
    pub const fn set_ecn(&mut self, ecn: Ecn) {
        self.0 = self.0 & !Self::ECN | ecn as u8;
    }

    /// The number of ports passed.
    #[inline(always)]
    pub const fn passed(self) -> usize {
        (self.0 / Self::PASSED) as usize
    }

    /// Counts one more port.
    #[inline(always)]
    pub const fn pass(&mut self) {
        self.0 = self.0.wrapping_add(Self::PASSED);
    }
}
