//! The addresses of hosts: 10.77.0.1 is the first, 10.77.0.2 the second.

use std::net::Ipv4Addr;

use crate::ip;

/// The first two bytes of every address.
const NETWORK: [u8; 2] = [10, 77];

/// All addresses, as routes name them.
pub fn network() -> String {
    format!("{}.{}.0.0/16", NETWORK[0], NETWORK[1])
}

/// The address of a host by its number.
pub fn of(host: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(host + 1).expect("few hosts").to_be_bytes();
    Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low)
}

/// The host that has an address, of a network of `hosts`.
pub fn host(address: Ipv4Addr, hosts: usize) -> Option<usize> {
    let [first, second, high, low] = address.octets();
    let number = usize::from(u16::from_be_bytes([high, low])).checked_sub(1)?;
    ([first, second] == NETWORK && number < hosts).then_some(number)
}

/// The host that a packet is for. With two hosts it is the other one, whatever the addresses: a link between two.
pub fn destination(packet: &[u8], from: usize, hosts: usize) -> Option<usize> {
    if hosts == 2 {
        return Some(1 - from);
    }
    host(ip::destination(packet)?, hosts).filter(|to| *to != from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_belongs_to_its_host() {
        for number in 0..40 {
            assert_eq!(host(of(number), 40), Some(number));
        }
        assert_eq!(of(0), Ipv4Addr::new(10, 77, 0, 1));
        assert_eq!(host(of(40), 40), None);
        assert_eq!(host(Ipv4Addr::new(10, 78, 0, 1), 40), None);
        assert_eq!(host(Ipv4Addr::new(10, 77, 0, 0), 40), None);
    }
}
