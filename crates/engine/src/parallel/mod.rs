//! One network simulated in parts, each of which may have a processor core to itself.
//!
//! Conservative and synchronous: Chandy, Misra, "Distributed simulation: a case study in design and
//! verification of distributed programs", IEEE TSE 5(5), 1979; Nicol, "The cost of conservative
//! synchronization in parallel discrete event simulations", Journal of the ACM 40(2), 1993. Every part
//! is a [`Simulation`](crate::Simulation) of the whole network in which only the events of its own
//! nodes happen. A packet that leaves for another part arrives there no earlier than the least delay of
//! all links between parts, the *lookahead*; so all parts may go on for that long beyond what all others
//! have done, and then hand over their [`Mail`]. The order of events (time, kind, source) does not
//! depend on the parts, random draws belong to nodes and ends of flows, and each port's or end's hash is
//! its own: the digest is that of one simulation.
//!
//! What takes no time crosses by agreement alone. Applications that decide by the clock are the same in
//! each part, and each opens all flows; an end at a host elsewhere is left out. An application that frees
//! both ends of a flow when all of it is acknowledged does so at one end, and the other part hears of it
//! late: an end that has received everything therefore lets nothing more happen to it before the others
//! have come as far.
//!
//! Leaves out: applications that decide by what has happened at both ends or at several flows
//! (requests, dependences), and probes that keep one list of what happens anywhere; threads, which are
//! for who drives the parts.

mod logical_process;
mod messages;
mod partition;

pub use logical_process::Progress;
pub use messages::Messages;
pub use partition::{PartitionError, Partitioning};

pub(crate) use logical_process::{LogicalProcess, TICK, Window};
