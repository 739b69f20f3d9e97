//! What readers and editors are told about the language, from its declarations.

pub(crate) mod catalog;
pub(crate) mod reference;
pub(crate) mod schema;
