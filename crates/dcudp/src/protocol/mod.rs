//! The file protocol of `dcudp`: frames on the stream of one connection, version 1.
//!
//! docs/dcudp.md specifies it. Every length has a limit, which is checked before anything is buffered; a
//! peer's sizes and names are checked before use. Leaves out: order, retransmission, flow control and
//! encryption, which the connection below provides.

mod channel;
mod decoder;
mod frame;
mod name;

pub use channel::{Channel, PATIENCE, unexpected};
pub use decoder::{Decoder, ProtocolError};
pub use frame::{
    BenchDirection, BenchRequest, Chunk, ErrorCode, Frame, Hash, MAX_BENCH_MILLIS, MAX_DATA,
    MAX_MESSAGE, MAX_PING, Report, VERSION,
};
pub use name::{MAX_NAME, Name, NameError, PART_SUFFIX, is_invisible};
