//! Two endpoints with a key: handshakes that are lost, repeated and crossed, peers that start anew,
//! forged and recorded datagrams, limits, and any disturbance at all.

mod forged;
mod fuzz;
mod handshakes;
mod limits;
mod net;
