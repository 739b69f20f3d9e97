//! The transports' endpoints without a simulator: each of them alone, and pairs over a wire of the tests.

#![allow(
    clippy::duplicate_mod,
    reason = "each fuzz target is a program with its copy of the input's reader"
)]

mod datagram;
#[path = "../../../../fuzz/replay.rs"]
mod replay;
mod tcp;
mod udt;
