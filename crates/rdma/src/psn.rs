//! Packet sequence numbers: 24 bits on the wire, which wrap; 64 bits inside, which do not.

/// The largest packet sequence number.
pub const MAX_PSN: u32 = (1 << 24) - 1;

/// IB 9.7: at most half of the sequence space is outstanding, so that old and new packets differ.
pub(crate) const MAX_OUTSTANDING: u64 = 1 << 23;

/// The 24 bits that the wire has.
pub(crate) const fn wire(number: u64) -> u32 {
    number as u32 & MAX_PSN
}

/// The number nearest to `near` that has these 24 bits. None before the start of all numbers.
pub(crate) const fn unwrap(psn: u32, near: u64) -> Option<u64> {
    // The difference as a signed number of 24 bits.
    let ahead = (psn.wrapping_sub(near as u32) << 8).cast_signed() >> 8;
    near.checked_add_signed(ahead as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_wire() {
        for near in [0, 5, 1 << 23, (1 << 24) - 1, 1 << 24, 1 << 40] {
            for other in near..near + MAX_OUTSTANDING {
                if other % 104_729 == 0 || other - near < 3 {
                    assert_eq!(unwrap(wire(other), near), Some(other));
                    assert_eq!(unwrap(wire(near), other), Some(near));
                }
            }
        }
        assert_eq!(unwrap(MAX_PSN, 0), None);
    }
}
