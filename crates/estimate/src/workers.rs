//! Who does work that may be done at the same time: threads belong to the outermost module alone.

/// Gives what one after the other would give.
pub trait Workers {
    /// Does both.
    fn both<A: Send, B>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B,
    ) -> (A, B);

    /// What `of` gives for 0 to `count` - 1, in order.
    fn map<T: Send>(&self, count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T>;
}
