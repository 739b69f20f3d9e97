//! Batches of datagrams for system calls: consecutive ones of equal size and ECN field go to the kernel as
//! one (GSO). The last of a batch may be shorter.

use std::io;

use incastle_secure::Path;
use incastle_units::Ecn;
use quinn_udp::Transmit;
use tokio::io::Interest;

use crate::base::count;
use crate::ecn::codepoint;
use crate::port::Port;

/// The longest UDP payload over IPv4.
const MAX_PAYLOAD: usize = 65_507;
/// The headers that UDT's packet sizes include: IPv4 and UDP.
const HEADERS: usize = 28;

/// A batch that the socket did not take.
pub(crate) struct Refused {
    pub(crate) shape: Shape,
    pub(crate) bytes: Vec<u8>,
}

/// Datagrams that leave in one system call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// The length of all but the last.
    pub(crate) segment: usize,
    pub(crate) ecn: Ecn,
}

impl Port {
    /// How many datagrams of a connection the kernel takes in one call.
    pub(crate) fn segments(&self, packet_size: u32) -> usize {
        if !self.config.offload {
            return 1;
        }
        let longest = packet_size as usize - HEADERS + self.overhead();
        assert!(longest <= MAX_PAYLOAD, "an agreed packet fits a datagram");
        self.udp.max_gso_segments().min(MAX_PAYLOAD / longest)
    }

    /// Sends a connection's datagrams.
    pub(crate) fn submit(&self, path: Path, shape: Shape, bytes: &[u8]) -> io::Result<()> {
        assert!(
            !bytes.is_empty() && shape.segment > 0,
            "a batch holds a datagram"
        );
        let transmit = Transmit {
            destination: path.peer,
            ecn: codepoint(shape.ecn),
            contents: bytes,
            segment_size: (bytes.len() > shape.segment).then_some(shape.segment),
            src_ip: path.source,
        };
        self.send(&transmit)?;
        let datagrams = bytes.len().div_ceil(shape.segment);
        count(&self.counters.datagrams_sent, datagrams as u64);
        count(&self.counters.sends, 1);
        Ok(())
    }

    /// Sends, sealed if this endpoint has a key.
    pub(crate) fn send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        match &self.secure {
            Some(secure) => self.send_sealed(secure, transmit),
            None => self.send_plain(transmit),
        }
    }

    /// Sends; an error that an earlier datagram brought back is not about this one.
    pub(crate) fn send_plain(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let attempt = || {
            let send = || self.udp.try_send((&self.socket).into(), transmit);
            self.socket.try_io(Interest::WRITABLE, send)
        };
        match attempt() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock && self.take_errors() => {
                attempt()
            }
            result => result,
        }
    }
}
