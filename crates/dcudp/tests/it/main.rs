//! The program `dcudp` and its parts: transfers, faults, liars, keys, measurements, the file protocol.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests; clippy sees only the tests themselves"
)]

mod chaos;
mod common;
mod faults;
mod fuzz;
mod keys;
mod liars;
mod measurements;
mod places;
mod program;
mod protocol;
mod running;
mod transfers;
