//! The scenario language: TOML text in, checked scenarios, networks and result tables out.
//!
//! [`parse`] reads a scenario and reports everything that is wrong with it; [`Scenario::resolved`]
//! writes every parameter back; [`schema`] describes the language to editors and [`catalog`] lists
//! what there is to choose from. Tables are declared once, in [`language`].
//!
//! Leaves out: reading the scenario's own file, writing results, everything on the terminal (Python).

mod build;
mod catalog;
mod check;
mod context;
mod describe;
mod diagnostic;
mod files;
pub mod language;
mod layout;
mod node;
mod outer;
mod output;
mod overrides;
mod pairs;
mod paths;
mod range;
mod reader;
mod reference;
mod repair;
mod scenario;
mod schema;
mod select;
mod simulate;
mod sizes;
mod suggest;
mod table;
mod tables;
mod value;
mod workload;
mod writer;

pub use catalog::{CatalogEntry, CatalogList, catalog};
pub use diagnostic::{Diagnostic, Severity};
pub use files::Files;
pub use layout::{End, Layout, Link};
pub use outer::{Control, Failure, Folder, Panic, Watcher, catch, parse, run, run_many};
pub use output::{Column, Output, Table, Total, Totals};
pub use reference::reference;
pub use scenario::{Scenario, parse_with};
pub use schema::schema;
pub use select::{Name, Selection};
pub use simulate::{Overseer, RunError, simulate};
pub use sizes::{Points, Sizes};
