//! The grammar of the language: tables, choices, words and values. Each is declared once; this module reads,
//! writes and describes it. The tables themselves are in `language`.

pub(crate) mod declare;
pub mod describe;
pub(crate) mod json;
pub(crate) mod range;
pub(crate) mod reader;
pub(crate) mod value;
pub(crate) mod writer;

pub use describe::{Alternative, Bounds, Choice, Description, Key, Member, Presence, Shape};
