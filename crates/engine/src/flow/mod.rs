//! Flows: endpoints, the table of flows, and the interface of applications.
//!
//! Leaves out: the transports themselves (incastle-transport), and what applications do (scenario).

mod application;
mod applications;
mod endpoint;
mod event_count;
mod table;

pub use application::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
pub use endpoint::{UdtCounters, UdtStart};
pub use table::{EndpointCounters, FlowRecord, Stopped};

pub(crate) use application::Action;
pub(crate) use applications::Applications;
pub(crate) use endpoint::{Endpoint, Origin, Pair, Transport, UdtEndpoint, ip_bytes};
pub(crate) use event_count::{EventCounts, Wait};
pub(crate) use table::{
    Addressed, FlowAccount, FlowHosts, Flows, LostDatagram, Opening, control_state, observation,
};
