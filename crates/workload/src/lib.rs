//! The workloads of a scenario: applications for the engine, one file each.
//!
//! Each application is a state machine that opens its flows itself at their instants, and
//! writes the data of result tables into the journal. Every random draw comes from the
//! substream of its group's name and its index in the group, so that no other group changes it.
//!
//! Leaves out: the meaning of a scenario (`incastle-scenario`), and its packets (`incastle-engine`).

mod all_reduce;
mod all_to_all;
mod alone;
mod applications;
mod barrier;
mod bulk;
mod datagrams;
mod group;
mod hosts;
mod incast;
mod interarrival;
mod journal;
mod list;
mod open_loop;
mod openings;
mod paced;
mod paths;
mod pattern;
mod permutation;
mod plan;
mod poisson;
mod replay;
mod stack;
mod transfers;

pub use alone::Alone;
pub use applications::{Recruit, applications};
pub use hosts::HostPair;
pub use journal::{FlowNote, Journal, Notes, TransferKind, TransferNote};
pub use openings::{Opening, data_end, openings};
pub use paths::Paths;
pub use replay::{Arrivals, Replay, Row};
pub use stack::Stack;
