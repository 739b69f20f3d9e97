//! The text of a scenario: TOML and overrides as one tree with the place of each key, and the messages about it.
//!
//! Its tables of keys are described here ([`describe`]), as JSON Schema too, and written as TOML ([`writer`]).
//!
//! Leaves out: the keys and all that they mean (`incastle-scenario`); files, which come through [`Files`](files::Files).

pub mod context;
pub mod describe;
pub mod diagnostic;
pub mod files;
pub mod json;
pub mod kind;
pub mod node;
pub mod overrides;
pub mod repair;
pub mod shorthand;
pub mod suggest;
pub mod synonyms;
pub mod syntax;
pub mod writer;
