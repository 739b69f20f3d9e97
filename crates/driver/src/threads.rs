//! Work on several threads, with the same result as on one.
//!
//! Leaves out: progress and interruption, which links have (`pool`); this work takes seconds for a
//! million flows.

use std::panic::resume_unwind;
use std::thread;

use incastle_estimate::Workers;

/// Workers on this number of threads.
pub(super) struct Threads(pub(super) usize);

impl Workers for Threads {
    fn both<A: Send, B>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B,
    ) -> (A, B) {
        if self.0 < 2 {
            return (first(), second());
        }
        thread::scope(|scope| {
            let first = scope.spawn(first);
            let second = second();
            let first = first.join();
            (first.unwrap_or_else(|panic| resume_unwind(panic)), second)
        })
    }

    fn map<T: Send>(&self, count: usize, of: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let of = &of;
        if self.0 < 2 || count < 2 {
            return (0..count).map(of).collect();
        }
        let each = count.div_ceil(self.0);
        let part = |thread: usize| (thread * each..count.min((thread + 1) * each)).map(of);
        thread::scope(|scope| {
            let spawn = |thread| scope.spawn(move || part(thread).collect::<Vec<T>>());
            let parts: Vec<_> = (0..self.0).map(spawn).collect();
            let parts = parts.into_iter();
            let of_part =
                parts.map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic)));
            of_part.flatten().collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_together_in_order() {
        for threads in (1..6).map(Threads) {
            for count in 0..9 {
                let squares: Vec<usize> = (0..count).map(|place| place * place).collect();
                assert_eq!(threads.map(count, |place| place * place), squares);
            }
            assert_eq!(threads.both(|| 1, || "two"), (1, "two"));
        }
    }
}
