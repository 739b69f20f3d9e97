//! One network simulated in partitions, in parallel.
//!
//! Conservative and synchronous: Chandy, Misra, "Distributed simulation: a case study in design and verification of
//! distributed programs", IEEE TSE 5(5), 1979. Also Nicol, "The cost of conservative synchronization in parallel
//! discrete event simulations", Journal of the ACM 40(2), 1993. Every partition is a [`Simulation`](crate::Simulation)
//! of the whole network that processes only the events of its nodes. A packet that leaves for another partition arrives
//! there no earlier than the minimum delay of all links between partitions, the *lookahead*. Each partition may run
//! ahead of all others by that time, and then passes on its [`Messages`]. The order of events (time, kind, source) does
//! not depend on the partitions, and random draws belong to nodes and endpoints. Each port and endpoint has a separate
//! digest. The digest is therefore that of one simulation.
//!
//! Applications that decide by the clock are the same in each partition, and each opens all flows. An endpoint at a host
//! elsewhere is left out. An application that releases a flow when everything is acknowledged does so in the partition
//! of one endpoint. The other partition receives the message late. The events of an endpoint that may have acknowledged
//! everything therefore wait until the other partitions have reached their instant.
//!
//! Leaves out: a READ of RDMA that is released while its responder, elsewhere, repeats data; applications that decide by
//! events at both endpoints or at several flows (requests, dependences); probes with one list over the whole network.

mod logical_process;
mod messages;

pub use incastle_routing::{Owners, PartitionError, Partitioning};
pub use logical_process::Progress;
pub use messages::Messages;
pub(crate) use messages::{Crossing, Release};

pub(crate) use logical_process::{LogicalProcess, TICK, Window};
