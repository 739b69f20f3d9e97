//! The ECN field of an IP packet (RFC 3168, section 5), in IPv4 and IPv6, and the addresses of IPv4.
//!
//! Leaves out: everything else in it. A packet of another version is no ECN-capable one.

use std::net::Ipv4Addr;

use incastle_units::Ecn;

/// The source and destination addresses, and the ports that TCP and UDP have; of IPv4 without options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FlowKey {
    /// The source's address.
    pub source: [u8; 4],
    /// The destination's.
    pub destination: [u8; 4],
    /// The source's port.
    pub source_port: u16,
    /// The destination's.
    pub destination_port: u16,
}

/// The flow of a packet; all zeros of another version.
pub fn flow(packet: &[u8]) -> FlowKey {
    if packet.len() < 24 || packet[0] != 0x45 {
        return FlowKey::default();
    }
    let four = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    FlowKey {
        source: four(12),
        destination: four(16),
        source_port: u16::from_be_bytes([packet[20], packet[21]]),
        destination_port: u16::from_be_bytes([packet[22], packet[23]]),
    }
}

/// The destination of an IPv4 packet.
pub fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let header = packet.get(..20).filter(|header| header[0] >> 4 == 4)?;
    Some(Ipv4Addr::new(
        header[16], header[17], header[18], header[19],
    ))
}

/// The ECN bits that say "congestion experienced".
const CE: u8 = 0b11;

/// A packet's ECN field. ECT(1) counts as ECT(0): a switch treats both alike.
pub fn ecn(packet: &[u8]) -> Ecn {
    match field(packet) {
        None | Some(0b00) => Ecn::NotEct,
        Some(CE) => Ecn::Ce,
        Some(_) => Ecn::Ect0,
    }
}

fn field(packet: &[u8]) -> Option<u8> {
    match (packet.first()? >> 4, packet.get(1)?) {
        (4, traffic_class) => Some(traffic_class & 0b11),
        // Four bits of the traffic class lie in each of the first two bytes.
        (6, second) => Some(second >> 4 & 0b11),
        _ => None,
    }
}

/// Sets CE.
pub fn mark(packet: &mut [u8]) {
    set(packet, CE);
}

/// Clears the ECN field, as some paths do: what was ECN-capable no longer is.
pub fn bleach(packet: &mut [u8]) {
    set(packet, 0);
}

/// Sets the ECN field. The header checksum of IPv4 follows (RFC 1624, equation 3); IPv6 has none.
fn set(packet: &mut [u8], bits: u8) {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            let before = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !CE | bits;
            let after = u16::from_be_bytes([packet[0], packet[1]]);
            let checksum = u16::from_be_bytes([packet[10], packet[11]]);
            let updated = update(checksum, before, after).to_be_bytes();
            packet[10..12].copy_from_slice(&updated);
        }
        Some(6) if packet.len() >= 2 => packet[1] = packet[1] & !(CE << 4) | bits << 4,
        _ => {}
    }
}

/// HC' = ~(~HC + ~m + m'), in one's complement.
fn update(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The checksum of RFC 791, over a header whose checksum field is zero.
    fn checksum(header: &[u8]) -> u16 {
        let mut sum: u32 = header
            .chunks(2)
            .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
            .sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn is_valid(header: &[u8; 20]) -> bool {
        let mut bare = *header;
        bare[10..12].copy_from_slice(&[0, 0]);
        header[10..12] == checksum(&bare).to_be_bytes()
    }

    proptest! {
        #[test]
        fn a_marked_header_has_a_valid_checksum(mut header in prop::array::uniform20(any::<u8>()), ecn_bits in 1..3_u8) {
            header[0] = 0x45;
            header[1] = header[1] & !0b11 | ecn_bits;
            header[10..12].copy_from_slice(&[0, 0]);
            let valid = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&valid);
            prop_assert_eq!(ecn(&header), Ecn::Ect0);
            mark(&mut header);
            prop_assert_eq!(ecn(&header), Ecn::Ce);
            prop_assert!(is_valid(&header));
            bleach(&mut header);
            prop_assert_eq!(ecn(&header), Ecn::NotEct);
            prop_assert!(is_valid(&header));
        }

        #[test]
        fn anything_can_be_looked_at(mut packet in prop::collection::vec(any::<u8>(), 0..30)) {
            ecn(&packet);
            mark(&mut packet);
            bleach(&mut packet);
        }
    }

    #[test]
    fn ipv6_has_it_in_the_second_byte() {
        let mut packet = [0x60, 0x20, 0, 0];
        assert_eq!(ecn(&packet), Ecn::Ect0);
        mark(&mut packet);
        assert_eq!(packet, [0x60, 0x30, 0, 0]);
        assert_eq!(ecn(&packet), Ecn::Ce);
        bleach(&mut packet);
        assert_eq!(packet, [0x60, 0x00, 0, 0]);
        assert_eq!(ecn(&[0x60, 0x0F]), Ecn::NotEct);
    }
}
