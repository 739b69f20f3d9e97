//! Packets in reusable slots: a pool with lists through it, and an arena for what few packets have.
//!
//! The place of data in memory, for speed alone: it has no influence on a result. Leaves out: the packets themselves.

mod arena;
mod order;
mod pool;
#[cfg(test)]
mod test_packet;

pub use arena::Arena;
pub use order::{Inserted, Order};
pub use pool::{Front, InFlight, Linked, Pool, Row, Slot};
