//! The JSON Schema of a whole scenario (draft 2020-12), for editors that complete and check TOML.

use serde_json::json;

use crate::grammar::json::object;
use crate::grammar::reader::Table;
use crate::root::Root;

/// The schema of a whole scenario as text.
pub fn schema() -> String {
    let mut root = object(&Root::description());
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Incastle scenario");
    let mut text = serde_json::to_string_pretty(&root).expect("a tree of JSON values is writable");
    text.push('\n');
    text
}
