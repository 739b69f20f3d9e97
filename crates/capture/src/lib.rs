//! Captures: simulated packets as frames that Wireshark reads, in pcapng.
//!
//! [`Envelope`] makes the [`Frame`] of a packet: Ethernet, IPv4, and TCP, UDP, UDT or DCUDP with their
//! header fields and checksums; [`Pcapng`] puts frames of any number of links into one file. Pure:
//! it returns bytes, which the caller writes. Headers and checksums are made by `etherparse`. The file
//! format is written here: three kinds of blocks suffice, and the library for it has had no
//! release but candidates for years.
//! Leaves out: reading captures, IPv6, payloads (which are zeros).

mod address;
mod frame;
mod pcapng;

pub use address::{Host, flow_ports};
pub use frame::{Envelope, Frame, TcpTerms};
pub use pcapng::Pcapng;
