//! TCP: connections (RFC 9293), recovery (RFC 5681, 6582, 6675; 8985,
//! 9937, 5682), retransmission timer (RFC 6298),
//! limited transmit (RFC 3042), ECN (RFC 3168) and DCTCP's receiver (RFC 8257).
//!
//! A [`Connection`] is one endpoint: a sender half and a receiver half. Inputs are arrivals and the
//! time; outputs are segments to send and the time of the next call. docs/models/tcp.md lists what is
//! left out.

mod config;
mod connection;
mod echo;
mod handshake;
mod io;
mod limit;
mod loss_detection;
mod losses;
mod opening;
mod rack_tlp;
mod rate;
mod reassembly;
mod receiver;
mod recovery;
mod rto;
mod sack;
mod segment;
mod send_space;
mod sender;
mod sequence;
mod stats;
mod stream;
mod timeout;
mod timer;

pub use config::{CeChange, Config, ConfigError, EcnMode, MAX_RECEIVE_WINDOW, Recovery, RtoConfig};
pub use connection::{Connection, Departure, Event, Transmit};
pub use handshake::Role;
pub use loss_detection::LossDetection;
pub use receiver::{Arrival, Batch};
pub use segment::{Flags, MAX_SACK_BLOCKS, SackBlock, Segment};
pub use sequence::offset;
pub use stats::{RackTlpStats, Stats};
pub use timeout::{TimeoutKind, TimeoutReport};
