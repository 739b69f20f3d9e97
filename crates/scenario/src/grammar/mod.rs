//! The grammar of the language: tables, choices, words and values. Each is declared once; this module reads,
//! writes and describes it. The tables themselves are in `language`.

pub(crate) mod declare;
pub(crate) mod range;
pub(crate) mod reader;
pub(crate) mod value;

pub(crate) use incastle_text::{describe, json, writer};

pub use incastle_text::describe::{
    Alternative, Bounds, Choice, Description, Key, Member, Presence, Shape,
};
