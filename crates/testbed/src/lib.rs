//! Test programs for real sockets: a relay that impairs a path, a bottleneck between network namespaces, and
//! an endpoint that sends and checks known data.
//!
//! Leaves out: tools for users; this crate is not published.

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
