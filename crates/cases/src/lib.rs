//! Helpers of tests alone: the count of random inputs, the replay of one, and the comparison with a snapshot.
//!
//! Each test tries its full count of random inputs with `INCASTLE_TESTS=full`, or the count that the variable
//! has. Otherwise it tries an eighth of its full count, so that `make test` stays short.

#![allow(
    clippy::disallowed_methods,
    reason = "the length of a test is its caller's choice"
)]

/// The share of the full count that a quick test tries.
const QUICK: u32 = 8;
/// The minimum count of a quick test, unless its full count is lower.
const MIN: u32 = 16;

/// The number of inputs of a test whose full count is `full`.
pub fn cases(full: u32) -> u32 {
    match std::env::var("INCASTLE_TESTS").as_deref() {
        Err(_) => (full / QUICK).max(MIN).min(full),
        Ok("full") => full,
        Ok(count) => count.parse().expect("INCASTLE_TESTS is full or a number"),
    }
}

/// The seed to replay, where the environment variable of the test is set.
pub fn seed_to_replay(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a whole number"))
}

/// Asserts that the lines of a text are those of a stored snapshot.
#[track_caller]
pub fn assert_snapshot(text: &str, snapshot: &str) {
    for (now, then) in text.lines().zip(snapshot.lines()) {
        assert_eq!(now, then);
    }
    assert_eq!(text.lines().count(), snapshot.lines().count());
}
