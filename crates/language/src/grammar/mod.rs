//! The grammar of the language: tables, choices, words and values. Each is declared once; this module reads,
//! writes and describes it. The tables themselves are the other files of this crate.

pub mod declare;
pub mod range;
pub mod reader;
pub mod value;

pub use incastle_text::{describe, json, writer};

pub use incastle_text::describe::{
    Alternative, Bounds, Choice, Description, Key, Member, Presence, Shape,
};
