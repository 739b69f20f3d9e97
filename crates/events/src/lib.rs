//! Events of a simulation in their total order, the queue that holds them, the clock, and event counts.
//!
//! A source of events is a number here. Leaves out: the processing of events, which the engine has.

mod clock;
mod event;
mod event_count;
mod event_queue;
mod turns;

pub use clock::{Clock, LAST_TURN, Livelock, MAX_EVENTS_PER_INSTANT, Order};
pub use event::{Event, Kind};
pub use event_count::EventCounts;
pub use event_queue::EventQueue;
pub use turns::Turns;
