//! Prefetch of a port's memory (see `simulation::prefetch`).

use super::Port;
use crate::network::Pool;

impl Port {
    /// Prefetches the lines that a send reads.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        incastle_memory::prefetch::value(&self.row);
        incastle_memory::prefetch::value(&self.delay);
    }

    /// Prefetches the packets that a send reads: the last on the link, and the one being sent.
    #[inline(always)]
    pub(crate) fn prefetch_packets(&self, pool: &Pool) {
        pool.prefetch(self.row.last());
        pool.prefetch(self.fast.sending());
    }
}
