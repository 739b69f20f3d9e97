//! Layout: where data lie in memory, for speed alone. Without this room every result is the same.

mod next_hop_cache;
mod pool;

pub(crate) use next_hop_cache::Memo;
pub(crate) use pool::{InFlight, Pool, Row, Slot};
