//! Arbitrary bytes as what a peer of the program `dcudp` says.
#![no_main]

#[path = "../frames.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::frames(input));
