//! The outermost crate of a run: it alone reads files and the wall clock, and has threads. Everything
//! that it calls is pure.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the outer edge of the pure side: files, threads and the wall clock are its purpose"
)]

mod estimate;
mod failure;
mod folder;
mod memory;
mod panics;
mod parts;
mod pool;
mod run;
mod threads;

pub use estimate::{EstimateWatcher, estimate, take_apart};
pub use failure::Failure;
pub use folder::Folder;
pub use memory::memory_warning;
pub use panics::{Panic, catch};
pub use parts::run_in_parts;
pub use pool::{Parallelism, Watcher, attempt, run_many};
pub use run::{Control, run};

use incastle_scenario::Diagnostic;
use incastle_scenario::{Scenario, parse_with};

/// Reads a scenario. `file` is its name for messages; other files are relative to its folder.
/// Returns the scenario with its warnings, or every error and warning in the order of the file.
pub fn parse(
    text: &str,
    file: &str,
    overrides: &[(String, String)],
) -> Result<(Scenario, Vec<Diagnostic>), Vec<Diagnostic>> {
    parse_with(text, file, overrides, &Folder::of(file))
}
