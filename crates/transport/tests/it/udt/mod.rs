//! Behaviour of UDT and DCUDP endpoints: the wire format, the packets of each case written out, forged
//! packets, and whole transfers over networks that lose, repeat, damage and delay.

mod connections;
mod forged;
mod fuzz;
mod hand;
mod handshakes;
mod messages;
mod modes;
mod net;
mod quiet;
mod timing;
mod wire;
mod worlds;
