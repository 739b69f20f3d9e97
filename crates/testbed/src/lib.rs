//! Test programs for real sockets: a relay that impairs a path, a bottleneck between network namespaces (of
//! `softswitch`), and an endpoint that sends and checks known data.
//!
//! Leaves out: tools for users; this crate is not published.

pub mod application;
pub mod capture;
pub mod command;
pub mod data;
pub mod peer;
pub mod relay;
pub mod socket;
