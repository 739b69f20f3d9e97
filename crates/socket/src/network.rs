//! Whom an address belongs to, as far as an address shows.

use std::net::{IpAddr, Ipv6Addr};

/// Bits of an IPv6 address that a host cannot choose. The rest is its interface identifier (RFC 4291, section
/// 2.5.1), and a host may have any number of these (RFC 7934).
const PREFIX: u32 = 64;

/// The address by which the connections of a peer are counted: an IPv4 address itself, the first 64 bits of
/// an IPv6 address. An IPv4-mapped IPv6 address is an IPv4 address.
pub fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(ip) => {
            let prefix = ip.to_bits() >> (128 - PREFIX) << (128 - PREFIX);
            Ipv6Addr::from_bits(prefix).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> String {
        network_of(text.parse().expect("an address")).to_string()
    }

    #[test]
    fn a_host_of_ipv6_has_one_network_and_one_of_ipv4_one_address() {
        assert_eq!(network("10.0.0.1"), "10.0.0.1");
        assert_eq!(network("10.0.0.2"), "10.0.0.2");
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2:ffff::1"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:3::1"), "2001:db8:1:3::");
        // As a socket for both families has it: else all of IPv4 would be one network.
        assert_eq!(network("::ffff:10.0.0.1"), "10.0.0.1");
        assert_eq!(network("::ffff:10.0.0.2"), "10.0.0.2");
    }
}
