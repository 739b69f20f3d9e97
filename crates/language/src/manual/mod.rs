//! The language's reference for readers and editors, from its declarations.

pub mod catalog;
pub mod schema;

use crate::grammar::Description;
use crate::grammar::describe::Member;
use crate::grammar::reader::Table;
use crate::root::Root;

/// Every key of the language, with its type, range, default and meaning.
pub fn description() -> Description {
    Root::description()
}

/// The tables at the top of a scenario.
pub fn tables() -> Vec<&'static str> {
    let members = description().members.into_iter();
    let names = members.filter_map(|member| match member {
        Member::Section { name, .. } | Member::Each { name, .. } => Some(name),
        Member::Value(_) | Member::Choice(_) => None,
    });
    names.collect()
}

/// The tables that have a key, as `[switch]`; those of one group or label as `[flows.NAME]`.
pub fn tables_with(key: &str) -> Vec<String> {
    let mut tables = Vec::new();
    collect_tables("", &description(), key, &mut tables);
    tables
}

fn collect_tables(path: &str, table: &Description, key: &str, tables: &mut Vec<String>) {
    // The top of a scenario has no name.
    if !path.is_empty() && table.all_keys().iter().any(|(name, _)| *name == key) {
        tables.push(format!("[{path}]"));
    }
    for member in &table.members {
        let (name, inner, several) = match member {
            Member::Section { name, table, .. } => (name, table, false),
            Member::Each { name, table, .. } => (name, table, true),
            Member::Value(_) | Member::Choice(_) => continue,
        };
        // `[switches.LABEL]` and `[flows.NAME.transport]` repeat `[switch]` and `[transport]`.
        if *name == "switches" || (path.starts_with("flows") && *name == "transport") {
            continue;
        }
        let dot = if path.is_empty() { "" } else { "." };
        let label = if several { ".NAME" } else { "" };
        collect_tables(&format!("{path}{dot}{name}{label}"), inner, key, tables);
    }
}
