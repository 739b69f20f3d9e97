//! The state of all TCP connections of a namespace: TCP_INFO by the kernel's socket diagnostics (sock_diag(7)), one
//! request for all.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

use crate::namespace::Namespace;

/// SOCK_DIAG_BY_FAMILY (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// NLM_F_REQUEST | NLM_F_DUMP.
const REQUEST_DUMP: u16 = 0x301;
/// NLMSG_ERROR and NLMSG_DONE.
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// AF_INET and IPPROTO_TCP.
const INET: u8 = 2;
const TCP: u8 = 6;
/// INET_DIAG_INFO: the attribute that holds struct tcp_info; the bit of the request is one lower.
const INFO: u16 = 2;
/// All states but LISTEN (10), TIME_WAIT (6) and NEW_SYN_RECV (12).
const STATES: u32 = 0xFFF & !(1 << 10) & !(1 << 6);
/// Bytes of struct nlmsghdr, inet_diag_req_v2 and inet_diag_msg.
const HEADER: usize = 16;
const QUERY: usize = 56;
const MESSAGE: usize = 72;

/// A connection's state, as its sender has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TcpInfo {
    /// The local address and port.
    pub(super) local: (u32, u16),
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

/// Reads the state of the connections of a namespace.
#[derive(Debug)]
pub(super) struct Diagnostics {
    socket: OwnedFd,
    room: Vec<u8>,
}

impl Diagnostics {
    /// Opens the kernel's diagnostics in a namespace.
    pub(super) fn open(namespace: &Namespace) -> io::Result<Self> {
        let socket = namespace.within(|| {
            let flags = SocketFlags::CLOEXEC;
            let protocol = Some(netlink::SOCK_DIAG);
            Ok(socket_with(
                AddressFamily::NETLINK,
                SocketType::RAW,
                flags,
                protocol,
            )?)
        })?;
        Ok(Self {
            socket,
            room: vec![0; 1 << 16],
        })
    }

    /// Hands over every connection.
    pub(super) fn each(&mut self, mut take: impl FnMut(TcpInfo)) -> io::Result<()> {
        send(&self.socket, &request(), SendFlags::empty())?;
        loop {
            let (length, _) = recv(&self.socket, &mut self.room[..], RecvFlags::empty())?;
            if !read(&self.room[..length], &mut take)? {
                return Ok(());
            }
        }
    }
}

fn request() -> [u8; HEADER + QUERY] {
    let mut out = [0; HEADER + QUERY];
    out[0..4].copy_from_slice(&u32::try_from(HEADER + QUERY).expect("small").to_ne_bytes());
    out[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    out[6..8].copy_from_slice(&REQUEST_DUMP.to_ne_bytes());
    out[HEADER] = INET;
    out[HEADER + 1] = TCP;
    out[HEADER + 2] = 1 << (INFO - 1);
    out[HEADER + 4..HEADER + 8].copy_from_slice(&STATES.to_ne_bytes());
    out
}

/// Reads the messages of one datagram; tells whether more follow.
fn read(mut datagram: &[u8], take: &mut impl FnMut(TcpInfo)) -> io::Result<bool> {
    while datagram.len() >= HEADER {
        let length = u32_at(datagram, 0) as usize;
        let (kind, bounded) = (u16_at(datagram, 4), length.clamp(HEADER, datagram.len()));
        match kind {
            DONE => return Ok(false),
            ERROR => {
                let code = u32_at(datagram, HEADER).cast_signed();
                return Err(io::Error::from_raw_os_error(-code));
            }
            BY_FAMILY => {
                if let Some(info) = connection(&datagram[HEADER..bounded]) {
                    take(info);
                }
            }
            _ => {}
        }
        datagram = &datagram[(bounded.next_multiple_of(4)).min(datagram.len())..];
    }
    Ok(true)
}

/// A connection from its inet_diag_msg and the attributes behind it.
fn connection(message: &[u8]) -> Option<TcpInfo> {
    let port = u16::from_be_bytes(message.get(4..6)?.try_into().ok()?);
    let address = u32::from_be_bytes(message.get(8..12)?.try_into().ok()?);
    let mut attributes = message.get(MESSAGE..)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0)).clamp(4, attributes.len());
        if u16_at(attributes, 2) == INFO {
            return Some(tcp_info((address, port), &attributes[4..length]));
        }
        attributes = &attributes[length.next_multiple_of(4).min(attributes.len())..];
    }
    None
}

/// The offsets are those of struct tcp_info (linux/tcp.h): fields were only ever added at its end.
fn tcp_info(local: (u32, u16), info: &[u8]) -> TcpInfo {
    TcpInfo {
        local,
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

/// An address and a port as diagnostics have them.
pub(super) fn key(address: Ipv4Addr, port: u16) -> (u32, u16) {
    (u32::from(address), port)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn anything_can_be_read(datagram in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut count = 0;
            let _ = read(&datagram, &mut |_| count += 1);
            prop_assert!(count <= datagram.len() / HEADER);
        }
    }
}
