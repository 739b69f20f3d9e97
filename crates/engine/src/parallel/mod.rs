//! One network simulated in partitions, each of which may have a processor core to itself.
//!
//! Conservative and synchronous: Chandy, Misra, "Distributed simulation: a case study in design and
//! verification of distributed programs", IEEE TSE 5(5), 1979; Nicol, "The cost of conservative
//! synchronization in parallel discrete event simulations", Journal of the ACM 40(2), 1993. Every partition
//! is a [`Simulation`](crate::Simulation) of the whole network in which only the events of its own
//! nodes happen. A packet that leaves for another partition arrives there no earlier than the minimum delay of
//! all links between partitions, the *lookahead*; so all partitions may go on for that long beyond what all others
//! have done, and then hand over their [`Messages`]. The order of events (time, kind, source) does not
//! depend on the partitions, random draws belong to nodes and endpoints, and each port's or endpoint's hash is
//! its own: the digest is that of one simulation.
//!
//! What takes no time crosses by agreement alone. Applications that decide by the clock are the same in
//! each partition, and each opens all flows; an endpoint at a host elsewhere is left out. An application that frees
//! both endpoints of a flow when all of it is acknowledged does so at one endpoint, and the other partition learns of it
//! late: an endpoint that has received everything therefore lets nothing more happen to it before the others
//! have come as far.
//!
//! Leaves out: applications that decide by what has happened at both endpoints or at several flows
//! (requests, dependences), and probes that keep one list of what happens anywhere; threads, which are
//! for the driver of the partitions.

mod logical_process;
mod messages;
mod partition;

pub use logical_process::Progress;
pub use messages::Messages;
pub use partition::{PartitionError, Partitioning};

pub(crate) use logical_process::{LogicalProcess, TICK, Window};
