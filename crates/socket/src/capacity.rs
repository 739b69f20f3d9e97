//! The rate C of the interface through which a peer is reached, from what Linux reports of it.
//!
//! Leaves out: interfaces that are several (bonds report their sum), and virtual ones whose number means
//! little (a veth pair reports 10 Gbit/s).

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use crate::{DEFAULT_CAPACITY, Rate};

/// The rate of the interface that has this local address, or [`DEFAULT_CAPACITY`].
pub(crate) fn of_local(local: IpAddr) -> Rate {
    let rate = interface_of(local).and_then(|name| speed_of(&name));
    if rate.is_none() {
        tracing::debug!(%local, "no interface reports its speed: the default capacity is used");
    }
    rate.unwrap_or(DEFAULT_CAPACITY)
}

/// The rate of the interface through which packets to that peer leave, or [`DEFAULT_CAPACITY`].
pub(crate) fn towards(peer: SocketAddr) -> Rate {
    local_address(peer).map_or(DEFAULT_CAPACITY, of_local)
}

/// The address from which packets to that peer leave. Nothing is sent to find out.
fn local_address(peer: SocketAddr) -> Option<IpAddr> {
    let any: SocketAddr = match peer {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip().to_canonical())
}

fn interface_of(local: IpAddr) -> Option<String> {
    let has = |address: &SockaddrStorage| match local {
        IpAddr::V4(ip) => address.as_sockaddr_in().is_some_and(|at| at.ip() == ip),
        IpAddr::V6(ip) => address.as_sockaddr_in6().is_some_and(|at| at.ip() == ip),
    };
    getifaddrs()
        .ok()?
        .find(|interface| interface.address.as_ref().is_some_and(has))
        .map(|interface| interface.interface_name)
}

/// In Mbit/s; -1 or nothing where the interface has none.
fn speed_of(interface: &str) -> Option<Rate> {
    let text = fs::read_to_string(format!("/sys/class/net/{interface}/speed")).ok()?;
    let mbits: u64 = text.trim().parse().ok().filter(|mbits| *mbits > 0)?;
    Some(Rate::from_bits_per_second(mbits.saturating_mul(1_000_000)))
}
