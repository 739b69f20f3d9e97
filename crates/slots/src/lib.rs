//! Packets in reusable slots: a pool with lists through it, the queue of a port in such a list, and an arena for the
//! extras of few packets.
//!
//! The place of data in memory, for speed alone: it has no influence on a result. Leaves out: the packets themselves.

mod arena;
mod fast_queue;
mod order;
mod pool;
mod short_lists;
#[cfg(test)]
mod test_packet;

pub use arena::Arena;
pub use fast_queue::{FastQueue, Stored, Succession};
pub use order::{Inserted, Order};
pub use pool::{Front, InFlight, Linked, Pool, Row, Slot};
pub use short_lists::ShortLists;
