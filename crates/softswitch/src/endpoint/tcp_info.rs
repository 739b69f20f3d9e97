//! The state of a TCP connection: TCP_INFO by the kernel's socket diagnostics (sock_diag(7)), by its addresses and ports.
//!
//! One request could list all connections of a namespace. For a list the kernel reads its table of the connections of
//! all namespaces, which takes milliseconds on large machines: too long for endpoints that have data to write.

use std::io;
use std::net::SocketAddrV4;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::namespace::Namespace;

/// SOCK_DIAG_BY_FAMILY (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST.
const REQUEST: u16 = 1;
/// NLMSG_ERROR.
const ERROR: u16 = 2;
/// AF_INET and IPPROTO_TCP.
const INET: u8 = 2;
const TCP: u8 = 6;
/// INET_DIAG_INFO: the attribute that holds struct tcp_info; the bit of the request is one lower.
const INFO: u16 = 2;
/// INET_DIAG_NOCOOKIE, twice: the kernel's number of the socket is not known.
const NO_COOKIE: [u8; 8] = [0xFF; 8];
/// Bytes of struct nlmsghdr, inet_diag_req_v2 and inet_diag_msg.
const HEADER: usize = 16;
const QUERY: usize = 56;
const MESSAGE: usize = 72;

/// A connection's state, as its sender has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// The congestion window in segments.
    pub(super) cwnd: u32,
    /// The slow-start threshold in segments; the kernel's infinity is 2^31 - 1.
    pub(super) ssthresh: u32,
    /// Bytes of a segment's payload.
    pub(super) mss: u32,
    /// The smoothed round-trip time in us; 0 before the first sample.
    pub(super) rtt_us: u32,
    /// Segments retransmitted.
    pub(super) retransmissions: u32,
    /// Segments sent with data.
    pub(super) data_segments: u32,
    /// Segments delivered.
    pub(super) delivered: u32,
    /// Those among them that were reported with a mark.
    pub(super) delivered_ce: u32,
    /// Bytes sent, retransmissions included.
    pub(super) bytes_sent: u64,
    /// Retransmission timeouts.
    pub(super) timeouts: u16,
}

/// Reads the state of connections of a namespace.
#[derive(Debug)]
pub(super) struct Diagnostics {
    socket: OwnedFd,
    room: Vec<u8>,
}

impl Diagnostics {
    /// Opens the kernel's diagnostics in a namespace.
    pub(super) fn open(namespace: &Namespace) -> io::Result<Self> {
        namespace.within(Self::here)
    }

    /// Opens those of the namespace that the thread is in.
    fn here() -> io::Result<Self> {
        let protocol = Some(netlink::SOCK_DIAG);
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        Ok(Self {
            socket: socket_with(family, kind, SocketFlags::CLOEXEC, protocol)?,
            room: vec![0; 1 << 13],
        })
    }

    /// Gives the state of the connection between a local and a remote address and port; none if it does not exist, or
    /// no longer. Without a connection, that of a socket that listens there.
    pub(super) fn of(
        &mut self,
        local: SocketAddrV4,
        remote: SocketAddrV4,
    ) -> io::Result<Option<TcpInfo>> {
        send(&self.socket, &request(local, remote), SendFlags::empty())?;
        let (length, _) = recv(&self.socket, &mut self.room[..], RecvFlags::empty())?;
        read(&self.room[..length])
    }
}

/// A struct inet_diag_req_v2 behind its header. The kernel compares the addresses of one connection alone.
fn request(local: SocketAddrV4, remote: SocketAddrV4) -> [u8; HEADER + QUERY] {
    let mut out = [0; HEADER + QUERY];
    out[0..4].copy_from_slice(&u32::try_from(HEADER + QUERY).expect("small").to_ne_bytes());
    out[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    out[6..8].copy_from_slice(&REQUEST.to_ne_bytes());
    let query = &mut out[HEADER..];
    query[0] = INET;
    query[1] = TCP;
    query[2] = 1 << (INFO - 1);
    query[8..10].copy_from_slice(&local.port().to_be_bytes());
    query[10..12].copy_from_slice(&remote.port().to_be_bytes());
    query[12..16].copy_from_slice(&local.ip().octets());
    query[28..32].copy_from_slice(&remote.ip().octets());
    query[48..56].copy_from_slice(&NO_COOKIE);
    out
}

/// Reads the reply: a connection, or an error.
fn read(reply: &[u8]) -> io::Result<Option<TcpInfo>> {
    match u16_at(reply, 4) {
        BY_FAMILY => Ok(reply.get(HEADER..).and_then(connection)),
        ERROR => match Errno::from_raw_os_error(u32_at(reply, HEADER).wrapping_neg().cast_signed())
        {
            Errno::NOENT => Ok(None),
            error => Err(error.into()),
        },
        kind => Err(io::Error::other(format!(
            "socket diagnostics replied with a message of kind {kind}"
        ))),
    }
}

/// A connection from the attributes behind its inet_diag_msg.
fn connection(message: &[u8]) -> Option<TcpInfo> {
    let mut attributes = message.get(MESSAGE..)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0)).clamp(4, attributes.len());
        if u16_at(attributes, 2) == INFO {
            return Some(tcp_info(&attributes[4..length]));
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

/// The offsets are those of struct tcp_info (linux/tcp.h): fields were only ever added at its end.
fn tcp_info(info: &[u8]) -> TcpInfo {
    TcpInfo {
        mss: u32_at(info, 16),
        rtt_us: u32_at(info, 68),
        ssthresh: u32_at(info, 76),
        cwnd: u32_at(info, 80),
        retransmissions: u32_at(info, 100),
        data_segments: u32_at(info, 156),
        delivered: u32_at(info, 192),
        delivered_ce: u32_at(info, 196),
        bytes_sent: u64::from(u32_at(info, 200)) | u64::from(u32_at(info, 204)) << 32,
        timeouts: u16_at(info, 240),
    }
}

/// A number of the machine's byte order; 0 where the kernel is older than the field.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    found.map_or(0, u32::from_ne_bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    found.map_or(0, u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

    use proptest::prelude::*;

    use super::*;

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        let SocketAddr::V4(found) = address else {
            panic!("{address} is of IPv4");
        };
        found
    }

    #[test]
    fn a_connection_is_found_by_its_addresses_and_a_listener_without_one() -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let there = v4(listener.local_addr()?);
        let mut one = TcpStream::connect(there)?;
        let mut other = TcpStream::connect(there)?;
        let mut accepted = listener.accept()?.0;
        one.write_all(&[0; 3_000])?;
        other.write_all(&[0; 7])?;
        accepted.read_exact(&mut [0; 3_000])?;
        let (first, second) = (v4(one.local_addr()?), v4(other.local_addr()?));
        let mut diagnostics = Diagnostics::here()?;
        let sent = |info: Option<TcpInfo>| info.map(|info| info.bytes_sent);
        assert_eq!(sent(diagnostics.of(first, there)?), Some(3_000));
        assert_eq!(sent(diagnostics.of(second, there)?), Some(7));
        assert_eq!(sent(diagnostics.of(there, first)?), Some(0));
        assert_eq!(diagnostics.of(first, second)?, None);
        let nowhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
        assert!(diagnostics.of(there, nowhere)?.is_some());
        Ok(())
    }

    proptest! {
        #[test]
        fn anything_can_be_read(reply in prop::collection::vec(any::<u8>(), 0..500)) {
            let _ = read(&reply);
        }

        #[test]
        fn anything_behind_a_header_can_be_read(mut reply in prop::collection::vec(any::<u8>(), HEADER..500)) {
            reply[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
            prop_assert!(read(&reply).is_ok());
        }
    }
}
