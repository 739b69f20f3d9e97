//! Arbitrary strings as scenarios.
#![no_main]

#[path = "../scenario.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::scenario(input));
