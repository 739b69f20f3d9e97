//! Where to listen and whom to call, and when that is safe without a key.
//!
//! Client and server have one rule. Loopback addresses need no protection. Any other address needs
//! `--key-file`, or `--insecure`, which lets everybody on the path read, change and forge packets.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use tokio::net::lookup_host;

use crate::error::Failure;
use crate::printable::reason;

/// The port where none is given.
pub const PORT: u16 = 9000;

/// A `HOST:PORT` as it was typed, or `HOST`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    host: String,
    port: u16,
}

impl FromStr for HostPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000");
        let default = PORT.to_string();
        let (host, port) = match text.rsplit_once(':') {
            Some(parts) if !text.ends_with(']') => parts,
            _ => (text, default.as_str()),
        };
        let bracketed = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        // An address of IPv6 without brackets: its last word is no port.
        if bracketed.unwrap_or(host).is_empty() || bracketed.is_none() && host.contains(':') {
            return Err(wrong());
        }
        let port = port.parse().ok().filter(|port| *port > 0);
        let port = port.ok_or_else(|| format!("{}: a port is 1 to 65535", wrong()))?;
        let host = bracketed.unwrap_or(host).to_owned();
        Ok(Self { host, port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl HostPort {
    /// Its addresses, those of IPv4 first: most servers listen there.
    pub async fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        let found = lookup_host((self.host.as_str(), self.port)).await;
        let found = found.map_err(|e| Failure::Input(format!("{self}: {}", reason(&e))))?;
        let mut addresses: Vec<_> = found.collect();
        addresses.sort_by_key(SocketAddr::is_ipv6);
        addresses.dedup();
        if addresses.is_empty() {
            return Err(Failure::Input(format!("{self}: this name has no address")));
        }
        Ok(addresses)
    }
}

/// The protection of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// A key.
    Key,
    /// None, as the user chose.
    Insecure,
    /// Neither option was given.
    Unspecified,
}

impl Protection {
    /// Refuses an address that others can reach, unless it is protected or `--insecure`.
    pub fn check(self, address: SocketAddr) -> Result<(), Failure> {
        if self != Self::Unspecified || address.ip().to_canonical().is_loopback() {
            return Ok(());
        }
        Err(Failure::Input(format!(
            "{address} is not this machine: give --key-file, \
             or --insecure where everybody on the path may read and change what is sent"
        )))
    }

    /// Whether an address is open to others without a key.
    pub fn is_open(self, address: SocketAddr) -> bool {
        self == Self::Insecure && !address.ip().to_canonical().is_loopback()
    }
}

/// The address from which to call another: this machine's own for itself, else any.
pub fn local_for(peer: SocketAddr) -> SocketAddr {
    let ip = match peer.ip() {
        IpAddr::V4(ip) if ip.is_loopback() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(ip) if ip.is_loopback() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    SocketAddr::new(ip, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_distinguished() {
        for (text, host, port) in [
            ("127.0.0.1:9000", "127.0.0.1", 9000),
            ("[::1]:1", "::1", 1),
            ("node-7.rack:65535", "node-7.rack", 65535),
        ] {
            let parsed: HostPort = text.parse().unwrap();
            assert_eq!((parsed.host.as_str(), parsed.port), (host, port));
            assert_eq!(parsed.to_string(), text);
        }
        for (text, whole) in [("node7", "node7:9000"), ("[::1]", "[::1]:9000")] {
            assert_eq!(text.parse::<HostPort>().unwrap().to_string(), whole);
        }
        for wrong in [
            "",
            "[]",
            ":9000",
            "host:",
            "host:0",
            "host:65536",
            "::1",
            "::1:9000",
            "h:-1",
        ] {
            let message = wrong.parse::<HostPort>().unwrap_err();
            assert!(message.contains("is not HOST:PORT"), "{message}");
        }
    }

    #[test]
    fn only_this_machine_is_free() {
        let here = [
            "127.0.0.1:1",
            "127.9.9.9:1",
            "[::1]:1",
            "[::ffff:127.0.0.1]:1",
        ];
        let away = [
            "0.0.0.0:1",
            "[::]:1",
            "10.0.0.1:1",
            "[::ffff:10.0.0.1]:1",
            "[fe80::1]:1",
        ];
        for (addresses, free) in [(&here[..], true), (&away[..], false)] {
            for address in addresses.iter().map(|text| text.parse().unwrap()) {
                assert_eq!(
                    Protection::Unspecified.check(address).is_ok(),
                    free,
                    "{address}"
                );
                assert!(Protection::Insecure.check(address).is_ok());
                assert_eq!(Protection::Insecure.is_open(address), !free);
                assert!(Protection::Key.check(address).is_ok());
                assert!(!Protection::Key.is_open(address));
            }
        }
    }
}
