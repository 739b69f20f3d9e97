//! The grammar of the language: tables, choices, words and values, each declared once. This module reads,
//! writes and describes them. The tables themselves are in `language`.

pub(crate) mod declare;
pub(crate) mod describe;
pub(crate) mod json;
pub(crate) mod range;
pub(crate) mod reader;
pub(crate) mod value;
pub(crate) mod writer;

pub use describe::{Alternative, Bounds, Choice, Description, Key, Member, Presence, Shape};
