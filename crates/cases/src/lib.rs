//! How many random inputs a test tries. For tests alone.
//!
//! `INCASTLE_TESTS=full` asks each test for its full count, and a number for this count from each test.
//! Otherwise a test tries an eighth of its full count, so that `make test` stays short.

#![allow(
    clippy::disallowed_methods,
    reason = "the length of a test is its caller's choice"
)]

/// The share of the full count that a quick test tries.
const QUICK: u32 = 8;
/// A quick test tries this count at least, unless the full count is lower.
const LEAST: u32 = 16;

/// The number of inputs of a test whose full count is `full`.
pub fn cases(full: u32) -> u32 {
    match std::env::var("INCASTLE_TESTS").as_deref() {
        Err(_) => (full / QUICK).max(LEAST).min(full),
        Ok("full") => full,
        Ok(count) => count.parse().expect("INCASTLE_TESTS is full or a number"),
    }
}
