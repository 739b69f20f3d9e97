//! From the record of a finished run to its result.

use crate::captures::captures;
use crate::output::Output;
use crate::record::Record;
use crate::tables::tables;
use crate::totals::totals;

impl Record<'_> {
    /// Totals, notes, tables and captures.
    pub(crate) fn output(mut self) -> Output {
        let sent = std::mem::take(&mut self.recorder.sent);
        let no_ideals = self
            .ideals
            .as_mut()
            .and_then(|ideals| ideals.failure.take());
        Output {
            digest: format!("{:016x}", self.digest),
            interrupted: self.interrupted,
            totals: totals(&self),
            wall_s: 0.0,
            notes: self.unfinished().into_iter().chain(no_ideals).collect(),
            tables: tables(&self),
            captures: captures(&self, sent),
        }
    }
}
