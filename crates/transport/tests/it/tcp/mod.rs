//! Behaviour of the TCP endpoints, with the packets of each case written out, and properties under
//! arbitrary networks. One line per packet: millisecond, sender, content; "again" is a
//! retransmission, "lost", "CE" and "late" are what the wire did to it.

mod acknowledgements;
mod adverse;
mod bbr;
mod config;
mod connections;
mod controller;
mod dsack;
mod ecn;
mod f_rto;
mod fuzz;
mod hystart;
mod loss_detection;
mod losses;
mod properties;
mod prr;
mod rack;
mod rack_examples;
mod script;
mod timeout_kinds;
mod timeouts;
mod windows;
mod wire;
