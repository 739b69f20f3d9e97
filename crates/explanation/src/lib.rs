//! Why a flow took its time: the events behind it, in order and in words.
//!
//! The tables of a finished run come in as Arrow; an [`Explanation`] goes out, which serialises. [`Trace`] holds the
//! events of the table `events` by flow, `record` sorts those of one flow into packets, `path` takes its completion
//! time apart, `timeouts` has the chain behind each retransmission timeout, `story` everything in order. Instants and
//! spans are whole picoseconds as `i64`: they are compared, sums have to be exact, and differences may be negative.
//! Leaves out: where a record comes from, and the second run where a result has none.

mod columns;
mod departures;
mod event;
mod explanation;
mod headline;
mod outages;
mod path;
mod pauses;
mod pending;
mod record;
mod run;
mod story;
mod timeouts;
mod trace;
mod transport;
mod turns;
mod waits;
mod walk;
mod words;

pub use columns::Malformed;
pub use explanation::Explanation;
pub use run::{Instants, Run};
pub use timeouts::Step;
pub use trace::Trace;
