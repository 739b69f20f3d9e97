//! A network in real time, in user space: hosts are network namespaces, ports have the disciplines of `queueing`.
//!
//! Pure parts, to which time comes as an argument: `port`, `graph`, `network`, `plan`. Real ones: `namespace`, `tun`,
//! `switch`, and `endpoint`: workloads, over the kernel's TCP or over other connections.

pub mod address;
pub mod clock;
pub mod endpoint;
pub mod experiment;
pub mod graph;
mod hosts;
pub mod ip;
mod machine;
pub mod namespace;
pub mod network;
pub mod plan;
pub mod port;
pub mod program;
pub mod report;
mod rest;
pub mod samples;
pub mod switch;
pub mod tun;
pub mod wait;

pub use program::{run, run_over};
