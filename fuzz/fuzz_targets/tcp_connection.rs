//! Arbitrary segments and times for a TCP endpoint.
#![no_main]

#[path = "../tcp.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::connection(input));
