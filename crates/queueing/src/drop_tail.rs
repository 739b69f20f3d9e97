//! Drop-tail: every packet that the buffer can hold is admitted unmarked.

use rand_core::Rng;

use crate::{Arrival, Discipline, QueueState, Verdict};

/// The discipline without an opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DropTail;

impl Discipline for DropTail {
    #[inline]
    fn on_arrival(&mut self, _: &QueueState, _: &Arrival, _: &mut dyn Rng) -> Verdict {
        Verdict::Admit
    }
}
