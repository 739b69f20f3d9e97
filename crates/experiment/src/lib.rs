//! From a checked scenario to its result: the engine's network, the run, the tables.
//!
//! The modules in the order of a run: `network` builds a checked scenario. `prepared` adds its applications and
//! records. `run` simulates it from stage to stage of its `course`, whole or in `parts`, within the memory of
//! `budget` and [`memory`]. `record` is the state of a finished run.
//! `tables`, `notes` and `ideal` FCTs are made from it, as columns of `output`, and of `arrow` for others.
//!
//! `hops` estimates the work of a run before it starts.
//!
//! Leaves out: threads, files, the wall clock (`incastle-driver`), estimates (`incastle-estimate`).

#[cfg(feature = "arrow")]
pub mod arrow;
mod budget;
mod captures;
mod course;
mod hops;
pub mod ideal;
pub mod memory;
pub mod network;
mod notes;
mod output;
mod overseer;
mod parts;
mod prepared;
mod record;
mod result;
mod run;
mod silence;
mod tables;
mod totals;
mod unfinished;

pub use budget::{afford, afford_start, snap};
pub use course::{interval, through};
pub use hops::expected_packet_hops;
pub use memory::{Kept, Memory, OutOfMemory, Shortage, expected};
pub use notes::Note;
pub use output::{Capture, Column, Output, Table, Total, Totals};
pub use overseer::{Overseer, RunError, SLICE};
pub use parts::{FinishedParts, alone_because, join, parted, prepare_part};
pub use prepared::Prepared;
pub use record::{Interval, Passed};
pub use run::{Run, simulate};
