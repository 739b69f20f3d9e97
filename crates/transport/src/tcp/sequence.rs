//! Sequence numbers: 32 wrapping bits on the wire (RFC 9293, section 3.4), offsets of 64 bits inside.
//!
//! Offset 0 is the first byte of data, in both directions. The SYN lies just before it, the FIN just
//! after the last byte.

/// The sequence number of every SYN. A fixed one keeps runs reproducible; this one lets every
/// connection that moves more than 64 KiB cross the wrap.
const ISS: u32 = u32::MAX - (1 << 16);

/// The wire's number of the SYN.
pub(super) const SYN: u32 = ISS;

/// The wire's number of `offset`.
#[inline]
pub(super) const fn wire(offset: u64) -> u32 {
    ISS.wrapping_add(1).wrapping_add(offset as u32)
}

/// The offset of a wire number that lies less than 2^31 away from the offset `near`. Numbers before
/// the first byte (that of a SYN) give 0.
#[inline]
pub const fn offset(wire_number: u32, near: u64) -> u64 {
    let distance = wire_number.wrapping_sub(wire(near)).cast_signed();
    near.saturating_add_signed(distance as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_survive_the_wrap() {
        for near in [0_u64, 65_535, 65_536, 65_537, 1 << 32, (1 << 40) + 12_345] {
            for distance in [-1_000_000_i64, -1, 0, 1, 1_460, 1_000_000] {
                let expected = near.saturating_add_signed(distance);
                assert_eq!(offset(wire(expected), near), expected);
            }
        }
        assert_eq!(wire(65_535), u32::MAX);
        assert_eq!(wire(65_536), 0);
    }

    #[test]
    fn a_syn_lies_before_the_first_byte() {
        assert_eq!(SYN.wrapping_add(1), wire(0));
        assert_eq!(offset(SYN, 0), 0);
    }
}
