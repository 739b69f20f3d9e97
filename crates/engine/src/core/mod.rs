//! The core: the order of events, typed indices, random streams, digests.
//!
//! It depends on no other module: a source of events is a number here. Leaves out: the processing of events, which is in
//! `simulation`.

mod clock;
mod digest;
mod event;
mod event_queue;
mod ids;
mod random;

pub use digest::Digest;
pub use ids::{
    AppIndex, EndpointIndex, EventCountIndex, FlowIndex, HostIndex, Node, PortIndex, Side,
    SwitchIndex,
};
pub use random::{Purpose, Source, substream};

pub(crate) use clock::{Clock, Livelock, MAX_EVENTS_PER_INSTANT};
pub(crate) use event::{Event, Kind};
pub(crate) use event_queue::EventQueue;
