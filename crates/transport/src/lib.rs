//! Transport endpoints without I/O: inputs are arrivals and the time, outputs are packets.
//!
//! Call order for every endpoint: `handle` or `handle_timeout` or an application call, then
//! `poll_transmit` until it gives `None`, then `poll_event` likewise, then `poll_timeout`.

pub mod datagram;
mod pacer;
pub mod tcp;
pub mod udt;
