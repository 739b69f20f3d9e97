//! Two endpoints with a key: handshakes that are lost, repeated and crossed, restarted peers,
//! forged and recorded datagrams, limits, and any disturbance.

mod forged;
mod fuzz;
mod handshakes;
mod limits;
mod net;
