//! How the language is declared: tables, choices, words and values, each written once, and read,
//! written back and described by what is here. The tables themselves are in `language`.

pub(crate) mod declare;
pub(crate) mod describe;
pub(crate) mod json;
pub(crate) mod range;
pub(crate) mod reader;
pub(crate) mod value;
pub(crate) mod writer;

pub use describe::{Alternative, Bounds, Choice, Description, Key, Member, Presence, Shape};
