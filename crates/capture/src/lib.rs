//! Captures: simulated packets as frames that Wireshark reads, in pcapng.
//!
//! [`Envelope`] makes the [`Frame`] of a packet: Ethernet, IPv4, and TCP, UDP, UDT or DCUDP with their
//! header fields and checksums; [`Pcapng`] puts frames of any number of links into one file. Pure:
//! bytes come out, whoever calls writes them. Headers and checksums are made by `etherparse`. The file
//! format is written here: of it three kinds of blocks are needed, and the library for it has had no
//! release but candidates for years.
//! Leaves out: reading captures, IPv6, payloads (zeros stand for them).

mod address;
mod frame;
mod pcapng;

pub use address::{Host, flow_ports};
pub use frame::{Envelope, Frame, TcpTerms};
pub use pcapng::Pcapng;
