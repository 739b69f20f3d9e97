//! Runs independent work in parallel; the driver has the threads.

/// The results are those of sequential execution.
pub trait Workers {
    /// Does both.
    fn both<A: Send, B>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B,
    ) -> (A, B);

    /// The results of `of` for 0 to `count` - 1, in order.
    fn map<T: Send>(&self, count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T>;
}
