//! Tests of the scenario language.

mod bounds;
mod broken;
mod common;
mod diagnostics;
mod fuzz;
mod hints;
mod language;
mod load;
mod presets;
mod sizes;
mod transfers;
