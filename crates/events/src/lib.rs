//! Events of a simulation in their total order, and the queue that holds them.
//!
//! A source of events is a number here. Leaves out: the clock and the processing of events, which the engine has.

mod event;
mod event_queue;

pub use event::{Event, Kind};
pub use event_queue::EventQueue;
