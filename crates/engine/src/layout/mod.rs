//! Layout: the place of data in memory, for speed alone. Without this module every result is the same. The cache of
//! next hops is in incastle-routing.

mod arena;
mod pool;
mod prefetch_hints;

pub use prefetch_hints::{PrefetchHints, QueuePart};

pub(crate) use arena::Arena;
pub(crate) use pool::{InFlight, Linked, Pool, Row, Slot};
