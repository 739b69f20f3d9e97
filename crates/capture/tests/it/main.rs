//! Captures of arbitrary input.

mod fuzz;
