//! Captures: simulated packets as frames that Wireshark reads, in pcapng.
//!
//! [`Envelope`] makes the [`Frame`] of a packet: Ethernet, IPv4, and TCP, UDP, UDT, DCUDP or RoCEv2, with header
//! fields and checksums by `etherparse`; [`Frame::pause`] that of a pause (PFC). [`Pcapng`] puts frames of any number of links into one file. Both
//! return bytes, which the caller writes. The file format is implemented here: three kinds of blocks
//! suffice, and the library for it has had only release candidates for years.
//!
//! Leaves out: reading captures, IPv6, payloads (which are zeros).

mod address;
mod frame;
mod icrc;
mod pause;
mod pcapng;
mod rocev2;
mod telemetry;

pub use address::{Host, QueuePair, SwitchPort, flow_ports};
pub use frame::{Envelope, Frame, TcpTerms};
pub use pcapng::Pcapng;
