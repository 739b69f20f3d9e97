//! The invariant CRC at the end of a RoCEv2 packet.
//!
//! Sources: InfiniBand Architecture Specification, volume 1, 7.8.1 (the CRC-32 of Ethernet over everything that
//! routers and switches leave as it is), and annex A17 (the fields of IPv4 and UDP that count as ones).
//! Leaves out: IPv6.

/// The generator polynomial of CRC-32 (IEEE 802.3, 3.2.9) in reversed bits: the highest stands for x^0.
const POLYNOMIAL: u32 = 0xEDB8_8320;
/// 7.8.1 and annex A17: ones stand for the local route header of InfiniBand.
const ROUTE_HEADER: [u8; 8] = [0xFF; 8];
/// The bytes of an IPv4 packet that count as ones, as they may change on the path: DSCP and ECN, time to live, the
/// header's checksum, UDP's checksum, and the byte of the BTH with FECN and BECN.
const VARIANT: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];

/// The invariant CRC of a packet, in the order of its bytes: `packet` from the IPv4 header on, then zeros.
pub(crate) fn invariant_crc(packet: &[u8], zeros: usize) -> [u8; 4] {
    let mut masked = packet.to_vec();
    for at in VARIANT {
        masked[at] = 0xFF;
    }
    let register = update(update(!0, &ROUTE_HEADER), &masked);
    (!update_zeros(register, zeros)).to_le_bytes()
}

/// The register after some bytes.
fn update(register: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(register, |mut register, byte| {
        register ^= u32::from(*byte);
        for _ in 0..8 {
            register = times_x(register);
        }
        register
    })
}

/// The register after zeros: each bit multiplies it by x. Payloads are long, and so x^(8 zeros) is put together from
/// squares.
fn update_zeros(register: u32, zeros: usize) -> u32 {
    let bits = 8 * zeros;
    let squares = POWERS.iter().enumerate();
    let factors = squares.filter(|(exponent, _)| bits >> exponent & 1 == 1);
    factors.fold(register, |register, (_, power)| times(register, *power))
}

/// x^(2^k), for all lengths of a packet.
const POWERS: [u32; 20] = {
    let mut powers = [1 << 30; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        let square = times(powers[exponent - 1], powers[exponent - 1]);
        powers[exponent] = square;
        exponent += 1;
    }
    powers
};

/// The product with x, modulo the generator polynomial.
const fn times_x(value: u32) -> u32 {
    let carry = if value & 1 == 1 { POLYNOMIAL } else { 0 };
    value >> 1 ^ carry
}

/// The product of two polynomials, modulo the generator polynomial.
const fn times(first: u32, mut second: u32) -> u32 {
    let mut product = 0;
    let mut exponent = 0;
    while exponent < u32::BITS {
        if first << exponent >> 31 == 1 {
            product ^= second;
        }
        second = times_x(second);
        exponent += 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a text in hexadecimal.
    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .map(|digit| digit as u8)
            .collect();
        digits
            .chunks(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    }

    #[test]
    fn it_is_the_crc_of_ethernet() {
        // The check value of CRC-32.
        assert_eq!(!update(!0, b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn zeros_count_one_by_one() {
        let start = update(!0, b"a header");
        for zeros in [0, 1, 2, 7, 255, 1024, 4096, 65_535] {
            assert_eq!(update_zeros(start, zeros), update(start, &vec![0; zeros]));
        }
    }

    /// A CNP that a ConnectX-4 Lx has sent, from its IPv4 header on.
    const CNP: &str =
        "45c2003c 718c4000 40119161 0a001101 0a001201 000012b7 00280000 8100ffff 40000118
        00000000 00000000 00000000 00000000 00000000 82fd002a";
    /// Likewise a SEND (unreliable connection) of 18 bytes and two of padding.
    const SEND: &str =
        "45010040 04784000 4011b4d5 c0a80007 c0a80007 c00012b7 002caca2 2460ffff 000000d3
        00cf1710 4630818b e28935d9 0e9a9550 5401be88 5e500000 78f353f3";

    #[test]
    fn packets_of_nics_have_it() {
        for packet in [CNP, SEND] {
            let packet = bytes(packet);
            let (packet, crc) = packet.split_at(packet.len() - 4);
            assert_eq!(invariant_crc(packet, 0), crc);
            // The last bytes as zeros that are only counted.
            let zeros = packet.iter().rev().take_while(|byte| **byte == 0).count();
            assert!(zeros >= 2);
            let head = &packet[..packet.len() - zeros];
            assert_eq!(invariant_crc(head, zeros), crc);
        }
    }

    #[test]
    fn fields_that_change_on_the_path_do_not_count() {
        let packet = bytes(CNP);
        let crc = invariant_crc(&packet, 0);
        for (at, counts) in [
            (0, true),
            (1, false),
            (8, false),
            (9, true),
            (27, false),
            (28, true),
        ] {
            let mut other = packet.clone();
            other[at] ^= 1;
            assert_eq!(invariant_crc(&other, 0) != crc, counts, "byte {at}");
        }
    }
}
