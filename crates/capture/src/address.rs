//! Addresses derived from the numbers of hosts and flows.

/// A host by its number, 0 for the first of a scenario. Its addresses count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Host(pub u32);

impl Host {
    /// 10.x.y.z with the number in 24 bits (RFC 1918); beyond 16,777,215 hosts they repeat.
    pub const fn ip(self) -> [u8; 4] {
        let [_, x, y, z] = self.0.wrapping_add(1).to_be_bytes();
        [10, x, y, z]
    }

    /// 02:00 and the number in 32 bits: locally administered (IEEE 802, section 8.2).
    pub const fn mac(self) -> [u8; 6] {
        let [w, x, y, z] = self.0.wrapping_add(1).to_be_bytes();
        [2, 0, w, x, y, z]
    }
}

/// The first of IANA's dynamic ports (RFC 6335, section 6), which are not assigned to any protocol.
const FIRST_PORT: u16 = 49_152;
/// The number of dynamic ports.
const PORTS: u32 = 16_384;

/// The ports of a flow's two endpoints: with its hosts they identify it among 2^28 flows.
pub fn flow_ports(flow: u32) -> [u16; 2] {
    let port = |number: u32| FIRST_PORT + (number % PORTS) as u16;
    [port(flow), port(flow / PORTS)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_by_their_numbers() {
        // 300 is 1 * 256 + 44, and addresses count from 1.
        assert_eq!(Host(0).ip(), [10, 0, 0, 1]);
        assert_eq!(Host(299).ip(), [10, 0, 1, 44]);
        assert_eq!(Host(299).mac(), [2, 0, 0, 0, 1, 44]);
    }

    #[test]
    fn flows_are_named_by_their_ports() {
        assert_eq!(flow_ports(0), [49_152, 49_152]);
        assert_eq!(flow_ports(16_383), [65_535, 49_152]);
        assert_eq!(flow_ports(2 * 16_384 + 5), [49_157, 49_154]);
        // No flow number gives a port of another range.
        assert_eq!(flow_ports(u32::MAX), [65_535, 65_535]);
    }
}
