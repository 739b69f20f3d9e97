//! Behaviour of UDT and DCUDP endpoints: the wire format, the exit rule and the estimates, the packets of each
//! case written out, forged packets, and whole transfers over networks that lose, repeat, damage and delay.

mod arrival_speed;
mod connections;
mod exit_rule;
mod forged;
mod fuzz;
mod hand;
mod handshakes;
mod messages;
mod modes;
mod net;
mod quiet;
mod sequence;
mod timing;
mod wire;
mod worlds;
