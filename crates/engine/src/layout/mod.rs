//! Layout: where data lie in memory, for speed alone. Without this room every result is the same.

mod arena;
mod next_hop_cache;
mod pool;
mod prefetch_hints;

pub use prefetch_hints::PrefetchHints;

pub(crate) use arena::Arena;
pub(crate) use next_hop_cache::{Hop, NextHopCache};
pub(crate) use pool::{InFlight, Linked, Pool, Row, Slot};
