//! Addresses derived from the numbers of hosts, ports of switches, flows and queue pairs.

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

/// A port of a switch by its number, 0 for the first of a network. Its addresses count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SwitchPort(pub u32);

impl SwitchPort {
    /// 06:00 and the number in 32 bits: locally administered (IEEE 802, section 8.2), no host's.
    pub const fn mac(self) -> [u8; 6] {
        let [w, x, y, z] = self.0.wrapping_add(1).to_be_bytes();
        [6, 0, w, x, y, z]
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

/// The queue pair at one endpoint of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePair(u32);

impl QueuePair {
    /// Queue pairs 0 and 1 are InfiniBand's for management, and all ones stand for multicast.
    const FIRST: u32 = 2;
    const NUMBERS: u32 = 0x00FF_FFFC;

    /// Those of a flow: at the endpoint that began it, and at its peer. Their numbers follow each other; beyond
    /// 8,388,606 flows they repeat.
    pub const fn of_flow(flow: u32) -> [Self; 2] {
        let number = Self::FIRST + flow % (Self::NUMBERS / 2) * 2;
        [Self(number), Self(number + 1)]
    }

    /// Its number, 24 bits.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The UDP source port of its packets: one for each queue pair, so that ECMP spreads them (annex A17).
    pub const fn port(self) -> u16 {
        FIRST_PORT + (self.0 % PORTS) as u16
    }
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
    fn ports_of_switches_differ_from_hosts() {
        assert_eq!(SwitchPort(299).mac(), [6, 0, 0, 0, 1, 44]);
        assert_ne!(SwitchPort(0).mac(), Host(0).mac());
    }

    #[test]
    fn queue_pairs_are_numbered_by_flows() {
        let numbers = |flow| QueuePair::of_flow(flow).map(QueuePair::number);
        assert_eq!(numbers(0), [2, 3]);
        assert_eq!(numbers(100), [202, 203]);
        // The last two before all ones and the number below it; then they repeat.
        assert_eq!(numbers(8_388_605), [0xFF_FFFC, 0xFF_FFFD]);
        assert_eq!(numbers(8_388_606), [2, 3]);
        // 16,384 ports: 8,191 flows after the first one they wrap.
        let ports = |flow| QueuePair::of_flow(flow).map(QueuePair::port);
        assert_eq!(ports(0), [49_154, 49_155]);
        assert_eq!(ports(8_191), [49_152, 49_153]);
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
