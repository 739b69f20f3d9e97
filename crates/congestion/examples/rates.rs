//! Prints the trajectory of every rate-based controller over one bottleneck as CSV: the data of a
//! figure, and the snapshot that the tests compare with.

#![allow(clippy::print_stdout, reason = "this program's purpose is its output")]

#[path = "../tests/support/mod.rs"]
mod support;

fn main() {
    print!("{}", support::rates::csv());
}
