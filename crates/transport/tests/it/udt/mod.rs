//! Behaviour of UDT and DCUDP endpoints: the wire format, the exit rule, the estimates, the packets of each
//! case, and forged packets. Also whole transfers over networks that lose, repeat, damage and delay.

mod accurate;
mod accurate_wire;
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
