//! One connection of the kernel's TCP: its two sockets, and the bytes that it has to send.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};

use rustix::net::sockopt::{set_socket_linger, set_tcp_congestion, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::namespace::Namespace;

/// The port on which each host listens.
pub(super) const PORT: u16 = 5_000;
/// Bytes that are written or read at once.
pub(super) const PIECE: usize = 1 << 17;
/// The data.
static ZEROS: [u8; PIECE] = [0; PIECE];
/// Pieces that one connection reads or writes before others have their turn.
const TURNS: usize = 8;

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    sender: TcpStream,
    /// The receiver's socket, once it has accepted.
    receiver: Option<TcpStream>,
    /// Bytes that are to be sent in all, up to now.
    wanted: u64,
    /// Bytes that the kernel has taken.
    written: u64,
    /// The connection was asked for.
    open: bool,
}

impl Flow {
    /// Makes the sender's socket in its namespace; gives it with its address and port.
    pub(super) fn prepare(
        place: &Namespace,
        from: Ipv4Addr,
        congestion: &str,
    ) -> io::Result<(Self, SocketAddrV4)> {
        let sender = place.within(|| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let made = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
            set_tcp_congestion(&made, congestion)?;
            bind(&made, &SocketAddrV4::new(from, 0))?;
            Ok(TcpStream::from(made))
        })?;
        make_short_lived(&sender)?;
        let SocketAddr::V4(own) = sender.local_addr()? else {
            return Err(io::Error::other("an IPv4 socket has another address"));
        };
        let flow = Self {
            sender,
            receiver: None,
            wanted: 0,
            written: 0,
            open: false,
        };
        Ok((flow, own))
    }

    /// Opens the connection.
    pub(super) fn connect(&mut self, to: SocketAddrV4) -> io::Result<()> {
        self.open = true;
        match connect(&self.sender, &to) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The receiver has accepted it.
    pub(super) fn accepted(&mut self, receiver: TcpStream) -> io::Result<()> {
        make_short_lived(&receiver)?;
        self.receiver = Some(receiver);
        Ok(())
    }

    /// The sender's socket.
    pub(super) const fn sender(&self) -> &TcpStream {
        &self.sender
    }

    /// Whether the connection was asked for.
    pub(super) const fn is_open(&self) -> bool {
        self.open
    }

    /// The next bytes are to be sent.
    pub(super) const fn send(&mut self, bytes: u64) {
        self.wanted = self.wanted.saturating_add(bytes);
    }

    /// Sends no new data: only what the kernel has taken.
    pub(super) const fn stop(&mut self) {
        self.wanted = self.written;
    }

    /// Whether it has data to write.
    pub(super) const fn has_data(&self) -> bool {
        self.wanted > self.written
    }

    /// Writes what the kernel takes.
    pub(super) fn write(&mut self) -> io::Result<()> {
        for _ in 0..TURNS {
            let piece = usize::try_from(self.wanted - self.written)
                .unwrap_or(PIECE)
                .min(PIECE);
            if piece == 0 {
                break;
            }
            match self.sender.write(&ZEROS[..piece]) {
                Ok(count) => self.written += count as u64,
                Err(error) if is_later(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads what has arrived at the receiver; gives the number of bytes.
    pub(super) fn read(&mut self, room: &mut [u8]) -> io::Result<u64> {
        let Some(receiver) = &mut self.receiver else {
            return Ok(0);
        };
        read_some(receiver, room)
    }

    /// The client asks: the receiver writes a request.
    pub(super) fn request(&mut self, bytes: usize) -> io::Result<()> {
        let Some(receiver) = &mut self.receiver else {
            return Err(io::Error::other("a request before the connection was open"));
        };
        receiver.write_all(&ZEROS[..bytes])
    }

    /// Reads what has arrived of requests at the sender; gives the number of bytes.
    pub(super) fn read_requests(&mut self, room: &mut [u8]) -> io::Result<u64> {
        read_some(&mut self.sender, room)
    }
}

/// Nothing of it is left in the kernel once the process has closed it, or has ended.
fn make_short_lived(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    set_tcp_nodelay(socket, true)?;
    set_socket_linger(socket, Some(std::time::Duration::ZERO))?;
    Ok(())
}

fn read_some(socket: &mut TcpStream, room: &mut [u8]) -> io::Result<u64> {
    let mut sum = 0;
    for _ in 0..TURNS {
        match socket.read(room) {
            Ok(0) => break,
            Ok(count) => sum += count as u64,
            Err(error) if is_later(&error) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sum)
}

/// Not an error: the socket is not connected yet, or its buffers are full or empty.
fn is_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted
    )
}
