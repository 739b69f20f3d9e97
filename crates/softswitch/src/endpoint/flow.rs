//! One connection: its two sockets, the bytes that it has to send, and the transfers that these belong to.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};

use incastle_units::Time;
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

/// A transfer: a number of bytes that begins at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    /// The round of its request; none where no request came before.
    pub(super) round: Option<u64>,
    /// The instant of the request, or the start.
    pub(super) started: Time,
    /// Its bytes.
    pub(super) bytes: u64,
    /// The connection's bytes up to its last.
    pub(super) ends_at: u64,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    sender: TcpStream,
    /// The receiver's socket, once it has accepted.
    receiver: Option<TcpStream>,
    /// Bytes that are to be sent in all, up to now.
    wanted: u64,
    /// Bytes of all transfers that have begun: with requests, some wait for theirs.
    expected: u64,
    /// Bytes that the kernel has taken.
    pub(super) written: u64,
    /// Bytes that the receiver has read.
    pub(super) received: u64,
    /// Transfers that have begun and are not complete.
    open: VecDeque<Transfer>,
    /// Bytes of requests that the sender has read.
    requested: u64,
}

impl Flow {
    /// Makes the sender's socket in its namespace; gives it with its port.
    pub(super) fn prepare(
        place: &Namespace,
        from: Ipv4Addr,
        congestion: &str,
    ) -> io::Result<(Self, u16)> {
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
            expected: 0,
            written: 0,
            received: 0,
            open: VecDeque::new(),
            requested: 0,
        };
        Ok((flow, own.port()))
    }

    /// Opens the connection.
    pub(super) fn connect(&self, to: Ipv4Addr) -> io::Result<()> {
        match connect(&self.sender, &SocketAddrV4::new(to, PORT)) {
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

    /// Both sockets.
    pub(super) const fn sockets(&self) -> (&TcpStream, Option<&TcpStream>) {
        (&self.sender, self.receiver.as_ref())
    }

    /// A transfer begins; its bytes are not to be sent yet.
    pub(super) fn begin(&mut self, started: Time, bytes: u64, round: Option<u64>) {
        self.expected += bytes;
        self.open.push_back(Transfer {
            round,
            started,
            bytes,
            ends_at: self.expected,
        });
    }

    /// The next bytes are to be sent.
    pub(super) const fn send(&mut self, bytes: u64) {
        self.wanted += bytes;
    }

    /// Sends as much as it can from now on.
    pub(super) const fn send_unlimited(&mut self) {
        self.wanted = u64::MAX;
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
        let count = read_some(receiver, room)?;
        self.received += count;
        Ok(count)
    }

    /// The client asks: the receiver writes a request.
    pub(super) fn request(&mut self, bytes: usize) -> io::Result<()> {
        let Some(receiver) = &mut self.receiver else {
            return Err(io::Error::other("a request before the connection was open"));
        };
        receiver.write_all(&ZEROS[..bytes])
    }

    /// Reads requests of this size at the sender; gives how many are complete.
    pub(super) fn read_requests(&mut self, size: u64, room: &mut [u8]) -> io::Result<u64> {
        let before = self.requested / size;
        self.requested += read_some(&mut self.sender, room)?;
        Ok(self.requested / size - before)
    }

    /// Transfers that have begun and are not complete.
    pub(super) fn open(&self) -> impl Iterator<Item = &Transfer> {
        self.open.iter()
    }

    /// The next transfer that the receiver has read completely.
    pub(super) fn completed(&mut self) -> Option<Transfer> {
        let first = self.open.front()?;
        (first.ends_at <= self.received).then(|| self.open.pop_front())?
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
