//! Arbitrary bytes as the actions of a network between two endpoints with a key.
#![no_main]

#[path = "../secure.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::secure(input));
