//! Endpoints on real sockets of the loopback interface, and what liars and idle peers do to them.

#![allow(clippy::unwrap_used)] // its exception for tests does not reach what they share

mod alone;
mod ended;
mod forged;
mod idle;
mod loopback;
