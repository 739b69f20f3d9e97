//! The language's reference for readers and editors, from its declarations.

pub(crate) mod catalog;
pub(crate) mod reference;
pub(crate) mod schema;

use crate::grammar::Description;
use crate::grammar::reader::Table;
use crate::language::root::Root;

/// Every key of the language, with its type, range, default and meaning.
pub fn description() -> Description {
    Root::description()
}
