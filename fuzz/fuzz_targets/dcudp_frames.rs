//! Arbitrary bytes as a stream of a peer of the program `dcudp`.
#![no_main]

#[path = "../frames.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::frames(input));
