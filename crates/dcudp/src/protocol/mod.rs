//! The file protocol of `dcudp`: frames on the stream of one connection, version 1.
//!
//! It is ours; docs/dcudp.md writes it down. Every length has a limit that is checked before anything
//! is kept, and what a peer claims of sizes and names is only believed once it was checked. It leaves
//! out what the connection below gives: order, repair, flow control, encryption.

mod channel;
mod decoder;
mod frame;
mod name;

pub use channel::{Channel, PATIENCE, unexpected};
pub use decoder::{Decoder, ProtocolError};
pub use frame::{
    BenchDirection, BenchRequest, Chunk, ErrorCode, Frame, Hash, MAX_BENCH_MILLIS, MAX_DATA,
    MAX_PING, MAX_WORDS, Report, VERSION,
};
pub use name::{MAX_NAME, Name, NameError, PART_SUFFIX, is_invisible};
