//! Programs around real sockets, to test with: a relay that spoils a path, a bottleneck between network
//! namespaces, and one endpoint of a connection that sends and checks known data.
//!
//! Leaves out: everything that a user of the protocols needs; this crate is not published.

pub mod application;
pub mod bottleneck;
pub mod capture;
pub mod clock;
pub mod command;
pub mod data;
pub mod ip;
pub mod peer;
pub mod relay;
pub mod samples;
pub mod socket;
pub mod tun;
pub mod wait;
