//! UDP sockets that do not lose what they could have kept.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_recv_buffer_size_force};

/// Bytes of packets that may wait in the kernel: more than any flow window here.
const BUFFER: usize = 64 << 20;

/// A socket at that address, with a large buffer where the system allows one.
pub fn bind(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)
        .map_err(|error| io::Error::new(error.kind(), format!("cannot use {address}: {error}")))?;
    // Beyond the system's limit with the rights for it, else up to that limit.
    if set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        set_socket_recv_buffer_size(&socket, BUFFER)?;
    }
    Ok(socket)
}

/// The next packet of a non-blocking socket, and who sent it.
pub fn receive(socket: &UdpSocket, out: &mut [u8]) -> io::Result<Option<(usize, SocketAddr)>> {
    match socket.recv_from(out) {
        Ok(received) => Ok(Some(received)),
        // Refused: an earlier packet found nobody, which concerns the protocol above and not us.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::WouldBlock | ErrorKind::ConnectionRefused
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Sends a packet, waiting for room.
pub fn send(socket: &UdpSocket, packet: &[u8], peer: SocketAddr) -> io::Result<()> {
    loop {
        match socket.send_to(packet, peer) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll(
                    &mut [PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::OUT)],
                    None,
                )?;
            }
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}
