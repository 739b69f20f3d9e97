//! The scenario language: TOML text in, checked scenarios out.
//!
//! [`parse_with`] reads a scenario and reports all errors in it; [`Scenario::resolved`]
//! writes every parameter back; [`schema`] describes the language to editors and [`catalog`] lists
//! the choices.
//!
//! The stages of a scenario, folder by folder:
//!
//! 1. The crate `incastle-text`: TOML and overrides become one tree that has the place of each key.
//! 2. The crate `incastle-language`: the tree becomes typed tables. They are declared once, and described to readers
//!    and editors from that declaration.
//! 3. [`topology`], [`check`]: named hosts, switches and links; relations between the tables.
//! 4. [`load`]: the load that workloads offer to links on average, without a simulation.
//! 5. [`lossless`]: the memory of a switch with priorities, by its keys and links.
//! 6. `scenario`: the checked [`Scenario`], which all these make.
//!
//! Leaves out: files, which come through [`Files`]; the simulation (`incastle-workload`, `incastle-experiment`).

pub mod check;
pub mod load;
pub mod lossless;
mod packet_sizes;
mod scenario;
pub mod topology;

use incastle_text as text;

pub use incastle_language as language;
pub use incastle_text::diagnostic::{Diagnostic, Severity};
pub use incastle_text::files::{ControllerSource, Files, Mistake};
pub use incastle_text::synonyms;
pub use language::custom::{ControllerSetting, Controllers, Parameter, Parameters};
pub use language::manual::catalog::{CatalogEntry, CatalogList, catalog};
pub use language::manual::description;
pub use language::manual::schema::schema;
pub use language::selection::{Name, Selection};
pub use language::sizes::{Points, Sizes};
pub use load::{GroupLoad, LeftOut, OfferedLoad, TierLoad};
pub use scenario::{Scenario, parse_with};
pub use topology::layout::{End, Layout, Link};
