//! Arbitrary bytes as a datagram.
#![no_main]

#[path = "../bodies.rs"]
#[allow(dead_code, reason = "each target has its own body there")]
mod bodies;

libfuzzer_sys::fuzz_target!(|input: &[u8]| bodies::parser(input));
