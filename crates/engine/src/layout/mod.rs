//! Layout: the place of data in memory, for speed alone. Without this module every result is the same. Slots of packets
//! are in incastle-slots, the cache of next hops is in incastle-routing.

mod prefetch_hints;

pub use prefetch_hints::{PrefetchHints, QueuePart};

pub(crate) use incastle_slots::{
    Arena, FastQueue, InFlight, Inserted, Linked, Order, Pool, Row, ShortLists, Slot, Stored,
};
