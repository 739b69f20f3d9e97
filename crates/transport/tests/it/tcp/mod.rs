//! Behaviour of the TCP endpoints, with the packets of each case written out, and properties under
//! arbitrary networks. One line per packet: millisecond, sender, content; "again" is a
//! retransmission, "lost" and "CE" are what the wire did to it.

mod acknowledgements;
mod bbr;
mod config;
mod connections;
mod controller;
mod ecn;
mod fuzz;
mod losses;
mod properties;
mod rack;
mod timeout_kinds;
mod timeouts;
mod windows;
mod wire;
