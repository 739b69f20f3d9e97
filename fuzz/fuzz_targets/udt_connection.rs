//! Arbitrary bytes as the operations of a connection.
#![no_main]

#[path = "../udt.rs"]
#[allow(dead_code, reason = "each target has its own function there")]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::connection(input));
