//! The input: TOML text and overrides as one tree with the place of each key, and the messages
//! about it.

pub(crate) mod context;
pub(crate) mod diagnostic;
pub(crate) mod files;
pub(crate) mod node;
pub(crate) mod overrides;
pub(crate) mod repair;
pub(crate) mod shorthand;
pub(crate) mod suggest;
pub mod synonyms;
pub(crate) mod syntax;
