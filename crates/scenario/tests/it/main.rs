//! Tests of the scenario language.

mod bounds;
mod common;
mod diagnostics;
mod fuzz;
mod language;
mod load;
