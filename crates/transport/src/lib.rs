//! Transport endpoints without I/O: what arrives and the time go in, what to send comes out.
//!
//! Call order for every endpoint: `handle` or `handle_timeout` or an application call, then
//! `poll_transmit` until it gives `None`, then `poll_event` likewise, then `poll_timeout`.

pub mod datagram;
mod pacer;
pub mod tcp;
pub mod udt;
