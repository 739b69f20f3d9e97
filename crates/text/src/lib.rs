//! The text of a scenario: TOML and overrides as one tree with the place of each key, and the messages about it.
//!
//! Leaves out: the keys and all that they mean (`incastle-scenario`); files, which come through [`Files`](files::Files).

pub mod context;
pub mod diagnostic;
pub mod files;
pub mod kind;
pub mod node;
pub mod overrides;
pub mod repair;
pub mod shorthand;
pub mod suggest;
pub mod synonyms;
pub mod syntax;
