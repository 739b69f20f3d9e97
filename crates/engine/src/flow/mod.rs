//! Flows: endpoints, the table of flows, and the interface of applications.
//!
//! Leaves out: the transports (incastle-transport), and the applications (incastle-workload).

mod application;
mod applications;
mod endpoint;
mod held;
mod rdma;
mod table;
mod transport;
mod udt;

pub use application::{Actions, Application, FlowSpec, Notice, TransportSpec};
pub use incastle_links::Framing;
pub use rdma::QueuePairSettings;
pub use table::{EndpointCounters, FlowRecord, QueuePairCounters, Stopped};
pub use udt::{UdtCounters, UdtStart};

pub(crate) use application::Action;
pub(crate) use applications::Applications;
pub(crate) use endpoint::{Endpoint, Leaving, Origin, ip_bytes};
pub(crate) use held::Held;
pub(crate) use rdma::RdmaEndpoint;
pub(crate) use table::{Addressed, FlowAccount, FlowHosts, Flows, LostDatagram, Opening};
pub(crate) use transport::Transport;
pub(crate) use udt::{DATA_HEADERS, Pair, UdtEndpoint};
