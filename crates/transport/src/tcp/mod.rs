//! TCP: connections (RFC 9293), recovery (RFC 5681, 6582, 6675), retransmission timer (RFC 6298),
//! limited transmit (RFC 3042), ECN (RFC 3168) and DCTCP's receiver (RFC 8257).

mod segment;

pub use segment::{Flags, MAX_SACK_BLOCKS, SackBlock, Segment};
