//! Layout: the place of data in memory, for speed alone. Without this module every result is the same.

mod arena;
mod next_hop_cache;
mod pool;
mod prefetch_hints;

pub use prefetch_hints::{PrefetchHints, QueuePart};

pub(crate) use arena::Arena;
pub(crate) use next_hop_cache::{Hop, NextHopCache};
pub(crate) use pool::{InFlight, Linked, Pool, Row, Slot};
