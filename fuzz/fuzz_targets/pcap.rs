//! Captures of arbitrary frames.
#![no_main]

#[path = "../pcap.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::pcap(input));
