//! The core: the order of events and typed indices; random substreams and digests of incastle-units.
//!
//! It depends on no other module: a source of events is a number here. Indices of the network come from
//! incastle-routing. Leaves out: the processing of events, which is in
//! `simulation`.

use incastle_routing::index;

pub use incastle_routing::{
    EndpointIndex, FlowIndex, HostIndex, Node, PortIndex, Side, SwitchIndex,
};
pub use incastle_units::Digest;
pub use incastle_units::random::{Purpose, Source, substream};

pub(crate) use incastle_events::{
    Clock, Event, EventQueue, Kind, Livelock, MAX_EVENTS_PER_INSTANT, Order, Turns,
};

index!(AppIndex, "an application");
index!(EventCountIndex, "an event count");
