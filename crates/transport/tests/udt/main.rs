//! Behaviour of UDT and DCUDP endpoints: the wire format, the packets of each case written out, forged
//! packets, and whole transfers over networks that lose, repeat, damage and delay.

mod connections;
mod net;
mod wire;
mod worlds;
