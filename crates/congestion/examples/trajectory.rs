//! Prints the trajectory of every controller over one bottleneck as CSV: the data of a figure, and
//! the snapshot that the tests compare with.

#![allow(clippy::print_stdout, reason = "this program's purpose is its output")]

#[allow(dead_code, reason = "the tests use the rest")]
#[path = "../tests/it/support/mod.rs"]
mod support;

fn main() {
    print!("{}", support::trajectory::csv());
}
