//! Arbitrary operations for any controller.
#![no_main]

#[path = "../controllers.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|input: &[u8]| body::controllers(input));
