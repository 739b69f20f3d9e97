//! A network in real time, in user space: hosts are network namespaces, ports have the disciplines of `queueing`.
//!
//! Pure parts, to which time comes as an argument: `port`, `graph`, `network`, `plan`. Real ones: `namespace`, `tun`,
//! `switch`. Leaves out: the programs that run on the hosts.

pub mod address;
pub mod clock;
pub mod graph;
pub mod ip;
mod machine;
pub mod namespace;
pub mod network;
pub mod plan;
pub mod port;
pub mod program;
pub mod report;
pub mod samples;
pub mod switch;
pub mod tun;
pub mod wait;

pub use program::run;
