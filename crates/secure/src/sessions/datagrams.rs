//! Datagrams to be sealed, datagrams that are to leave, and their path.

use std::net::{IpAddr, SocketAddr};

use incastle_units::Ecn;

/// The path to a peer. The peer's address alone identifies a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path {
    /// The peer's address.
    pub peer: SocketAddr,
    /// The address of ours that it writes to, where the driver has several.
    pub source: Option<IpAddr>,
}

/// Datagrams to be sealed for one peer, in the layout for the kernel: consecutive, each of `segment`
/// bytes, of which the last may have fewer.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch<'a> {
    /// Each has [`HEADER_BYTES`](crate::HEADER_BYTES) of room, the plaintext, and
    /// [`TAG_BYTES`](crate::TAG_BYTES) of room.
    pub bytes: &'a mut [u8],
    /// Bytes of all but the last.
    pub segment: usize,
    /// Their ECN field, for those that wait.
    pub ecn: Ecn,
}

/// A datagram that is to leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The destination.
    pub path: Path,
    /// Its ECN field.
    pub ecn: Ecn,
    /// Its bytes.
    pub bytes: Vec<u8>,
}
