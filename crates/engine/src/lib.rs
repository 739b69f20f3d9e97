//! The simulation of a network: events, ports and links, switches, hosts, probes.
//!
//! Models a packet-switched network, packet by packet and hop by hop, in integer picoseconds. One
//! event is spent per packet and hop. Endpoints (incastle-transport) and disciplines
//! (incastle-queueing) are plain state machines that this crate calls; applications are too.
//! Routes are in incastle-routing, the laws of links in incastle-links.
//! Leaves out: bit errors, processing time in switches, papers and scenario files (scenario).

pub mod core;
pub mod flow;
pub mod layout;
pub mod network;
pub mod parallel;
pub mod probe;
mod simulation;

pub use simulation::{
    AllPartitions, Finished, Prefetch, RunError, Simulation, Status, Totals, finish,
};
