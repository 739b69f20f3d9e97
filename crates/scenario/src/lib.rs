//! The scenario language: TOML text in, checked scenarios, networks and result tables out.
//!
//! [`parse`] reads a scenario and reports everything that is wrong with it; [`Scenario::resolved`]
//! writes every parameter back; [`schema`] describes the language to editors and [`catalog`] lists
//! what there is to choose from.
//!
//! A scenario's way through this crate, folder by folder:
//!
//! 1. `text`: TOML and overrides become one tree that knows where each key was written.
//! 2. `grammar`, `language`: the tree becomes typed tables. The tables are declared once, in
//!    [`language`], in the words of `grammar`; `manual` tells readers and editors about them.
//! 3. `topology`, `check`: named hosts, switches and links; what the tables mean together.
//! 4. `scenario`: the checked [`Scenario`], which all these make.
//! 5. `simulate`, `workload`: the engine's network and applications, the run, the result tables.
//! 6. `load`: the mean load that workloads offer to links, without a simulation; `memory`: what a run keeps
//!    in memory, estimated and counted.
//! 7. `estimate`: completion times of large networks, link by link instead of as a whole.
//! 8. `outer`: files, threads and the wall clock, and nothing else.
//!
//! Leaves out: reading the scenario's own file, writing results, everything on the terminal (Python).

mod check;
mod estimate;
#[cfg(test)]
mod extremes;
mod grammar;
pub mod language;
mod load;
mod manual;
mod memory;
mod outer;
mod scenario;
mod simulate;
mod text;
mod topology;
mod workload;

pub use estimate::{Delays, EstimateError, Estimation, Unsuited};
pub use language::custom::{ControllerSetting, Controllers, Parameter, Parameters};
pub use language::selection::{Name, Selection};
pub use language::sizes::{Points, Sizes};
pub use load::{GroupLoad, LeftOut, OfferedLoad, TierLoad};
pub use manual::catalog::{CatalogEntry, CatalogList, catalog};
pub use manual::reference::reference;
pub use manual::schema::schema;
pub use memory::{Kept, Memory, OutOfMemory, Shortage, expected};
pub use outer::{
    Control, EstimateWatcher, Failure, Folder, Panic, Watcher, attempt, catch, estimate,
    memory_warning, parse, run, run_in_parts, run_many, take_apart,
};
pub use scenario::{Scenario, parse_with};
pub use simulate::notes::Note;
pub use simulate::output::{Capture, Column, Output, Table, Total, Totals};
pub use simulate::{Overseer, RunError, alone_because, simulate};
pub use text::diagnostic::{Diagnostic, Severity};
pub use text::files::{ControllerSource, Files, Mistake};
pub use topology::layout::{End, Layout, Link};
