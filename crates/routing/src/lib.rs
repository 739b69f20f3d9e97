//! Routes of a network: shortest paths in hops, the choice among equal ones, and the indices of its objects.
//!
//! Models the tables of switches after a routing protocol has converged, and equal-cost multi-path by flow (RFC 2992),
//! packet and flowlet. The division of switches into partitions is here, too. A lookup takes the [`Destination`] of a packet, whose
//! [`Marks`] count the ports, not the packet. Typed indices are here because
//! this is the lowest crate that needs them; the engine exports them again as its own. Leaves out: routing protocols,
//! weights, the time of a lookup, and packets, links and failures, which are in the engine.
//!
//! For speed alone, without an effect on any result:
//! - `next_hop_cache`, the ports on the paths to recent endpoints;
//! - [`Routes::prefetch`] and [`Routes::guess`], for the processor's caches.
//!
//! [`Routes::without_draw`] is a lookup ahead of time: it leaves random draws to the arrival of the packet.

mod ecmp;
mod graph;
mod index;
mod marks;
mod next_hop_cache;
mod partition;
mod partitioning;
mod routes;
mod table;

pub use ecmp::Ecmp;
pub use graph::Edge;
pub use index::{EndpointIndex, FlowIndex, HostIndex, Node, PortIndex, Side, SwitchIndex};
pub use marks::Marks;
pub use next_hop_cache::Hop;
pub use partition::partition_switches;
pub use partitioning::{Owners, PartitionError, Partitioning};
pub use routes::{Destination, Routes, RoutesConfig, Unreachable};
